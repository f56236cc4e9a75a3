"""Partitions of the network: between nodes, nothing passes along some links in some directions.

Clients reach every node all the while. That is the hard case: a leader that is cut off goes on to
take requests.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import permutations
from typing import ClassVar

from chaos.cluster.interface import Cluster, FaultEvidence, Link, NodeId, NodeStatus
from chaos.cluster.powers import Cuttable
from chaos.cluster.topology import brokers_of, controllers_of
from chaos.nemesis.abilities import Ability
from chaos.nemesis.fault import Aspect, ByNode, Fault, Harm, Hit, SwarmSpec, Words, always, one_side
from chaos.nemesis.proof import of_links
from chaos.nemesis.victims import LeaderAnd, SomeNodes, Victim

# Which directed links a partition cuts. Pure.


class Ways(StrEnum):
    """Which bytes a partition stops, seen from its victims."""

    BOTH = "both"
    OUT = "out"  # others do not hear them
    IN = "in"  # they do not hear others


def grudge(victims: Sequence[NodeId], nodes: Sequence[NodeId], ways: Ways) -> tuple[Link, ...]:
    """The links between the victims and all other nodes, in the requested directions, in order."""
    others = [node for node in sorted(nodes) if node not in victims]
    out = [Link(victim, other) for victim in sorted(victims) for other in others]
    back = [Link(other, victim) for victim in sorted(victims) for other in others]
    match ways:
        case Ways.OUT:
            return tuple(out)
        case Ways.IN:
            return tuple(back)
        case Ways.BOTH:
            return tuple(out + back)


def among(victims: Sequence[NodeId]) -> tuple[Link, ...]:
    """The links between the victims themselves, in order."""
    return tuple(Link(one, other) for one, other in permutations(sorted(victims), 2))


class OtherSide(StrEnum):
    """The nodes from which a partition keeps its victim."""

    ALL = "all"
    BROKERS = "brokers"
    CONTROLLERS = "controllers"


def _partition(ways: Ways) -> Callable[[random.Random, int], Fault]:
    return lambda rng, nodes: NetworkPartition(victim=one_side(rng, nodes), ways=ways)


def _leaders_side(stagger_ms: int) -> Callable[[random.Random, int], Fault]:
    """A minority that includes the leader: it goes on leading those few, which come back after
    it."""
    return lambda rng, nodes: NetworkPartition(
        victim=LeaderAnd(rng.randint(1, (nodes - 1) // 2 - 1)), stagger_ms=stagger_ms
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPartition:
    """The victims are cut off from all other nodes, or from some; clients still reach all.

    `ways` says which bytes are stopped, seen from the victims, and `peers` from which nodes. With
    `stagger_ms` the victims come back one by one, at this interval: the former leader first, then
    its remaining followers.

    Steps: stop bytes on every link between a victim and the others, one after another. Cure: send a
    marked request along each link, and against it if that way is open; let all links pass again, at
    once or victim by victim.

    Evidence: for each link, its proxy took in the marked request and did not pass it on, an open
    opposite way passed one, and the proxy itself reports both. Known at the cure. Links of a node
    that is off by then are not probed, as long as two running nodes were parted too.

    Limits: proved for the moment of the cure; that nothing undid the cut before is not. Bytes that
    nodes sent meanwhile are counted and reported, and not relied on.
    """

    kinds: ClassVar[tuple[str, ...]] = ("partition", "partition-one-way")
    aspect: ClassVar[Aspect] = Aspect.CUTS
    by_hand: ClassVar[Mapping[str, Words]] = {
        "partition": {},
        "partition-in": {"ways": "in"},
        "partition-out": {"ways": "out"},
    }
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {
        **{
            f"partition {ways}": SwarmSpec(
                make=_partition(ways), shortest_s=0.5, longest_s=12, least_nodes=2
            )
            for ways in Ways
        },
        # About as long as an election takes: the leader is back before it misses its followers.
        **{
            f"partition of the leader's side, {stagger_ms} ms": SwarmSpec(
                make=_leaders_side(stagger_ms), shortest_s=0.8, longest_s=2.5, least_nodes=5
            )
            for stagger_ms in (1000, 2000, 4000)
        },
    }
    needs: ClassVar[tuple[Ability, ...]] = (Ability.CUT,)
    harm: ClassVar[Harm] = Harm(cuts=True)

    victim: Victim
    ways: Ways = always(Ways.BOTH)
    stagger_ms: int = 0
    peers: OtherSide = OtherSide.ALL

    @property
    def kind(self) -> str:
        return "partition" if self.ways is Ways.BOTH else "partition-one-way"

    def links(self, cluster: Cluster, nodes: Sequence[NodeId]) -> tuple[Link, ...]:
        return grudge(nodes, _others(cluster, self.peers), self.ways)

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, Cuttable)
        await cluster.cut(hit.links)
        return {}

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        return await _healed(cluster, hit, self.stagger_ms)


def _others(cluster: Cluster, peers: OtherSide) -> Sequence[NodeId]:
    """The nodes from which a partition separates its victim; the victim may be among them."""
    if peers is OtherSide.ALL:
        return cluster.nodes
    return brokers_of(cluster) if peers is OtherSide.BROKERS else controllers_of(cluster)


async def _healed(cluster: Cluster, hit: Hit, stagger_ms: int = 0) -> FaultEvidence:
    """A node may go off, or come back, while its links are probed: its state is read before and
    after."""
    assert isinstance(cluster, Cuttable)
    off = await _off(cluster, hit)
    per_link = await _heal_in_turn(cluster, hit, stagger_ms)
    return of_links(per_link, hit.links, off | await _off(cluster, hit))


async def _off(cluster: Cluster, hit: Hit) -> set[NodeId]:
    ends = sorted({node for link in hit.links for node in (link.source, link.destination)})
    return {node for node in ends if await cluster.status(node) is NodeStatus.OFF}


async def _heal_in_turn(
    cluster: Cuttable, hit: Hit, stagger_ms: int
) -> Mapping[Link, FaultEvidence]:
    """With `stagger_ms`, node by node in the order in which they were hit; each heals its own
    links."""
    if not stagger_ms:
        return await cluster.heal(hit.links)
    evidence: dict[Link, FaultEvidence] = {}
    for number, node in enumerate(hit.nodes):
        if number:
            await asyncio.sleep(stagger_ms / 1000)
        links = [link for link in hit.links if node in (link.source, link.destination)]
        evidence.update(await cluster.heal(links))
    return evidence


def _estranged(rng: random.Random, _nodes: int) -> Fault:
    """Two nodes that do not hear each other; usually one of them leads."""
    return PartialPartition(victim=LeaderAnd(1) if rng.random() < 0.7 else SomeNodes(2))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialPartition:
    """The victims do not hear each other; all other nodes hear all of them.

    Steps: as for a partition, on the links among the victims.

    Evidence: as for a partition.

    Limits: as for a partition. A single victim has no such link, and nothing is hit.
    """

    kinds: ClassVar[tuple[str, ...]] = ("partition-partial",)
    kind: ClassVar[str] = "partition-partial"
    aspect: ClassVar[Aspect] = Aspect.CUTS
    by_hand: ClassVar[Mapping[str, Words]] = {}
    swarm_specs: ClassVar[Mapping[str, SwarmSpec]] = {
        "partition-partial": SwarmSpec(make=_estranged, shortest_s=0.5, longest_s=15, least_nodes=3)
    }
    needs: ClassVar[tuple[Ability, ...]] = (Ability.CUT,)
    harm: ClassVar[Harm] = Harm(cuts=True)

    victim: Victim

    def links(self, cluster: Cluster, nodes: Sequence[NodeId]) -> tuple[Link, ...]:
        del cluster  # the other nodes hear them
        return among(nodes)

    async def inject(self, cluster: Cluster, hit: Hit) -> ByNode:
        assert isinstance(cluster, Cuttable)
        await cluster.cut(hit.links)
        return {}

    async def cure(self, cluster: Cluster, hit: Hit) -> FaultEvidence:
        return await _healed(cluster, hit)
