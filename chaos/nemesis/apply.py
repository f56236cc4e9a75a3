"""Injecting a fault into a cluster and curing it again: the only place that calls its powers."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

from chaos.cluster.interface import (
    ClockShifting,
    Closable,
    Cluster,
    Cuttable,
    DiskSickness,
    DiskTrouble,
    DiskTroubling,
    Evidence,
    Killable,
    Link,
    NodeId,
    NodeStatus,
    Pausable,
    PowerCuttable,
    Sickening,
    Slowable,
    Unsteady,
    Wipeable,
)
from chaos.cluster.roles import brokers_of, controllers_of
from chaos.nemesis.evidence import if_it_lasted, of_both, of_links, of_nodes
from chaos.nemesis.faults import (
    ClockJump,
    ClockRate,
    Fault,
    FlakyLinks,
    Kill,
    PartialPartition,
    Partition,
    Pause,
    Peers,
    PowerOff,
    ShutOut,
    SickDisk,
    SlowLinks,
    Stop,
    Ways,
    Wipe,
)
from chaos.nemesis.grudges import among, grudge

TROUBLED_S = 1.5  # how long syncs go wrong before the power fails: some hundred operations


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A fault that fired: whom it hit, and what was measured at that moment."""

    fault: Fault
    nodes: tuple[NodeId, ...]
    links: tuple[Link, ...] = ()
    evidence: Mapping[NodeId, Evidence] = field(default_factory=dict)


def links_of(fault: Fault, nodes: tuple[NodeId, ...], cluster: Cluster) -> tuple[Link, ...]:
    """The links between these nodes and the others that a fault cuts or makes flaky."""
    match fault:
        case Partition(ways=ways, peers=peers):
            return grudge(nodes, _peers(cluster, peers), ways)
        case PartialPartition():
            return among(nodes)
        case FlakyLinks():
            return grudge(nodes, cluster.nodes, Ways.BOTH)
        case _:
            return ()


async def inject(
    cluster: Cluster,
    fault: Fault,
    nodes: tuple[NodeId, ...],
    links: tuple[Link, ...] | None = None,
) -> Hit:
    """Let a fault begin; it has begun when this returns. `links`: those of `links_of`, or some."""
    links = links_of(fault, nodes, cluster) if links is None else links
    evidence: Mapping[NodeId, Evidence] = {}
    match fault:
        case Partition() | PartialPartition():
            assert isinstance(cluster, Cuttable)
            await cluster.cut(links)
        case Kill(latency_ms=latency_ms):
            assert isinstance(cluster, Killable)
            evidence = await _each(nodes, cluster.kill)
            if latency_ms:
                assert isinstance(cluster, Slowable)
                await cluster.slow_links(latency_ms)
        case Stop():
            evidence = await _each(nodes, partial(_stop, cluster))
        case Pause():
            assert isinstance(cluster, Pausable)
            evidence = await _each(nodes, cluster.pause)
        case PowerOff(mode=mode, disks=disks):
            if disks is not None:
                assert isinstance(cluster, DiskTroubling)
                await cluster.trouble_disks(_troubled(nodes, disks), disks)
                await asyncio.sleep(TROUBLED_S)
            assert isinstance(cluster, PowerCuttable)
            evidence = await cluster.power_off(nodes, mode)
        case Wipe():
            assert isinstance(cluster, Killable)
            assert isinstance(cluster, Wipeable)
            await _each(nodes, cluster.kill)
            evidence = await _each(nodes, cluster.wipe)
        case ShutOut():
            assert isinstance(cluster, Closable)
            await cluster.close_entrances(nodes)
        case SlowLinks(latency_ms=latency_ms):
            assert isinstance(cluster, Slowable)
            await cluster.slow_links(latency_ms)
        case FlakyLinks(share=share):
            assert isinstance(cluster, Unsteady)
            await cluster.make_flaky(links, share)
        case SickDisk(sickness=sickness):
            assert isinstance(cluster, Sickening)
            for node in nodes:
                await cluster.sicken_disk(node, sickness)
        case ClockJump(offset_ms=offset_ms):
            assert isinstance(cluster, ClockShifting)
            evidence = await _each(nodes, lambda node: cluster.jump_clock(node, offset_ms))
        case ClockRate(rate=rate):
            assert isinstance(cluster, ClockShifting)
            evidence = await _each(nodes, lambda node: cluster.run_clock(node, rate))
        case _:
            assert_never(fault)
    return Hit(fault=fault, nodes=nodes, links=links, evidence=evidence)


def _peers(cluster: Cluster, peers: Peers) -> Sequence[NodeId]:
    """Whom a partition keeps its target from, where it is not one of them itself."""
    if peers is Peers.ALL:
        return cluster.nodes
    return brokers_of(cluster) if peers is Peers.BROKERS else controllers_of(cluster)


async def _stop(cluster: Cluster, node: NodeId) -> Evidence:
    """What the node did on its way out, its traces tell; that it ended, its status."""
    ran = await cluster.status(node) is NodeStatus.RUNNING
    await cluster.stop(node)
    runs = await cluster.status(node) is not NodeStatus.OFF
    bit = ran and not runs
    what = "the process ended after SIGTERM" if bit else "no running process was stopped"
    return Evidence(bit=bit, what=what, facts={"ran": ran, "runs": runs})


async def cure(cluster: Cluster, hit: Hit) -> Evidence:
    """Undo a fault, and say whether it had bitten. Nodes that were off answer again then."""
    match hit.fault:
        case Partition(stagger_ms=stagger_ms) if stagger_ms:
            assert isinstance(cluster, Cuttable)
            return of_links(await _heal_in_turn(cluster, hit, stagger_ms), hit.links)
        case Partition() | PartialPartition():
            assert isinstance(cluster, Cuttable)
            return of_links(await cluster.heal(hit.links), hit.links)
        case ShutOut():
            assert isinstance(cluster, Closable)
            return of_nodes(await cluster.open_entrances(hit.nodes), hit.nodes)
        case Kill() | Stop() | Wipe():
            seen = await _statuses(cluster, hit.nodes)
            slowed = await _quickened(cluster, hit.fault)
            await _all(cluster.start(node) for node in hit.nodes)
            ended = _of_lasting(hit.evidence, seen, NodeStatus.OFF)
            return ended if slowed is None else of_both(ended, slowed)
        case Pause():
            assert isinstance(cluster, Pausable)
            seen = await _statuses(cluster, hit.nodes)
            await _all([cluster.resume(node) for node in hit.nodes])
            return _of_lasting(hit.evidence, seen, NodeStatus.PAUSED)
        case PowerOff():
            assert isinstance(cluster, PowerCuttable)
            seen = await _statuses(cluster, hit.nodes)
            await _all(cluster.start(node) for node in hit.nodes)
            evidence = await _each(hit.nodes, cluster.power_evidence)
            return _of_lasting(evidence, seen, NodeStatus.OFF)
        case SlowLinks():
            assert isinstance(cluster, Slowable)
            return await cluster.quicken_links()
        case FlakyLinks():
            assert isinstance(cluster, Unsteady)
            return await cluster.steady(hit.links)
        case SickDisk(sickness=sickness):
            assert isinstance(cluster, Sickening)
            evidence = await _each(hit.nodes, cluster.mend_disk)
            if sickness is not DiskSickness.SLOW:
                await _all(cluster.start(node) for node in hit.nodes)
            return of_nodes(evidence, hit.nodes)
        case ClockJump():
            assert isinstance(cluster, ClockShifting)
            await _each(hit.nodes, lambda node: cluster.jump_clock(node, 0))
            return of_nodes(hit.evidence, hit.nodes)
        case ClockRate():
            assert isinstance(cluster, ClockShifting)
            await _each(hit.nodes, lambda node: cluster.run_clock(node, 1.0))
            return of_nodes(hit.evidence, hit.nodes)
        case _:
            assert_never(hit.fault)


async def _quickened(cluster: Cluster, fault: Fault) -> Evidence | None:
    """What a slowed network was like, now that it is no more; None where it was not slowed."""
    if not isinstance(fault, Kill) or not fault.latency_ms:
        return None
    assert isinstance(cluster, Slowable)
    return await cluster.quicken_links()


async def _heal_in_turn(cluster: Cuttable, hit: Hit, stagger_ms: int) -> dict[Link, Evidence]:
    """Node by node, in the order in which they were hit; each has links of its own."""
    evidence: dict[Link, Evidence] = {}
    for number, node in enumerate(hit.nodes):
        if number:
            await asyncio.sleep(stagger_ms / 1000)
        links = [link for link in hit.links if node in (link.source, link.target)]
        evidence.update(await cluster.heal(links))
    return evidence


async def _statuses(cluster: Cluster, nodes: tuple[NodeId, ...]) -> dict[NodeId, NodeStatus]:
    return {node: await cluster.status(node) for node in nodes}


def _of_lasting(
    evidence: Mapping[NodeId, Evidence], seen: Mapping[NodeId, NodeStatus], expected: NodeStatus
) -> Evidence:
    """One answer for all nodes that were hit: `seen` is what they were just before the cure."""
    return of_nodes(
        {node: if_it_lasted(found, seen[node], expected) for node, found in evidence.items()},
        tuple(seen),
    )


def _troubled(nodes: tuple[NodeId, ...], disks: DiskTrouble) -> tuple[NodeId, ...]:
    """All disks lie, but only followers' are slow: a leader that waits for its own disk counts
    nobody meanwhile, and nothing would be under way at the cut."""
    return nodes if disks is DiskTrouble.LYING or len(nodes) == 1 else nodes[1:]


async def _each(
    nodes: tuple[NodeId, ...], act: Callable[[NodeId], Awaitable[Evidence]]
) -> dict[NodeId, Evidence]:
    found = await asyncio.gather(*(act(node) for node in nodes))
    return dict(zip(nodes, found, strict=True))


async def _all(acts: Iterable[Awaitable[None]]) -> None:
    """Wait for all, then raise the first error: one node's failure leaves no other half started."""
    results = await asyncio.gather(*acts, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
