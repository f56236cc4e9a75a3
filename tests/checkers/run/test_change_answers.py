"""V11 by hand: changes of voters that nobody answers, or behind which a quorum stands still."""

from typing import Any

import pytest

from checkers.run.recovery import changes_come_to_an_end
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS, Row, fault, make_run, op, write
from tests.support.judged import saw_nothing

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
REMOVED = op("remove-voter", None, 10_000, 10_050, key="2:dir-2", node=2)
LOST = {**REMOVED, "outcome": "info", "error": "closed: reset by peer"}
CHANGED = '{"node 1 voters_after": "1:dir-9 2:dir-2"}'  # what a change of voters measures
QUIET = {"longest_late_ms": 40.0}


def judged(*ops: Row, faults: tuple[Row, ...] = (), **info: Any) -> CheckResult:
    told: dict[str, Any] = {"duration_ns": 60_000 * MS, "runtime": "sim", "pressure": QUIET} | info
    return changes_come_to_an_end(make_run(ops=ops, faults=faults, **told))


def writes(begin: int, end: int, outcome: str = "ok") -> list[Row]:
    return [write(at, at, at + 5, outcome=outcome) for at in range(begin, end, 500)]


def test_a_change_that_is_answered_and_the_quorum_goes_on() -> None:
    result = judged(REMOVED, *writes(0, 10_000), *writes(16_000, 40_000))
    assert (result.verdict, result.looked_at) == (VALID, 1)


@pytest.mark.parametrize("never", [LOST, {**LOST, "t1": None, "complete_index": None}])
def test_a_change_that_nobody_answers(never: Row) -> None:
    result = judged(never, *writes(0, 50_000))
    assert result.verdict is INVALID
    told = "node 2 led, but never answered the request for remove-voter of 2:dir-2"
    assert result.message.startswith(told)


@pytest.mark.parametrize("outcome", ["fail", "info"])
def test_an_error_is_an_answer(outcome: str) -> None:
    refused = {**REMOVED, "outcome": outcome, "error": "error-6"}
    assert judged(refused, *writes(0, 50_000)).verdict is VALID


def test_nothing_is_acknowledged_any_more() -> None:
    result = judged(REMOVED, *writes(0, 10_000), *writes(10_100, 50_000, "info"))
    assert result.verdict is INVALID
    assert result.message == (
        "remove-voter of 2:dir-2 was acknowledged, but nothing that was asked for in the 14 s "
        "after it"
    )


def test_where_nobody_asks_for_more_nothing_stands_still() -> None:
    assert judged(REMOVED, *writes(0, 10_000)).verdict is VALID


def test_a_run_that_ends_before_the_bound_shows_nothing() -> None:
    ops = [REMOVED, *writes(0, 10_000), *writes(10_100, 20_000, "info")]
    assert judged(*ops, duration_ns=24_000 * MS).verdict is VALID


@pytest.mark.parametrize("ops", [[LOST], [REMOVED, *writes(10_100, 40_000, "info")]])
def test_what_is_hurt_by_something_else_is_excused(ops: list[Row]) -> None:
    assert saw_nothing(judged(LOST, faults=(fault(1, "kill", 9_000, 11_000),)))
    assert judged(*ops, faults=(fault(1, "kill", 10_020, 12_000),)).verdict is VALID
    assert judged(*ops, faults=(fault(1, "kill", 1_000, 2_000),)).verdict is INVALID


def test_what_is_asked_for_to_cure_a_fault_is_not_excused_by_it() -> None:
    cured = fault(1, "lose-disk", 1_000, 30_000) | {"t_heal": 9_000 * MS, "facts": CHANGED}
    assert judged(LOST, *writes(0, 50_000), faults=(cured,)).verdict is INVALID


@pytest.mark.parametrize("kind", ["kill", "lose-disk"])
def test_a_leader_that_is_killed_as_it_is_asked_owes_no_answer(kind: str) -> None:
    """Of the swarm's seed 46: asked for while another fault's process was on its way out."""
    killed = fault(1, kind, 9_990, 30_000) | {"t_bit": 10_040 * MS}
    facts = CHANGED if kind == "lose-disk" else "{}"
    assert saw_nothing(judged(LOST, *writes(0, 50_000), faults=(killed | {"facts": facts},)))


def test_a_machine_that_was_starved_is_named() -> None:
    late = {"longest_late_ms": 60_000.0}
    assert judged(LOST, runtime="docker", pressure=late).verdict is Verdict.ERROR
