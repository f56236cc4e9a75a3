"""What the sides of scenarios expect can be seen: by checks that there are, more than a word."""

import pytest

from chaos.scenario import Side
from chaos.scenarios import SCENARIOS
from checkers.suite import CHECKS
from checkers.verdict import CheckResult, Judgement, Verdict

SIDES = {f"{each.name}, {side.name}": side for each in SCENARIOS.values() for side in each.sides}


@pytest.mark.parametrize("side", SIDES.values(), ids=SIDES.keys())
def test_a_side_names_checks_that_there_are(side: Side) -> None:
    named = {side.expected.check, *(bound.check for bound in side.expected.numbers)} - {""}
    assert named <= {check.id for check in CHECKS}
    if side.expected.verdict is Verdict.INVALID:
        assert side.expected.check, "an accusation by whomever is none that was expected"


@pytest.mark.parametrize("side", SIDES.values(), ids=SIDES.keys())
def test_no_side_is_content_with_an_accusation_of_something_else(side: Side) -> None:
    other = CheckResult(
        check="M5-producer-ids-unique", verdict=Verdict.INVALID, message="", count=1
    )
    judgement = Judgement(
        run_id="run", verdict=Verdict.INVALID, sentence="INVALID: unrelated", results=(other,)
    )
    assert not side.expected.holds(judgement)


@pytest.mark.parametrize("name", ["all-unclean", "blackout-brokers", "unclean-leader"])
def test_where_loss_is_what_should_be_seen_a_run_without_it_is_not_as_expected(name: str) -> None:
    (side,) = SCENARIOS[name].sides
    kept = CheckResult(
        check="log-durability",
        verdict=Verdict.VALID,
        message="413 of 413 acknowledged records are there at the end",
        facts={"acknowledged": 413, "allowed_loss": 0},
    )
    judgement = Judgement(run_id="run", verdict=Verdict.VALID, sentence="VALID", results=(kept,))
    assert side.expected.unlike(judgement) == (
        "allowed loss is 0, expected allowed loss 1 at least"
    )
