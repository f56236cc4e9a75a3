"""Resolves the victim of a fault to nodes, at the moment when the fault fires."""

import random
from collections import Counter
from collections.abc import Collection
from itertools import chain
from typing import assert_never

from chaos.cluster.interface import Cluster, NodeId, NodeStatus, Voted
from chaos.cluster.powers import VoteReading
from chaos.cluster.topology import brokers_of, controllers_of
from chaos.nemesis.awaited import ClusterView
from chaos.nemesis.victims import (
    AllBrokers,
    AllFollowers,
    AllVoters,
    ControllerLeader,
    EligibleBroker,
    FollowerThatVoted,
    InSyncFollower,
    LeaderAnd,
    OneNode,
    PartitionLeader,
    RandomBroker,
    RandomFollower,
    RandomNode,
    SomeNodes,
    SpareBroker,
    Victim,
    VotersByOneDisk,
)
from chaos.probes import NoLeaderError, QuorumProbe
from workloads.wire.topic_partitions import PartitionClaim

LEADER_WITHIN_S = 10.0


class NoVictimError(Exception):
    """None of the nodes that the victim stands for can be hit now; the message says why."""


async def resolve(
    victim: Victim,
    cluster: Cluster,
    probe: QuorumProbe,
    rng: random.Random,
    *,
    held: Collection[NodeId] = (),
    patience_s: float | None = None,
    lookout: ClusterView | None = None,
) -> tuple[NodeId, ...]:
    """The nodes that a victim stands for now, the leader before the others.

    another fault holds `held`; `lookout` knows the leaders of partitions. Raises
    NoVictimError.
    """
    free = [node for node in sorted(cluster.nodes) if node not in held]
    voters = [node for node in free if node in controllers_of(cluster)]
    brokers = [node for node in free if node in brokers_of(cluster)]
    match victim:
        case ControllerLeader():
            found = [await _leader(probe, patience_s)]
        case RandomFollower():
            found = _drawn(await _followers(cluster, probe, voters, patience_s), rng)
        case FollowerThatVoted(voted):
            leader = await _leader(probe, patience_s)
            running = await _running(cluster, voters)
            found = _drawn(await _that_voted(cluster, running, leader, voted), rng)
        case AllFollowers():
            found = await _followers(cluster, probe, voters, patience_s)
        case AllVoters():
            found = await _leader_first(cluster, probe, voters, patience_s)
        case VotersByOneDisk():
            found = await _by_one_disk(probe, voters, patience_s)
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
        case PartitionLeader(partition):
            found = [await _partition_leader(lookout, partition)]
        case InSyncFollower(partition):
            newest = await _newest(lookout, partition)
            in_sync = [node for each in newest for node in _followers_of(each)]
            found = _drawn(await _running(cluster, _among(brokers, in_sync)), rng)
        case EligibleBroker():
            elrs = [node for each in await _newest(lookout) for node in each.elr]
            eligible = await _running(cluster, _among(brokers, elrs))
            found = _drawn(eligible or await _running(cluster, brokers), rng)
        case SpareBroker():
            newest = await _newest(lookout)
            spare = [each for each in brokers if any(each not in it.replicas for it in newest)]
            found = _drawn(await _running(cluster, spare), rng)
        case RandomBroker():
            found = _drawn(await _running(cluster, brokers), rng)
        case AllBrokers():
            found = await _running(cluster, brokers)
        case _:
            assert_never(victim)
    hit = tuple(node for node in found if node not in held)
    if not hit:
        raise NoVictimError(f"no node could be hit as {victim}: {len(held)} are hurt already")
    return hit


async def _partition_leader(lookout: ClusterView | None, partition: str) -> NodeId:
    led = [claim for claim in await _claims(lookout, partition) if claim.leader >= 0]
    if not led:
        raise NoVictimError(
            f"{partition} has no leader" if partition else "no partition has a leader"
        )
    first = min(claim.key for claim in led)
    newest = max((claim for claim in led if claim.key == first), key=lambda claim: claim.epoch)
    return NodeId(newest.leader)


async def _claims(lookout: ClusterView | None, partition: str = "") -> list[PartitionClaim]:
    """Of one partition, or of all. Raises NoVictimError for one that no broker knows."""
    sight = await lookout.look() if lookout is not None else None
    claims = list(chain.from_iterable(sight.claims.values())) if sight is not None else []
    found = [claim for claim in claims if partition in ("", claim.key)]
    if partition and not found:
        known = ", ".join(sorted({claim.key for claim in claims})) or "no partition"
        raise NoVictimError(f"no broker knows {partition}; they know {known}")
    return found


async def _newest(lookout: ClusterView | None, partition: str = "") -> list[PartitionClaim]:
    """For each partition, the answers in its newest epoch, perhaps of several brokers: no answer
    shows which of them is behind."""
    claims = await _claims(lookout, partition)
    epochs = {claim.key: claim.epoch for claim in sorted(claims, key=lambda each: each.epoch)}
    return [claim for claim in claims if claim.epoch == epochs[claim.key]]


def _followers_of(claim: PartitionClaim) -> list[int]:
    return [node for node in claim.isr if node != claim.leader]


def _among(brokers: list[NodeId], nodes: list[int]) -> list[NodeId]:
    return [broker for broker in brokers if broker in nodes]


async def _leader(probe: QuorumProbe, patience_s: float | None) -> NodeId:
    try:
        return await probe.leader(_patience(patience_s))
    except NoLeaderError as error:
        raise NoVictimError(str(error)) from error


def _patience(patience_s: float | None) -> float:
    return LEADER_WITHIN_S if patience_s is None else patience_s


async def _followers(
    cluster: Cluster, probe: QuorumProbe, voters: list[NodeId], patience_s: float | None
) -> list[NodeId]:
    leader = await _leader(probe, patience_s)
    return [node for node in await _running(cluster, voters) if node != leader]


async def _by_one_disk(
    probe: QuorumProbe, voters: list[NodeId], patience_s: float | None
) -> list[NodeId]:
    try:
        disks = Counter(await probe.voters(_patience(patience_s)))
    except NoLeaderError as error:
        raise NoVictimError(str(error)) from error
    return [node for node in voters if disks[node] == 1]


async def _that_voted(
    cluster: Cluster, running: list[NodeId], leader: NodeId, voted: Voted
) -> list[NodeId]:
    """Followers that voted for themselves, for the leader, for another candidate that lost, or for
    none."""
    assert isinstance(cluster, VoteReading)
    votes = {node: await cluster.vote(node) for node in running if node != leader}
    of_itself = voted is Voted.ITSELF
    found = [node for node, vote in votes.items() if vote == (node if of_itself else leader)]
    if not found:
        raise NoVictimError(f"no follower voted for {voted}: {votes}")
    return found


async def _leader_first(
    cluster: Cluster, probe: QuorumProbe, free: list[NodeId], patience_s: float | None
) -> list[NodeId]:
    """All nodes. Unless faults overlap, a leader is waited for: without one there is nothing to
    lose."""
    if patience_s is not None:
        return await _running(cluster, free)
    leader = await _leader(probe, patience_s)
    return [leader, *(node for node in free if node != leader)]


def _drawn(running: list[NodeId], rng: random.Random) -> list[NodeId]:
    return [rng.choice(running)] if running else []


async def _running(cluster: Cluster, nodes: list[NodeId]) -> list[NodeId]:
    """The running nodes: one that is off or paused already cannot be hit a second time."""
    statuses = [(node, await cluster.status(node)) for node in nodes]
    return [node for node, status in statuses if status is NodeStatus.RUNNING]
