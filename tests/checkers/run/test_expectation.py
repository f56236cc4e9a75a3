"""A run is as expected where the check that was named saw what was named, as often as was said."""

import json
from dataclasses import replace

import pytest

from chaos.scenarios import SCENARIOS
from checkers.all_checks import CHECKS
from checkers.conclusion import STARVED
from checkers.run.expectation import Bound, Expectation, expectation_of
from checkers.verdict import CheckResult, EventValue, Judgement, Verdict, worst

LOST = Expectation(
    verdict=Verdict.INVALID, check="log-durability", anomaly="lost-write", also=("P10",)
)


def row(check: str, verdict: Verdict, message: str = "", count: int = 0) -> CheckResult:
    counted = count or int(verdict is Verdict.INVALID)
    return CheckResult(check=check, verdict=verdict, message=message, count=counted)


def judged(*rows: CheckResult, **statistics: EventValue | float) -> Judgement:
    verdict = worst(each.verdict for each in rows)
    return Judgement(
        run_id="run", verdict=verdict, sentence="", results=rows, statistics=statistics
    )


def valid(**facts: EventValue) -> Judgement:
    kept = CheckResult(check="log-durability", verdict=Verdict.VALID, message="", facts=facts)
    return judged(kept)


@pytest.mark.parametrize(
    ("rows", "mismatch"),
    [
        ([row("log-durability", Verdict.INVALID, "lost-write: 1, is gone")], ""),
        (
            [
                row("log-durability", Verdict.INVALID, "lost-write: 1, is gone", 300),
                row("P10", Verdict.INVALID),
            ],
            "",
        ),
        (
            [row("M5", Verdict.INVALID), row("log-durability", Verdict.VALID)],
            "not by log-durability, which is valid; M5 accused as well, which was not expected",
        ),
        (
            [row("M5", Verdict.INVALID)],
            "not by log-durability, which is not among the checks of this run; M5 accused as well, "
            "which was not expected",
        ),
        (
            [row("log-durability", Verdict.INVALID, "vanished: 1, is gone")],
            "log-durability says no lost-write: vanished: 1, is gone",
        ),
        (
            [
                row("log-durability", Verdict.INVALID, "lost-write: 1, is gone"),
                row("Q2", Verdict.INVALID),
            ],
            "Q2 accused as well, which was not expected",
        ),
        (
            [
                row("log-durability", Verdict.INVALID, "lost-write: 1, is gone"),
                row("Q2", Verdict.ERROR, "KeyError"),
            ],
            "Q2 failed itself: KeyError",
        ),
        (
            [
                row("log-durability", Verdict.INVALID, "lost-write: 1, is gone"),
                replace(row("P10", Verdict.ERROR, "it starved"), facts={STARVED: "much"}),
            ],
            "",
        ),
        (
            [
                row("log-durability", Verdict.INVALID, "lost-write: 1, is gone"),
                row("P10", Verdict.ERROR, "KeyError"),
            ],
            "P10 failed itself: KeyError",
        ),
        ([row("log-durability", Verdict.VALID)], f"valid, expected {LOST}"),
        ([row("run", Verdict.ERROR)], f"error, expected {LOST}"),
    ],
)
def test_loss_is_expected_of_the_check_that_counts_it(
    rows: list[CheckResult], mismatch: str
) -> None:
    assert LOST.mismatch(judged(*rows)) == mismatch
    assert LOST.holds(judged(*rows)) == (not mismatch)


def test_every_side_names_what_may_accuse_by_checks_that_there_are() -> None:
    known = {check.id for check in CHECKS} | {""}
    for scenario in SCENARIOS.values():
        for side in scenario.sides:
            own = [side.own.expected] if side.own is not None else []
            for expected in (side.expected, *own):
                named = {expected.check, *expected.also}
                named |= {bound.check for bound in expected.numbers}
                assert {name.removeprefix("invariant:") for name in named} <= known, side.name
                assert expected.check or expected.verdict is not Verdict.INVALID, side.name


def test_so_many_are_expected() -> None:
    many = Expectation(verdict=Verdict.INVALID, check="log-durability", least=10)
    nine = judged(row("log-durability", Verdict.INVALID, count=9))
    assert many.mismatch(nine) == "log-durability counts 9, expected 10 at least"
    assert many.holds(judged(row("log-durability", Verdict.INVALID, count=10)))


def test_an_allowed_loss_is_a_loss() -> None:
    """Not a run in which nothing was lost."""
    lossy = Expectation(
        verdict=Verdict.VALID,
        numbers=(Bound(check="log-durability", name="allowed_loss", least=1),),
    )
    assert lossy.mismatch(valid(allowed_loss=0, acknowledged=413)) == (
        "allowed loss is 0, expected allowed loss 1 at least"
    )
    assert lossy.mismatch(valid()) == "allowed loss is unknown, expected allowed loss 1 at least"
    assert lossy.holds(valid(allowed_loss=1))


def test_a_statistic_is_within_its_bounds() -> None:
    quick = Expectation(
        verdict=Verdict.VALID, numbers=(Bound(name="longest_without_topic_s", most=10.0),)
    )
    fine = row("log-durability", Verdict.VALID)
    assert quick.holds(judged(fine, longest_without_topic_s=3.5))
    assert not quick.holds(judged(fine, longest_without_topic_s=30.2))
    assert not quick.holds(judged(fine))


def test_it_is_told_in_words() -> None:
    assert str(LOST) == "invalid by log-durability, lost-write"
    assert str(Expectation(verdict=Verdict.VOID)) == "void"
    whole = Expectation(
        verdict=Verdict.INVALID,
        check="Q1",
        least=3,
        numbers=(Bound(name="allowed_loss", least=1, most=4),),
    )
    assert str(whole) == "invalid by Q1, 3 at least; allowed loss 1 at least and 4 at most"


def test_it_is_written_down_and_read_back() -> None:
    asked = Expectation(
        verdict=Verdict.INVALID,
        check="log-durability",
        anomaly="lost-write",
        least=3,
        also=("log-offsets",),
        numbers=(Bound(name="longest_without_topic_s", least=2.0),),
    )
    for each in (asked, Expectation(verdict=Verdict.VALID)):
        assert expectation_of(json.loads(json.dumps(each.as_json()))) == each
    assert expectation_of({}) is None
    with pytest.raises(ValueError, match="not an expectation"):
        expectation_of({"verdict": "unheard of"})
