"""Whom a fault of partitions hits: who leads, is in sync, or is eligible, as brokers tell it."""

import random
from collections.abc import Mapping, Sequence
from typing import ClassVar

import pytest

from chaos.cluster.interface import NodeId, Roles
from chaos.nemesis.aim import NoVictimError, resolve
from chaos.nemesis.awaited import Condition, Sight
from chaos.nemesis.victims import EligibleBroker, InSyncFollower, PartitionLeader, Victim
from chaos.probes import QuorumProbe, driver_for
from tests.support.fake_cluster import FakeCluster
from tests.support.virtual_time import in_virtual_time
from workloads.wire.topic_partitions import PartitionClaim


def claim(leader: int, epoch: int, isr: tuple[int, ...], elr: tuple[int, ...]) -> PartitionClaim:
    return PartitionClaim(
        topic="t",
        key="t/0",
        leader=leader,
        epoch=epoch,
        replicas=(1, 2, 3),
        isr=isr,
        elr=elr,
        last_known_elr=(),
        offline=(),
    )


class Seen:
    """Broker 2 is behind: it tells of an older epoch."""

    def __init__(self, newest: PartitionClaim) -> None:
        self._sight = Sight(
            claims={1: [newest], 2: [claim(2, newest.epoch - 1, (2, 3), (1,))]}, acknowledged=0
        )

    async def look(self) -> Sight:
        return self._sight

    async def wait_for(self, condition: Condition, within_s: float) -> bool:
        raise AssertionError(f"whoever aims waits for nothing: {condition}, {within_s} s")


class BrokerCluster(FakeCluster):
    """Described: all of its nodes are brokers."""

    settings: ClassVar[Mapping[str, str]] = {}
    images: ClassVar[Mapping[str, str]] = {}
    promises: ClassVar[Sequence[str]] = ()

    @property
    def roles(self) -> Mapping[NodeId, Roles]:
        return dict.fromkeys(self.nodes, Roles.BROKER)


def hit(victim: Victim, newest: PartitionClaim) -> tuple[NodeId, ...]:
    cluster = BrokerCluster()

    async def main() -> tuple[NodeId, ...]:
        await cluster.create()
        probe = QuorumProbe(driver_for(cluster))
        try:
            return await resolve(
                victim, cluster, probe, random.Random(1), lookout=Seen(newest), patience_s=0.1
            )
        finally:
            await probe.close()
            await cluster.destroy()

    return in_virtual_time(main())


def test_who_is_in_sync_is_told_from_who_is_eligible_and_who_leads() -> None:
    newest = claim(1, 7, isr=(1, 3), elr=(2,))
    assert hit(PartitionLeader(), newest) == (1,)
    assert hit(InSyncFollower(), newest) == (3,)
    assert hit(EligibleBroker(), newest) == (2,)


def test_where_nobody_is_eligible_anybody_is_hit_and_where_nobody_follows_nobody() -> None:
    assert hit(EligibleBroker(), claim(1, 7, isr=(1, 2, 3), elr=()))
    with pytest.raises(NoVictimError, match="in-sync-follower"):
        hit(InSyncFollower(), claim(1, 7, isr=(1,), elr=()))
