"""A broker that is left in peace is unfenced, against histories by hand."""

import pytest

from checkers.run.silent_brokers import brokers_are_let_in
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS, NodeTrace, Row, fault, make_run
from tests.support.judged import saw_nothing

SECOND = 1000 * MS
VALID, INVALID = Verdict.VALID, Verdict.INVALID


def controller(node: int) -> NodeTrace:
    trace = NodeTrace(node).start().state("leader" if node == 1 else "follower", 1, leader=1)
    return trace.emit("n.stop", 61 * SECOND, code=0, reason="stopped")


def judged(*told: tuple[float, str, bool], faults: tuple[Row, ...] = ()) -> CheckResult:
    """Three controllers, and broker 4, which tells at those seconds how far it is, and whether it
    is fenced. It has 22 s: 14 as in an election by Kafka's time-outs, and 8."""
    broker = NodeTrace(4).start(at=SECOND)
    for at_s, state, fenced in told:
        at = int(at_s * SECOND)
        broker.emit("b.life", at, state=state, epoch=7, previous=-1, fenced=fenced)
    broker.emit("n.stop", 61 * SECOND, code=0, reason="stopped")
    traces = [*map(controller, (1, 2, 3)), broker]
    return brokers_are_let_in(
        make_run(traces=traces, faults=faults, duration_ns=60 * SECOND, runtime="sim")
    )


@pytest.mark.parametrize(("at_s", "verdict"), [(5, VALID), (22.9, VALID), (23.1, INVALID)])
def test_a_broker_is_let_in_within_a_bounded_time(at_s: float, verdict: Verdict) -> None:
    result = judged((1.1, "starting", True), (at_s, "running", False))
    assert (result.verdict, result.looked_at) == (verdict, 1)


def test_who_is_fenced_by_a_fault_is_let_in_behind_its_cure() -> None:
    kept_off = fault(1, "kill", 9_500, 30_000) | {"nodes": [2]}
    told = ((1.1, "starting", True), (5, "running", False), (31, "running", True))
    assert judged(*told, faults=(kept_off,)).verdict is INVALID
    assert judged(*told, (51, "running", False), faults=(kept_off,)).verdict is VALID


def test_nothing_is_asked_of_who_leaves_before_its_time() -> None:
    told = ((1.1, "starting", True), (20, "pending-controlled-shutdown", True))
    assert saw_nothing(judged(*told))


def test_nothing_is_asked_where_there_is_no_peace() -> None:
    slow = fault(1, "slow-links", 0, 60_000)
    assert saw_nothing(judged((1.1, "starting", True), faults=(slow,)))
