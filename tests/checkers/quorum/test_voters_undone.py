"""What a later leader may undo of what an earlier one told: one change."""

import pytest

from checkers.quorum.described_voters import one_described_change_undone
from checkers.verdict import CheckResult, Verdict
from tests.checkers.quorum.test_described_voters import change, described
from tests.support.histories import Row, make_run, op

FIRST = op("write", 100, 0, 1)
ONE, TWO, THREE, FOUR, FIVE = "1:a", "2:b", "3:c", "4:d", "5:e"
ALL = (ONE, TWO, THREE, FOUR, FIVE)
BOTH_LEFT = (ONE, TWO, THREE)


def judged(*rows: Row, **info: object) -> CheckResult:
    result = one_described_change_undone(make_run(ops=[FIRST, *rows], **info))  # type: ignore[arg-type]  # as there
    assert result is not None
    return result


ASKED = (
    change("remove", 10, 14, key=FOUR, outcome="info"),
    change("remove", 11, 15, key=FIVE, outcome="info"),
)
FITTING = {
    "the newest one is cut off": (*ASKED, described(20, *ALL[:4]), described(30, *ALL, epoch=2)),
    "added again": (
        *ASKED,
        described(20, *BOTH_LEFT),
        change("add", 22, 24, key=FOUR),
        described(30, *ALL, epoch=2),
    ),
    "by a change that nobody answered": (
        *ASKED,
        described(20, *BOTH_LEFT),
        change("add", 22, None, key=FOUR),
        described(30, *ALL, epoch=2),
    ),
    "told before anything was acknowledged": (
        {**described(0, *BOTH_LEFT), "t0": 0},
        described(30, *ALL, epoch=2),
    ),
}
WRONG = {
    "two are undone": (*ASKED, described(20, *BOTH_LEFT), described(30, *ALL, epoch=2)),
    "also by one that was asked later": (
        described(30, *ALL, epoch=2),
        *ASKED,
        described(40, *BOTH_LEFT),
    ),
    "asked for, and refused": (
        *ASKED,
        described(20, *BOTH_LEFT),
        change("add", 22, 24, key=FOUR, outcome="fail", error="INVALID_REQUEST"),
        described(30, *ALL, epoch=2),
    ),
    "asked for after that": (
        *ASKED,
        described(20, *BOTH_LEFT),
        described(30, *ALL, epoch=2),
        change("add", 40, 44, key=FOUR),
    ),
}


@pytest.mark.parametrize("rows", FITTING.values(), ids=FITTING)
def test_what_fits_is_not_accused(rows: tuple[Row, ...]) -> None:
    result = judged(*rows)
    assert (result.verdict, result.count) == (Verdict.VALID, 0), result.message


@pytest.mark.parametrize("rows", WRONG.values(), ids=WRONG)
def test_more_than_one_change_that_was_not_committed(rows: tuple[Row, ...]) -> None:
    result = judged(*rows)
    assert (result.verdict, result.count) == (Verdict.INVALID, 1)
    assert "4:d and 5:e, but no client had asked for that" in result.message
    assert [event["epoch"] for event in result.witness] == [1, 2]


def test_without_answers_there_is_nothing_to_judge_unless_clients_were_to_ask() -> None:
    assert judged().verdict is Verdict.VALID
    asked = judged(load={"describers": 2})
    assert (asked.verdict, asked.count) == (Verdict.UNKNOWN, 0)
