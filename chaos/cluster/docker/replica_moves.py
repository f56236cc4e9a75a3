"""Replicas moved between the log directories of their broker, by asking the broker for it."""

import asyncio
from collections.abc import Mapping, Sequence

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.interface import Address, FaultEvidence, NodeId
from checkers.counted import counted
from workloads.broker_connections import Brokers
from workloads.connection import ClientEntry, LostError, NotSentError, TcpDriver
from workloads.wire.header import Api
from workloads.wire.log_directories import (
    HostedReplica,
    LogDirectory,
    alter_replica_log_dirs,
    describe_log_dirs,
    read_altered,
    read_log_dirs,
)

ASKED_WITHIN_S = 10.0
MOVED_WITHIN_S = 60.0
_PAUSE_S = 0.1
_INTERNAL = "__"  # topics of the cluster's own


async def move_replicas(node: NodeId, entry: Address) -> FaultEvidence:
    """Send every replica of clients' topics to the next log directory; done when all are there.

    Raises ClusterError where the broker does not answer, refuses, or is not done in time.
    """
    driver = TcpDriver({node: ClientEntry(host=entry.host, port=entry.port)})
    brokers = Brokers(driver, ASKED_WITHIN_S)
    try:
        return await _move(node, brokers)
    except (NotSentError, LostError) as error:
        raise ClusterError(f"node {node} does not tell of its replicas: {error}") from error
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
        raise ClusterError(f"node {node} refuses to move replicas, by error code: {refused}")
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
