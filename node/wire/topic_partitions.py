"""Partitions of topics in messages of the data plane, which name topics or have their ids."""

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any, TypeVar
from uuid import UUID

from node.codec.varint import write_unsigned
from node.ids import ZERO_UUID
from node.lazy_dataclass import dataclass
from node.wire.entities import some_uuid

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartition:
    """Of the topic, what the version of the message says: its name, its id, or both. `entry`: which
    one of a request's topics names it, where answers keep apart what two of them name."""

    name: str = ""
    id: UUID = ZERO_UUID
    index: int
    entry: int = field(default=0, compare=False)


def read_partition(topic: Any, index: int, entry: int = 0) -> TopicPartition:
    name = getattr(topic, "topic", None) or getattr(topic, "name", None) or ""
    id_ = some_uuid(getattr(topic, "topic_id", None))
    return TopicPartition(name=name, id=id_, index=index, entry=entry)


def pack_topic(out: bytearray, at: TopicPartition, count: int, *, by_id: bool) -> None:
    """How a topic begins in a flexible message (KIP-482), and so many of its partitions."""
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
    """One of each topic's partitions, and all items of that topic; both in their order."""
    found: dict[tuple[int, str, int], tuple[TopicPartition, list[T]]] = {}
    for item in items:
        at = partition_of(item)
        found.setdefault((at.entry, at.name, at.id.int), (at, []))[1].append(item)
    return list(found.values())


def grouped(items: Iterable[T], partition_of: Callable[[T], TopicPartition]) -> tuple[T, ...]:
    """In the order in which a message names them: those of a topic together."""
    return tuple(item for _, those in by_topic(items, partition_of) for item in those)
