"""DescribeLogDirs: how large the replicas' logs are, by the directory that each is in."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from node.broker.held_replicas import Held, HeldReplicas
from node.wire.describe_log_dirs import (
    DescribedLog,
    DescribedLogDir,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from node.wire.topic_partitions import TopicPartition


def describe_log_dirs(
    replicas: HeldReplicas, paths: Mapping[UUID, str], request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    """Every directory, also without a replica that was asked about (`ReplicaManager`)."""
    logs: dict[UUID, list[DescribedLog]] = {directory: [] for directory in paths}
    for held in _sought(replicas, request):
        logs[held.directory].append(_described(replicas, held))
    return DescribeLogDirsResponse(
        results=tuple(
            DescribedLogDir(path=path, logs=tuple(logs[directory]))
            for directory, path in paths.items()
        )
    )


def _sought(replicas: HeldReplicas, request: DescribeLogDirsRequest) -> Iterable[Held]:
    if request.partitions is None:
        return replicas.all()
    sought = {(each.name, each.index) for each in request.partitions}
    return (held for held in replicas.all() if (held.name, held.key[1]) in sought)


def _described(replicas: HeldReplicas, held: Held) -> DescribedLog:
    log, replica = replicas.log(held), held.replica
    return DescribedLog(
        partition=TopicPartition(name=held.name, index=held.key[1]),
        size=0 if log is None else sum(each.size for each in log.segments),
        lag=max(0, replica.high_watermark - replica.end),
    )
