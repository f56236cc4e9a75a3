"""What the sides of scenarios expect can be seen: by checks that there are, more than a word."""

from pathlib import Path

import pytest

from chaos.scenario import Side
from chaos.scenarios import SCENARIOS
from checkers.suite import CHECKS
from checkers.verdict import CheckResult, Judgement, Verdict

ROOT = Path(__file__).parents[2]
TARGETS = ("node", "kafka", "kafka:4.0.0")
SIDES = {f"{each.name}, {side.name}": side for each in SCENARIOS.values() for side in each.sides}


@pytest.mark.parametrize("side", SIDES.values(), ids=SIDES.keys())
def test_a_side_names_checks_that_there_are(side: Side) -> None:
    named = {side.expected.check, *(bound.check for bound in side.expected.numbers)} - {""}
    assert named <= {check.id for check in CHECKS}
    if side.expected.verdict is Verdict.INVALID:
        assert side.expected.check, "an accusation by whomever is none that was expected"


def test_what_a_run_that_never_recovers_is_said_to_be_is_said_somewhere() -> None:
    """A side that expects other words than the run has would never be as expected."""
    said = "".join(each.read_text() for each in (ROOT / "chaos" / "run").glob("*.py"))
    expected = {
        name: side.expected.anomaly
        for name, side in SIDES.items()
        if side.expected.check == "recovers-when-healed"
    }
    assert len(expected) >= 2
    assert {name: words for name, words in expected.items() if words not in said} == {}


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
    assert side.expected.mismatch(judgement) == (
        "allowed loss is 0, expected allowed loss 1 at least"
    )


def test_settings_make_a_side_of_the_target() -> None:
    scenario = SCENARIOS["last-replica-standing"]
    off = scenario.side_with("node", {"elr": "off", "min_isr": "2"})
    assert off is not None
    assert off.name == "elr=off"
    assert scenario.side_with("node", {"min_isr": "2"}) is None
    story = SCENARIOS["clean-stop-power-off"]
    found = {target: story.side_with(target, {"stopped_disk": "unsynced"}) for target in TARGETS}
    verdicts = {target: side.expected.verdict for target, side in found.items() if side is not None}
    assert verdicts == {
        "node": Verdict.VALID,
        "kafka": Verdict.INVALID,
        "kafka:4.0.0": Verdict.INVALID,
    }


def test_what_our_own_node_has_not_is_set_on_kafka_alone() -> None:
    back, _ = SCENARIOS["undeleted-records"].sides
    name = "log.flush.start.offset.checkpoint.interval.ms"
    assert back.on("kafka").settings == {name: "600000"}
    assert back.on("node").settings == {}
    assert back.on("node").promise != back.on("kafka").promise
