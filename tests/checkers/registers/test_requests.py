"""Values that stand in the log too often, and requests that were carried out by half."""

from collections.abc import Sequence

import pytest

from checkers.history.events import UNANSWERED
from checkers.history.sealed_run import Run
from checkers.registers.requests import requests_are_whole, written_once
from checkers.run.answers import wrong_requests_are_refused
from checkers.verdict import Verdict
from tests.support.histories import Row, batch, config_record, disk, make_run, write
from tests.support.judged import saw_nothing

Place = tuple[str, int]  # key and value, an offset each in this order


def run(ops: Sequence[Row], *places: Place, disks: int = 3) -> Run:
    nodes = range(1, disks + 1)
    records = [
        config_record(node, offset, key, value)
        for node in nodes
        for offset, (key, value) in enumerate(places)
    ]
    return make_run(
        ops=ops,
        records=records,
        batches=[batch(node, 0, max(len(places) - 1, 0), 1) for node in nodes],
        disks=[disk(node, log_end=len(places)) for node in nodes],
    )


def asked(value: int, *outcomes: str, key: str = "r-0") -> list[Row]:
    return [write(value, 2 * n, 2 * n + 1, key=key, outcome=o) for n, o in enumerate(outcomes)]


@pytest.mark.parametrize(
    ("outcomes", "times", "verdict"),
    [
        (["ok"], 1, Verdict.VALID),
        (["ok"], 2, Verdict.INVALID),
        (["info"], 2, Verdict.INVALID),
        (["info", "ok"], 2, Verdict.VALID),  # sent again after nobody answered
        (["info", "ok"], 3, Verdict.INVALID),
        (["fail", "ok"], 2, Verdict.INVALID),
    ],
)
def test_how_often_a_value_stands(outcomes: list[str], times: int, verdict: Verdict) -> None:
    result = written_once(run(asked(7, *outcomes), *[("r-0", 7)] * times))
    assert (result.verdict, result.looked_at) == (verdict, 1), result.message


def test_without_a_majority_of_disks_nothing_is_known() -> None:
    assert written_once(run(asked(7, "ok"), ("r-0", 7), disks=1)).verdict is Verdict.UNKNOWN


def request(*outcomes: str) -> list[Row]:
    return [
        write(10 + n, n, 10 + n, key=f"r-{n}", outcome=outcome) | {"request": 1}
        for n, outcome in enumerate(outcomes)
    ]


@pytest.mark.parametrize(
    ("outcomes", "there", "verdict"),
    [
        (["ok", "ok", "ok"], (0, 1, 2), Verdict.VALID),
        (["info", "info", "info"], (), Verdict.VALID),
        (["info", "info", "info"], (0, 1, 2), Verdict.VALID),
        (["info", "info", "info"], (1,), Verdict.INVALID),
        (["ok", "info"], (0,), Verdict.INVALID),
        (["ok", "fail", "ok"], (0, 2), Verdict.VALID),
    ],
)
def test_a_request_of_several_keys(
    outcomes: list[str], there: tuple[int, ...], verdict: Verdict
) -> None:
    other = asked(99, "ok", key="r-9")
    places = [*((f"r-{n}", 10 + n) for n in there), ("r-9", 99)]
    result = requests_are_whole(run([*request(*outcomes), *other], *places))
    assert (result.verdict, result.looked_at) == (verdict, 1), result.message


def test_a_value_that_was_asked_for_twice_tells_nothing_of_a_request() -> None:
    ops = [*request("info", "info"), *asked(10, "ok")]
    assert saw_nothing(requests_are_whole(run(ops, ("r-0", 10))))


def test_what_must_be_refused_is_no_part_of_a_request_and_must_not_be_there() -> None:
    """Nobody answered, so what was wrong with one key of the request has no outcome."""
    wrong = request("info", "info")
    wrong[0]["error"] = f"{UNANSWERED}an illegal value (timed-out)"
    without, there = run(wrong, ("r-1", 11)), run(wrong, ("r-0", 10), ("r-1", 11))
    assert requests_are_whole(without).verdict is Verdict.VALID
    assert wrong_requests_are_refused(without).verdict is Verdict.VALID
    result = wrong_requests_are_refused(there)
    assert result.verdict is Verdict.INVALID
    assert "10 is in the committed log of r-0, but must not be: an illegal value" in result.message


def test_what_a_snapshot_repeats_was_not_written_twice() -> None:
    whole = run(asked(7, "ok"), ("r-0", 7))
    repeated = [config_record(1, 5, "r-0", 7) | {"type": kind} for kind in KINDS_IN_A_SNAPSHOT]
    records = [*repeated, *(config_record(node, 0, "r-0", 7) for node in (1, 2, 3))]
    again = make_run(
        ops=asked(7, "ok"),
        records=records,
        batches=[batch(node, 0, 0, 1) for node in (1, 2, 3)],
        disks=[disk(node, log_end=1) for node in (1, 2, 3)],
    )
    assert [written_once(each).verdict for each in (whole, again)] == [Verdict.VALID] * 2


KINDS_IN_A_SNAPSHOT = ("SnapshotHeader", "Config", "SnapshotFooter")
