"""Brokers that were fenced for nothing, against histories by hand."""

from dataclasses import replace

import pytest

from checkers.partitions.stray_replicas import live_brokers_stay_unfenced
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS, NodeTrace, Row, fault, node_events
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import register, registration_change, started

VALID, INVALID = Verdict.VALID, Verdict.INVALID
SECOND = 1000 * MS
ROLES = {"1": "broker", "2": "controller", "3": "controller"}


def judged(*faults: Row, says: str = "running", at_s: int = 20) -> CheckResult:
    """Broker 1 is fenced at second 20, which the controller replays."""
    cluster = started().commit(registration_change(1, 11, fenced=1))
    run = cluster.add("faults", *faults).run(duration_ns=60 * SECOND, runtime="sim", roles=ROLES)
    controller = NodeTrace(2).start()
    for offset in range(cluster.end - 1):
        controller.emit("c.record", SECOND, offset=offset, record="Topic")
    controller.emit("c.record", at_s * SECOND, offset=cluster.end - 1, record="Topic")
    broker = NodeTrace(1).start()
    broker.emit("b.life", 10 * SECOND, state=says, epoch=11, previous=-1, fenced=False)
    events = node_events([controller, broker])
    return live_brokers_stay_unfenced(replace(run, tables={**run.tables, "node_events": events}))


def pause(node: int, start_ms: int, healed_ms: int) -> Row:
    return fault(1, "pause", start_ms, healed_ms) | {"nodes": [node]}


def test_who_was_not_silent_is_not_fenced() -> None:
    assert judged().verdict is INVALID


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (pause(2, 18_600, 20_000), INVALID),  # the controller was held up
        (pause(2, 18_400, 20_000), VALID),  # for so long that the brokers left it
        (pause(1, 18_600, 20_000), VALID),
        (pause(1, 1_000, 4_000), INVALID),  # long ago
        (fault(1, "slow-links", 18_000, 22_000), VALID),
    ],
)
def test_what_happened_to_it_is_a_reason(row: Row, verdict: Verdict) -> None:
    assert judged(row).verdict is verdict


@pytest.mark.parametrize("says", ["pending-controlled-shutdown", "shutting-down"])
def test_who_leaves_is_fenced(says: str) -> None:
    assert judged(says=says).verdict is VALID


def test_what_happens_when_the_run_is_over_is_not_judged() -> None:
    assert judged(at_s=61).verdict is VALID


def test_a_new_life_is_fenced_at_first() -> None:
    run = started().commit(register(1, 31)).run(runtime="sim")
    assert saw_nothing(live_brokers_stay_unfenced(run))
