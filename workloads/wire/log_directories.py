"""The log directories of a broker's replicas, and moves between them (KIP-113): DescribeLogDirs 2
and AlterReplicaLogDirs 2."""

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.wire.flexible import MessageReader, array, string

_ALL_TOPICS, _NO_TAGS = b"\x00", b"\x00"


@dataclass(frozen=True, slots=True, order=True)
class HostedReplica:
    topic: str
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectory:
    """One log directory of a broker; `coming` are replicas that move into it."""

    path: str
    error: int
    replicas: frozenset[HostedReplica]
    coming: frozenset[HostedReplica]


def describe_log_dirs() -> bytes:
    """Body of a request for all topics."""
    return _ALL_TOPICS + _NO_TAGS


def read_log_dirs(body: bytes) -> tuple[LogDirectory, ...]:
    """Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    found = tuple(_directory(reader) for _ in range(reader.count()))
    reader.end()
    return found


def _directory(reader: MessageReader) -> LogDirectory:
    error, path = reader.int16(), reader.name()
    here: set[HostedReplica] = set()
    coming: set[HostedReplica] = set()
    for _ in range(reader.count()):
        topic = reader.name()
        for _ in range(reader.count()):
            replica = HostedReplica(topic, reader.int32())
            reader.skip(16)  # size, and offset lag
            (coming if reader.int8() else here).add(replica)
            reader.tags()
        reader.tags()
    reader.tags()
    return LogDirectory(path=path, error=error, replicas=frozenset(here), coming=frozenset(coming))


def alter_replica_log_dirs(places: Mapping[HostedReplica, str]) -> bytes:
    """Body of a request that moves each replica to the log directory with that path."""
    directories = [
        string(path) + array([_topic(r) for r in sorted(places) if places[r] == path]) + _NO_TAGS
        for path in sorted(set(places.values()))
    ]
    return array(directories) + _NO_TAGS


def _topic(replica: HostedReplica) -> bytes:
    return string(replica.topic) + array([replica.partition.to_bytes(4, "big")]) + _NO_TAGS


def read_altered(body: bytes) -> Mapping[HostedReplica, int]:
    """The error code of each replica. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    found: dict[HostedReplica, int] = {}
    for _ in range(reader.count()):
        topic = reader.name()
        for _ in range(reader.count()):
            replica = HostedReplica(topic, reader.int32())
            found[replica] = reader.int16()
            reader.tags()
        reader.tags()
    reader.end()
    return found
