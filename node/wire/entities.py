"""Between our messages and kio's classes: what several families of requests need."""

from collections.abc import Iterable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import METADATA_TOPIC, METADATA_TOPIC_ID, NO_NODE, ZERO_UUID, NodeId

NO_THROTTLE = timedelta(0)
_MILLISECOND = timedelta(milliseconds=1)
_BY_NUMBER = {code.value: code for code in ErrorCode}


def our_error(number: int) -> ErrorCode:
    """Codes that no controller of ours sends are all the same to us."""
    return _BY_NUMBER.get(number, ErrorCode.UNKNOWN_SERVER_ERROR)


def milliseconds(value: timedelta) -> int:
    return value // _MILLISECOND


def top_error(entity: Any) -> ErrorCode:
    """An answer without our partition is an error, whether it says so or not."""
    return our_error(entity.error_code) or ErrorCode.UNKNOWN_SERVER_ERROR


def some_uuid(value: UUID | None) -> UUID:
    """kio reads the zero uuid as None."""
    return ZERO_UUID if value is None else value


def metadata_partition(topics: Iterable[Any]) -> Any | None:
    """The one partition of the one topic, if it is `__cluster_metadata`-0; else None.

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
    """The tagged NodeEndpoints of an answer: where the leader is, if that is known."""
    if endpoint is None or leader == NO_NODE:
        return ()
    return (kio.NodeEndpoint(node_id=leader, host=endpoint.host, port=endpoint.port),)


def leader_endpoint(entity: Any, leader: NodeId) -> Endpoint | None:
    """The inverse: what a version that has NodeEndpoints tells of the leader. The listener is the
    one that was asked by, and has no name there."""
    for node in getattr(entity, "node_endpoints", ()):
        if node.node_id == leader:
            return Endpoint(name="", host=node.host, port=node.port)
    return None
