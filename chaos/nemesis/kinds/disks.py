"""Disks that are sick, and disks that are lost."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from chaos.cluster.interface import Cluster, DiskSickness, FaultEvidence, NodeId, NodeStatus
from chaos.cluster.powers import Killable, Sickening, Wipeable
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Aspect, ByNode, Fault, Harm, Hit, SwarmSpec, Words, one
from chaos.nemesis.proof import of_lasting, of_nodes, on_each, start_all, statuses
from chaos.nemesis.victims import Victim

OF_A_LOST_DISK = Harm(ends_process=True, unclean=True, may_lose=True, wipes=True, halts=True)


async def kill_and_wipe(cluster: Cluster, nodes: Sequence[NodeId]) -> ByNode:
    """All are killed before the first disk goes, so that none outlives another's."""
    assert isinstance(cluster, Killable)
    assert isinstance(cluster, Wipeable)
    await on_each(nodes, cluster.kill)
    return await on_each(nodes, cluster.wipe)


def _sick(sickness: DiskSickness) -> Callable[[random.Random, int], Fault]:
    return lambda rng, nodes: SickDisk(victim=one(rng, nodes), sickness=sickness)


@dataclass(frozen=True, slots=True, kw_only=True)
class SickDisk:
    """The disks of the victims are sick: `slow` (each sync takes 40 ms longer), `error` (one of the
    next writes fails with EIO) or `full` (no write that needs room succeeds, ENOSPC).

    Steps: make each victim's disk sick. Cure: make it well; unless it was only slow, start each
    node that died of it and wait until it answers.

    Evidence: for a slow disk, a sync was slow; for the others, the node died of it, by its exit
    code, as a node must that cannot keep its promises.

    Limits: a node that writes nothing meanwhile never meets an error. In simulated clusters only.
    """

    kinds: ClassVar[tuple[str, ...]] = tuple(f"disk-{sickness}" for sickness in DiskSickness)
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {
        f"disk {sickness}": SwarmSpec(make=_sick(sickness), shortest_s=1, longest_s=8)
        for sickness in DiskSickness
    }
    needs: ClassVar[tuple[Ability, ...]] = (Ability.SICKEN,)

    victim: Victim
    sickness: DiskSickness

    @property
    def kind(self) -> str:
        return f"disk-{self.sickness}"

    @property
    def harm(self) -> Harm:
        deadly = self.sickness is not DiskSickness.SLOW
        return Harm(
            ends_process=deadly,
            unclean=deadly,
            may_lose=self.sickness is DiskSickness.ERROR,
            degrades=True,
        )

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, Sickening)
        for node in hit.nodes:
            await cluster.sicken_disk(node, self.sickness)
        return {}

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        assert isinstance(cluster, Sickening)
        evidence = await on_each(hit.nodes, cluster.mend_disk)
        if self.sickness is not DiskSickness.SLOW:
            await start_all(cluster, hit.nodes)
        return of_nodes(evidence, hit.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wipe:
    """The process is killed and its disk lost: it comes back with a new one, formatted.

    Steps: kill every victim at once, then give each a new, empty file system and format it: a new
    directory id, and nothing else that the node knew. Cure: check that each is still off, start all
    and wait until they answer.

    Evidence: the old log directory is gone, and the new one has another directory id; the node was
    still off just before the cure.

    Limits: the cluster decides whether a replica with a new directory id may vote (KIP-856,
    KIP-853), and it is not told that the disk is a new one. If it may not vote, and the other nodes
    are no majority, the quorum has stopped for good.
    """

    kinds: ClassVar[tuple[str, ...]] = ("wipe",)
    kind: ClassVar[str] = "wipe"
    aspect: ClassVar[Aspect] = Aspect.MACHINE
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {}
    needs: ClassVar[tuple[Ability, ...]] = (Ability.KILL, Ability.WIPE)
    harm: ClassVar[Harm] = OF_A_LOST_DISK

    victim: Victim

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        return await kill_and_wipe(cluster, hit.nodes)

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        seen = await statuses(cluster, hit.nodes)
        await start_all(cluster, hit.nodes)
        return of_lasting(hit.evidence, seen, NodeStatus.OFF)
