"""Whom a target means, at the moment in which a fault fires."""

import random
from collections.abc import Collection
from typing import assert_never

from chaos.cluster.interface import Cluster, NodeId, NodeStatus
from chaos.nemesis.faults import (
    AllVoters,
    ControllerLeader,
    Follower,
    LeaderAnd,
    OneNode,
    RandomNode,
    SomeNodes,
    Target,
)
from chaos.probes import NoLeaderError, QuorumProbe

LEADER_WITHIN_S = 10.0


class NobodyToHitError(Exception):
    """Whoever is meant cannot be hit now, and the message says why."""


async def resolve(
    target: Target,
    cluster: Cluster,
    probe: QuorumProbe,
    rng: random.Random,
    *,
    held: Collection[NodeId] = (),
    patience_s: float | None = None,
) -> tuple[NodeId, ...]:
    """The nodes that a target means now, who leads before the others.

    `held` are those that another fault has in its hands. Raises NobodyToHitError.
    """
    free = [node for node in sorted(cluster.nodes) if node not in held]
    match target:
        case ControllerLeader():
            found = [await _leader(probe, patience_s)]
        case Follower():
            leader = await _leader(probe, patience_s)
            found = _drawn([node for node in await _running(cluster, free) if node != leader], rng)
        case AllVoters():
            found = await _leader_first(cluster, probe, free, patience_s)
        case RandomNode():
            found = _drawn(await _running(cluster, free), rng)
        case SomeNodes(count):
            running = await _running(cluster, free)
            found = sorted(rng.sample(running, min(count, len(running))))
        case LeaderAnd(count):
            leader = await _leader(probe, patience_s)
            others = [node for node in await _running(cluster, free) if node != leader]
            found = [leader, *rng.sample(others, min(count, len(others)))]
        case OneNode(node):
            found = [node]
        case _:
            assert_never(target)
    hit = tuple(node for node in found if node not in held)
    if not hit:
        raise NobodyToHitError(f"no node could be hit as {target}: {len(held)} are hurt already")
    return hit


async def _leader(probe: QuorumProbe, patience_s: float | None) -> NodeId:
    try:
        return await probe.leader(LEADER_WITHIN_S if patience_s is None else patience_s)
    except NoLeaderError as error:
        raise NobodyToHitError(str(error)) from error


async def _leader_first(
    cluster: Cluster, probe: QuorumProbe, free: list[NodeId], patience_s: float | None
) -> list[NodeId]:
    """All nodes; unless faults overlap, a leader is waited for: without one there is nothing to
    lose."""
    if patience_s is not None:
        return await _running(cluster, free)
    leader = await _leader(probe, patience_s)
    return [leader, *(node for node in free if node != leader)]


def _drawn(running: list[NodeId], rng: random.Random) -> list[NodeId]:
    return [rng.choice(running)] if running else []


async def _running(cluster: Cluster, nodes: list[NodeId]) -> list[NodeId]:
    """Who is off or paused already cannot be hit a second time."""
    statuses = [(node, await cluster.status(node)) for node in nodes]
    return [node for node, status in statuses if status is NodeStatus.RUNNING]
