"""Partitions of topics in messages of the data plane, which name topics or have their ids."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from node.ids import ZERO_UUID
from node.wire.entities import some_uuid

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartition:
    """Of the topic, what the version of the message says: its name, its id, or both."""

    name: str = ""
    id: UUID = ZERO_UUID
    index: int


def read_partition(topic: Any, index: int) -> TopicPartition:
    name = getattr(topic, "topic", None) or getattr(topic, "name", None) or ""
    return TopicPartition(name=name, id=some_uuid(getattr(topic, "topic_id", None)), index=index)


def by_topic(
    items: Iterable[T], partition_of: Callable[[T], TopicPartition]
) -> list[tuple[TopicPartition, list[T]]]:
    """One of each topic's partitions, and all items of that topic; both in their order."""
    found: dict[tuple[str, UUID], tuple[TopicPartition, list[T]]] = {}
    for item in items:
        at = partition_of(item)
        found.setdefault((at.name, at.id), (at, []))[1].append(item)
    return list(found.values())
