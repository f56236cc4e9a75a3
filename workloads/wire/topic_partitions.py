"""The state of partitions as a broker reports it: DescribeTopicPartitions 0 (KIP-966).

The log directories of a broker's replicas, and moves between them (KIP-113): DescribeLogDirs 2
and AlterReplicaLogDirs 2.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.wire.flexible import MessageReader, array, string

_MOST_PARTITIONS = 2_000  # in one answer: what Kafka's own client asks for
_ALL_TOPICS, _NO_CURSOR, _NO_TAGS = b"\x01", b"\xff", b"\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionClaim:
    """The state of one partition as one broker reports it. A `leader` of -1: it has none."""

    topic: str
    key: str
    leader: int
    epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    offline: tuple[int, ...]


def describe_topic_partitions() -> bytes:
    """Body of a request for all topics."""
    return _ALL_TOPICS + _MOST_PARTITIONS.to_bytes(4, "big") + _NO_CURSOR + _NO_TAGS


def read_partitions(body: bytes) -> tuple[PartitionClaim, ...]:
    """In the order of their names, those of Kafka's own topics left out.

    Raises MalformedAnswerError.
    """
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    claims = [claim for _ in range(reader.count()) for claim in _topic(reader)]
    if reader.int8() >= 0:  # a cursor, where there are more partitions than requested
        reader.string()
        reader.skip(4)
        reader.tags()
    reader.end()
    return tuple(sorted(claims, key=lambda claim: claim.key))


def _topic(reader: MessageReader) -> list[PartitionClaim]:
    reader.skip(2)  # error
    name = reader.string() or ""
    reader.skip(16)  # topic id
    internal = reader.int8() != 0
    claims = [_partition(reader, name) for _ in range(reader.count())]
    reader.skip(4)  # authorized operations
    reader.tags()
    return [] if internal else claims


def _partition(reader: MessageReader, topic: str) -> PartitionClaim:
    reader.skip(2)  # error
    index, leader, epoch = reader.int32(), reader.int32(), reader.int32()
    replicas, isr, elr, last_known, offline = (_nodes(reader) for _ in range(5))
    reader.tags()
    return PartitionClaim(
        topic=topic,
        key=f"{topic}-{index}",
        leader=leader,
        epoch=epoch,
        replicas=replicas,
        isr=isr,
        elr=elr,
        last_known_elr=last_known,
        offline=offline,
    )


def _nodes(reader: MessageReader) -> tuple[int, ...]:
    return tuple(reader.int32() for _ in range(reader.count()))


_OF_ALL_TOPICS = b"\x00"


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
    return _OF_ALL_TOPICS + _NO_TAGS


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
        string(path)
        + array([_hosted_topic(r) for r in sorted(places) if places[r] == path])
        + _NO_TAGS
        for path in sorted(set(places.values()))
    ]
    return array(directories) + _NO_TAGS


def _hosted_topic(replica: HostedReplica) -> bytes:
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
