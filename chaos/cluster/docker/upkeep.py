"""Changes the advertised hosts of controllers, and moves replicas between log directories."""

import asyncio
from collections.abc import Mapping, Sequence

from docker.models.containers import Container

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker.containers import CHANGED_FILE
from chaos.cluster.interface import Address, Advertised, FaultEvidence, NodeId
from chaos.cluster.targets.target import DATA, LOG_DIRECTORY, Seat, Target
from chaos.cluster.topology import AGAIN, NOWHERE, Topology, host_name
from chaos.container_files import write_file
from checkers.verdict import counted
from workloads.connection import Brokers, ClientEntry, LostError, NotSentError, TcpDriver
from workloads.leader import LeaderFinder, newest_leader
from workloads.wire.describe_quorum import LeaderClaim
from workloads.wire.header import Api
from workloads.wire.log_directories import (
    HostedReplica,
    LogDirectory,
    alter_replica_log_dirs,
    describe_log_dirs,
    read_altered,
    read_log_dirs,
)

COMMITTED_WITHIN_S = 60.0  # a voter reports itself to the leader each fetch time-out, 2 s
_PAUSE_S = 0.1
_ENDS = {Advertised.REACHABLE: AGAIN, Advertised.UNREACHABLE: NOWHERE}


def other_host(node: NodeId, advertised: Advertised) -> str:
    return f"{host_name(node)}{_ENDS[advertised]}"


def change_host(
    container: Container, target: Target, topology: Topology, node: NodeId, host: str
) -> None:
    """Let the next start of a node use a configuration that advertises `host`."""
    seat = Seat(
        node=node,
        directory_id="",  # nothing of it stands in a configuration
        inner=Address(host, topology.inner_ports(node)[0]),
        outer=topology.bootstrap()[node],
    )
    properties = target.properties(seat, f"{DATA}/{LOG_DIRECTORY}")
    write_file(container, CHANGED_FILE, properties)


async def committed_address(
    node: NodeId, host: str, entries: Mapping[NodeId, Address], within_s: float = COMMITTED_WITHIN_S
) -> FaultEvidence:
    """Whether the quorum has committed `host` as the address of a voter. `entries`: where its
    controllers are asked."""
    driver = TcpDriver(
        {int(each): ClientEntry(host=at.host, port=at.port) for each, at in entries.items()}
    )
    finder = LeaderFinder(driver)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    written = -1  # the leader's log end when it first named that host
    try:
        while loop.time() < deadline:
            claims = await finder.claims()
            leader = newest_leader(claims, driver.nodes)
            if leader is None or not names(claims[leader.node], node, host):
                written = -1
            elif written < 0:
                ends = {each.node: each.log_end for each in claims[leader.node].voters}
                written = ends.get(leader.node, -1)
            elif claims[leader.node].high_watermark >= written:
                what = f"the quorum has committed that it is reached at {host}"
                return FaultEvidence(bit=True, what=what, facts={"committed": written})
            await asyncio.sleep(_PAUSE_S)
    finally:
        await finder.close()
    what = f"no leader told of it at {host} within {within_s:g} s"
    return FaultEvidence(bit=False, what=what)


def names(claim: LeaderClaim, node: NodeId, host: str) -> bool:
    """Whether a leader names that host for a voter."""
    return any(each.node == node and each.host == host for each in claim.listeners)


# Moves replicas between the log directories of their broker, by requests to the broker.


ASKED_WITHIN_S = 10.0
MOVED_WITHIN_S = 60.0
_INTERNAL = "__"  # topics of the cluster's own


async def move_replicas(node: NodeId, entry: Address) -> FaultEvidence:
    """Send every replica of clients' topics to the next log directory, and wait until all are
    there.

    Raises ClusterError if the broker does not answer, refuses, or does not finish in time.
    """
    driver = TcpDriver({node: ClientEntry(host=entry.host, port=entry.port)})
    brokers = Brokers(driver, ASKED_WITHIN_S)
    try:
        return await _move(node, brokers)
    except (NotSentError, LostError) as error:
        raise ClusterError(f"node {node} does not describe its log directories: {error}") from error
    finally:
        brokers.close()


async def _move(node: NodeId, brokers: Brokers) -> FaultEvidence:
    places = next_places(await _directories(node, brokers))
    if not places:
        return FaultEvidence(bit=False, what="it has one log directory, or no replica in them")
    errors = await brokers.send(
        node, Api.ALTER_REPLICA_LOG_DIRS, alter_replica_log_dirs(places), read_altered
    )
    if refused := {replica: code for replica, code in errors.items() if code}:
        raise ClusterError(
            f"node {node} refuses to move replicas; error codes by replica: {refused}"
        )
    loop = asyncio.get_running_loop()
    began = loop.time()
    while not lie_in(places, await _directories(node, brokers)):
        if loop.time() - began > MOVED_WITHIN_S:
            raise ClusterError(f"node {node} moved no replica within {MOVED_WITHIN_S:g} s")
        await asyncio.sleep(_PAUSE_S)
    took_ms = int((loop.time() - began) * 1000)
    moved = counted(len(places), "replica lies", "replicas lie")
    facts: dict[str, int | str | bool] = {"moved": len(places), "took_ms": took_ms}
    return FaultEvidence(bit=True, what=f"{moved} in another log directory", facts=facts)


async def _directories(node: NodeId, brokers: Brokers) -> Sequence[LogDirectory]:
    return await brokers.send(node, Api.DESCRIBE_LOG_DIRS, describe_log_dirs(), read_log_dirs)


def next_places(directories: Sequence[LogDirectory]) -> Mapping[HostedReplica, str]:
    """Where each replica goes: from each directory to the next, and from the last to the first."""
    paths = sorted(each.path for each in directories)
    after = dict(zip(paths, [*paths[1:], *paths[:1]], strict=True)) if len(paths) > 1 else {}
    return {
        replica: after[each.path]
        for each in directories
        if each.path in after
        for replica in each.replicas
        if not replica.topic.startswith(_INTERNAL)
    }


def lie_in(places: Mapping[HostedReplica, str], directories: Sequence[LogDirectory]) -> bool:
    """Whether every replica is where it was sent, and none is on its way."""
    where = {replica: each.path for each in directories for replica in each.replicas}
    coming = {replica for each in directories for replica in each.coming}
    return all(where.get(r) == path and r not in coming for r, path in places.items())
