"""Brokers and operators do what they like, and what the controller makes of it keeps every promise.

Three look at it: the image itself after each step, a follower that replays bytes and snapshots, and
the judge, who reads the log that came of it and shares nothing with the node.
"""

import pytest

from checkers.all_checks import CHECKS
from checkers.check import of_brokers
from checkers.evidence.faults import Kind
from checkers.verdict import CheckResult, Verdict
from node.controller import decision
from node.controller.image import Partition, PartitionKey
from node.controller.image.topics import RECOVERING
from node.records.schemas import NO_LEADER
from tests.support.decided_log import run_of
from tests.support.random_brokers import IDS, RandomBrokers

STEPS = 150


def check_state(machine: RandomBrokers, key: PartitionKey, found: Partition) -> None:
    """P2, P3, E1, E2, E9."""
    image = machine.image
    topic = image.topics.find(key[0])
    assert topic is not None
    least = decision.min_isr(image, topic, len(found.replicas), 1)
    active = {broker for broker in IDS if image.brokers.is_active(broker)}
    assert found.leader == NO_LEADER or found.leader in found.isr
    for members in (found.isr, found.elr, found.replicas):
        assert len(set(members)) == len(members)
        assert set(members) <= set(found.replicas)
    assert not set(found.isr) & set(found.elr)
    assert found.leader in {*active, NO_LEADER}
    assert {*found.adding, *found.removing} <= set(found.replicas)
    if image.has_elr:
        assert set(found.isr) <= active
        assert not found.elr or len(found.isr) < least
        assert not found.has_leader or not found.last_known_elr
    else:
        assert found.isr
        assert set(found.isr) <= active or len(found.isr) == 1
        assert (found.elr, found.last_known_elr) == ((), ())
    if found.recovery == RECOVERING and found.has_leader:
        assert len(found.isr) == 1


def judged(seed: int, elr: bool) -> list[CheckResult]:
    machine = RandomBrokers(f"{seed}:{elr}", elr=elr)
    for _ in range(STEPS):
        machine.step()
        for key, found in machine.image.topics.partitions():
            check_state(machine, key, found)
    run = run_of(machine.brokers.history, machine.ends, level=machine.image.metadata_version)
    # What was asked for nobody wrote down.
    chosen = [check for check in CHECKS if Kind.OPERATIONS not in check.rests_on]
    return [check(run) for check in chosen if check.applies is of_brokers]


@pytest.mark.parametrize("seed", range(12))
def test_whatever_brokers_do_every_promise_is_kept(seed: int) -> None:
    results = judged(seed, elr=True)
    assert [result for result in results if result.verdict is Verdict.INVALID] == []
    named = {result.check for result in results if result.looked_at}
    # Elections from an ELR, and ends of reassignments, do not happen in every run.
    assert {"P2-leader-in-isr", "E2-elr-below-min-isr", "E5-unclean-registration-drops"} <= named


@pytest.mark.parametrize("seed", range(6))
def test_without_eligible_leaders_too(seed: int) -> None:
    results = judged(seed, elr=False)
    assert [result for result in results if result.verdict is Verdict.INVALID] == []
    looked_at = {result.check: result.looked_at for result in results}
    assert looked_at["P2-leader-in-isr"] > 20
    assert not looked_at["E1-isr-elr-disjoint"]
