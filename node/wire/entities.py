"""What several families of requests share: partitions of topics, and the leader's address."""

from collections.abc import Callable, Iterable
from dataclasses import field
from types import SimpleNamespace
from typing import Annotated, Any, TypeVar
from uuid import UUID

from node.codec.varint import write_unsigned
from node.ids import NO_NODE, ZERO_UUID, Endpoint, LogPosition
from node.lazy_dataclass import dataclass
from node.wire.declared import Functions, Kio, Parts, Rows, Tagged

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartition:
    """The topic by its name, its id, or both, as in the message's version. `entry`: the index of
    its topic in the request, for answers that keep two entries of one topic apart.
    """

    name: Annotated[str, Kio("name", "topic")] = ""
    id: Annotated[UUID, Kio("topic_id")] = ZERO_UUID
    index: Annotated[int, Kio("partition_index", "partition", "index", ".")]
    entry: int = field(default=0, compare=False)


PartitionFields = Annotated[TopicPartition, Parts()]
_OF_TOPIC = ("entry", "name", "id")


def of_topics(*path: str, entries: bool = False) -> Rows:
    """Partitions of topics, for rows that are nothing else."""
    return Rows(*path, by=[_OF_TOPIC], entries=entries)


def in_topics(
    *path: str, entries: bool = False, unless: Callable[[Any, int], bool] | None = None
) -> Rows:
    """Partitions of topics, for rows that have a `partition`."""
    by = [tuple(f"partition.{name}" for name in _OF_TOPIC)]
    return Rows(*path, by=by, entries=entries, unless=unless)


def _read_leader(entity: Any, partition: Any) -> Endpoint | None:
    """In a version with NodeEndpoints. The listener is the one that the request came by, and has no
    name there.
    """
    leader = getattr(partition, "current_leader", partition).leader_id
    for node in getattr(entity, "node_endpoints", ()):
        if node.node_id == leader:
            return Endpoint(name="", host=node.host, port=node.port)
    return None


def _write_leader(message: Any, _version: int) -> dict[str, Any]:
    at = message.leader_endpoint
    if at is None or message.leader == NO_NODE or message.top_error:
        return {"node_endpoints": ()}
    told = SimpleNamespace(node_id=message.leader, host=at.host, port=at.port, rack=None)
    return {"node_endpoints": (told,)}


LeaderEndpoint = Annotated[Endpoint | None, Functions(_read_leader, _write_leader)]


def position(name: str, *, checks_offset: bool = False) -> Functions:
    """A tagged epoch and offset; nothing if the epoch, or the offset, is below zero."""

    def read(*structs: Any) -> LogPosition | None:
        found = getattr(structs[-1], name, None)
        if found is None or found.epoch < 0 or (checks_offset and found.end_offset < 0):
            return None
        return LogPosition(found.epoch, found.end_offset)

    def write(at: LogPosition | None) -> dict[str, Any]:
        return {} if at is None else {name: Tagged(epoch=at.epoch, end_offset=at.offset)}

    return Functions(read, value=write)


def pack_topic(out: bytearray, at: TopicPartition, count: int, *, by_id: bool) -> None:
    """The start of a topic in a flexible message (KIP-482), with that many partitions."""
    if by_id:
        out += at.id.bytes
    else:
        name = at.name.encode()
        write_unsigned(out, len(name) + 1)
        out += name
    write_unsigned(out, count + 1)


def by_topic(
    items: Iterable[T], partition_of: Callable[[T], TopicPartition]
) -> list[tuple[TopicPartition, list[T]]]:
    """One partition and all items of each topic; both in their order."""
    found: dict[tuple[int, str, int], tuple[TopicPartition, list[T]]] = {}
    for item in items:
        at = partition_of(item)
        found.setdefault((at.entry, at.name, at.id.int), (at, []))[1].append(item)
    return list(found.values())


def grouped(items: Iterable[T], partition_of: Callable[[T], TopicPartition]) -> tuple[T, ...]:
    """The results in the message's order, with those of a topic together."""
    return tuple(item for _, those in by_topic(items, partition_of) for item in those)
