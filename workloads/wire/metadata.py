"""Metadata: the leaders of partitions as one broker knows them."""

from dataclasses import dataclass

from workloads.wire.flexible import MessageReader, array, string

_ANY_ID = bytes(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedPartition:
    """`leader` is -1 where the partition has none."""

    topic: str
    partition: int
    leader: int
    epoch: int


def metadata(topics: tuple[str, ...]) -> bytes:
    """Body of a Metadata that creates nothing."""
    named = [_ANY_ID + string(topic) + b"\x00" for topic in topics]
    return array(named) + b"\x00\x00\x00"  # no creation, no authorized operations, tags


def read_metadata(body: bytes) -> tuple[LedPartition, ...]:
    """The partitions of topics that this broker knows. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    for _ in range(reader.count()):
        _broker(reader)
    reader.string()  # cluster id
    reader.skip(4)  # controller
    leaders: list[LedPartition] = []
    for _ in range(reader.count()):
        leaders += _topic(reader)
    reader.end()
    return tuple(leaders)


def _broker(reader: MessageReader) -> None:
    reader.skip(4)
    reader.string()
    reader.skip(4)
    reader.string()
    reader.tags()


def _topic(reader: MessageReader) -> list[LedPartition]:
    reader.skip(2)  # error: such a topic has no partitions
    name = reader.string() or ""
    reader.skip(16 + 1)  # id, whether internal
    leaders = [_partition(reader, name) for _ in range(reader.count())]
    reader.skip(4)  # authorized operations
    reader.tags()
    return leaders


def _partition(reader: MessageReader, topic: str) -> LedPartition:
    reader.skip(2)  # error: no leader, or fewer replicas than there should be
    partition, leader, epoch = reader.int32(), reader.int32(), reader.int32()
    for _ in range(3):  # replicas, in sync, offline
        reader.skip(4 * reader.count())
    reader.tags()
    return LedPartition(topic=topic, partition=partition, leader=leader, epoch=epoch)
