"""The state of partitions as a broker reports it: DescribeTopicPartitions 0 (KIP-966)."""

from dataclasses import dataclass

from workloads.wire.flexible import MessageReader

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
