"""Brokers come, go and lag at random, and what the controller makes of it keeps every invariant."""

import random

import pytest

from node.controller.image import Image, Partition
from node.controller.image.partition import RECOVERING
from node.records.metadata import decode_metadata, encode_metadata
from node.records.topic_schemas import NO_LEADER
from tests.support.brokers import Brokers

IDS = (1, 2, 3, 4)
STEPS = 120
MIN_ISR = 2


def check_state(brokers: Brokers, found: Partition, elr: bool) -> None:
    """P2, P3, E1, E2, E9."""
    active = {broker for broker in IDS if brokers.image.brokers.is_active(broker)}
    assert found.leader == NO_LEADER or found.leader in found.isr
    for members in (found.isr, found.elr):
        assert len(set(members)) == len(members)
        assert set(members) <= set(found.replicas)
    assert not set(found.isr) & set(found.elr)
    assert found.leader in {*active, NO_LEADER}
    if elr:
        assert set(found.isr) <= active
        assert not found.elr or len(found.isr) < MIN_ISR
        assert not found.has_leader or not found.last_known_elr
    else:
        assert found.isr
        assert set(found.isr) <= active or len(found.isr) == 1
        assert (found.elr, found.last_known_elr) == ((), ())
    if found.recovery == RECOVERING and found.has_leader:
        assert len(found.isr) == 1


def check_change(before: Partition, after: Partition, uncleanly: int) -> None:
    """P1, E3-E5, E8, E11: what one decision made of a partition."""
    assert not uncleanly or uncleanly not in {*after.isr, *after.elr}
    if before == after:
        return
    assert after.partition_epoch > before.partition_epoch
    if after.leader != before.leader:
        assert after.leader_epoch > before.leader_epoch
    if (after.leader, after.isr) == (before.leader, before.isr):
        assert after.leader_epoch == before.leader_epoch
    assert set(after.elr) - set(before.elr) <= set(before.isr)
    known = {*before.isr, *before.elr}
    if after.has_leader and after.leader != before.leader:
        is_last = (after.leader,) == before.last_known_elr and not known - {uncleanly}
        assert after.leader in known or is_last
    if len(known) >= MIN_ISR and not uncleanly:
        assert len({*after.isr, *after.elr}) >= MIN_ISR


def act(brokers: Brokers, rng: random.Random) -> int:
    """One thing happens; the broker that came back uncleanly, if that was it."""
    broker, kind = rng.choice(IDS), rng.randrange(7)
    registered = brokers.image.brokers.find(broker)
    found = brokers.partition()
    if registered is None or (kind == 0 and registered.fenced):
        brokers.register(broker)
        return broker
    if kind == 1 and registered.fenced:
        brokers.register(broker, clean=True)
    elif kind == 2 and not registered.fenced:
        brokers.fence(broker)
    elif kind == 3:
        brokers.beat(broker, shutdown=rng.random() < 0.3, fence=rng.random() < 0.2)
    elif kind == 4:
        brokers.fail_over()
    elif found.has_leader:
        others = [each for each in found.replicas if each != found.leader]
        brokers.propose(found.leader, *rng.sample(others, rng.randrange(len(others) + 1)))
    else:
        brokers.beat(broker)
    return 0


@pytest.mark.parametrize("elr", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_whatever_brokers_do_the_invariants_hold(seed: int, elr: bool) -> None:
    rng = random.Random(f"{seed}:{elr}")
    brokers = Brokers(elr=elr)
    brokers.come_up(*IDS)
    brokers.create("t", (1, 2, 3), min_insync_replicas=str(MIN_ISR))
    led = shrunk = 0
    for _ in range(STEPS):
        before = brokers.partition()
        uncleanly = act(brokers, rng)
        after = brokers.partition()
        check_state(brokers, after, elr)
        if elr:
            check_change(before, after, uncleanly)
        led += after.leader != before.leader
        shrunk += len(after.isr) < MIN_ISR
    assert led
    assert shrunk
    again = Image()
    for record in brokers.image.records():
        again.replay(decode_metadata(encode_metadata(record, brokers.image.metadata_version)))
    assert again.digest == brokers.image.digest
