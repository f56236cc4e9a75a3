"""Translation between our messages and kio's classes that several families of requests need."""

from collections.abc import Callable, Iterable
from dataclasses import field
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, TypeVar
from uuid import UUID

from node.codec.varint import write_unsigned
from node.errors import ErrorCode
from node.ids import METADATA_TOPIC, METADATA_TOPIC_ID, NO_NODE, ZERO_UUID, Endpoint, NodeId
from node.lazy_dataclass import dataclass

NO_THROTTLE = timedelta(0)
_MILLISECOND = timedelta(milliseconds=1)
_BY_NUMBER = {code.value: code for code in ErrorCode}


def our_error(number: int) -> ErrorCode:
    """Codes that our controllers never send become one and the same error."""
    return _BY_NUMBER.get(number, ErrorCode.UNKNOWN_SERVER_ERROR)


def milliseconds(value: timedelta) -> int:
    return value // _MILLISECOND


def top_error(entity: Any) -> ErrorCode:
    """An answer without our partition is an error, whether it has an error code or not."""
    return our_error(entity.error_code) or ErrorCode.UNKNOWN_SERVER_ERROR


def some_uuid(value: UUID | None) -> UUID:
    """kio reads the zero uuid as None."""
    return ZERO_UUID if value is None else value


def metadata_partition(topics: Iterable[Any]) -> Any | None:
    """The one partition of the one topic, if it is `__cluster_metadata`-0; otherwise None.

    Before Fetch v13 topics are named, from then on they have ids. The field is called
    `partition_index` everywhere but in Fetch and FetchSnapshot.
    """
    match tuple(topics):
        case (topic,) if len(topic.partitions) == 1 and _is_metadata(topic):
            partition = topic.partitions[0]
        case _:
            return None
    names = ("partition_index", "partition", "index")
    index = next(getattr(partition, name) for name in names if hasattr(partition, name))
    return partition if index == 0 else None


def _is_metadata(topic: Any) -> bool:
    if hasattr(topic, "topic_id"):
        return bool(topic.topic_id == METADATA_TOPIC_ID)
    names = (getattr(topic, field, None) for field in ("topic_name", "topic", "name"))
    return METADATA_TOPIC in names


def metadata_topics(kio: SimpleNamespace, **partition: Any) -> tuple[Any, ...]:
    """The topics of a message of the quorum, with its one partition."""
    data = kio.PartitionData(partition_index=0, **partition)
    return (kio.TopicData(topic_name=METADATA_TOPIC, partitions=(data,)),)


def listeners(endpoints: tuple[Endpoint, ...], make: Any) -> tuple[Any, ...]:
    return tuple(make(name=e.name, host=e.host, port=e.port) for e in endpoints)


def endpoints(entity: Any, field: str) -> tuple[Endpoint, ...]:
    """The endpoints in a field that older versions lack."""
    found = getattr(entity, field, ())
    return tuple(Endpoint(name=e.name, host=e.host, port=e.port) for e in found)


def node_endpoints(
    leader: NodeId, endpoint: Endpoint | None, kio: SimpleNamespace
) -> tuple[Any, ...]:
    """The tagged NodeEndpoints of an answer: the leader's address, if that is known."""
    if endpoint is None or leader == NO_NODE:
        return ()
    return (kio.NodeEndpoint(node_id=leader, host=endpoint.host, port=endpoint.port),)


def leader_endpoint(entity: Any, leader: NodeId) -> Endpoint | None:
    """The inverse: the leader's address in a version with NodeEndpoints. The listener is the one
    that the request came by, and has no name there.
    """
    for node in getattr(entity, "node_endpoints", ()):
        if node.node_id == leader:
            return Endpoint(name="", host=node.host, port=node.port)
    return None


# Partitions of topics in messages of the data plane, which name topics or have their ids.


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartition:
    """The topic by its name, its id, or both, as in the message's version. `entry`: the index of
    its topic in the request, for answers that keep two entries of one topic apart.
    """

    name: str = ""
    id: UUID = ZERO_UUID
    index: int
    entry: int = field(default=0, compare=False)


def read_partition(topic: Any, index: int, entry: int = 0) -> TopicPartition:
    name = getattr(topic, "topic", None) or getattr(topic, "name", None) or ""
    id_ = some_uuid(getattr(topic, "topic_id", None))
    return TopicPartition(name=name, id=id_, index=index, entry=entry)


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
