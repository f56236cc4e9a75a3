"""Between our messages and kio's classes: what every family of requests needs."""

from collections.abc import Iterable
from dataclasses import fields
from datetime import timedelta
from functools import cache
from types import ModuleType
from typing import Any
from uuid import UUID

from kio.schema.errors import ErrorCode as KioErrorCode

from node.errors import ErrorCode
from node.ids import METADATA_TOPIC, METADATA_TOPIC_ID, NO_NODE, ZERO_UUID, NodeId
from node.messages import Endpoint

NO_THROTTLE = timedelta(0)
_KIO_ERRORS = {code: KioErrorCode(code.value) for code in ErrorCode}
_OUR_ERRORS = {kio_code: code for code, kio_code in _KIO_ERRORS.items()}


def build(message_class: Any, **values: Any) -> Any:
    """An instance of the class; fields that its version does not have yet are left out."""
    known = _names(message_class)
    if not values.keys() <= known:
        values = {name: value for name, value in values.items() if name in known}
    return message_class(**values)


@cache
def _names(message_class: Any) -> frozenset[str]:
    return frozenset(field.name for field in fields(message_class))


def kio_error(code: ErrorCode) -> KioErrorCode:
    return _KIO_ERRORS[code]


def our_error(code: KioErrorCode) -> ErrorCode:
    """Codes that no controller of ours sends are all the same to us."""
    return _OUR_ERRORS.get(code, ErrorCode.UNKNOWN_SERVER_ERROR)


def some_uuid(value: UUID | None) -> UUID:
    """kio reads the zero uuid as None."""
    return ZERO_UUID if value is None else value


def metadata_partition(topics: Iterable[Any]) -> Any | None:
    """The one partition of the one topic, if it is `__cluster_metadata`-0; else None.

    Before Fetch v13 topics are named, from then on they have ids. The field is called
    `partition_index` everywhere but in Fetch.
    """
    match tuple(topics):
        case (topic,) if len(topic.partitions) == 1 and _is_metadata(topic):
            partition = topic.partitions[0]
        case _:
            return None
    index = getattr(partition, "partition_index", None)
    return partition if (partition.partition if index is None else index) == 0 else None


def _is_metadata(topic: Any) -> bool:
    if hasattr(topic, "topic_id"):
        return bool(topic.topic_id == METADATA_TOPIC_ID)
    return getattr(topic, "topic_name", None) == METADATA_TOPIC or (
        getattr(topic, "topic", None) == METADATA_TOPIC
    )


def listeners(endpoints: tuple[Endpoint, ...], struct: type[Any]) -> tuple[Any, ...]:
    return tuple(struct(name=e.name, host=e.host, port=e.port) for e in endpoints)


def endpoints(entity: Any, field: str) -> tuple[Endpoint, ...]:
    """The endpoints in a field that older versions lack."""
    found = getattr(entity, field, ())
    return tuple(Endpoint(name=e.name, host=e.host, port=e.port) for e in found)


def node_endpoints(
    leader: NodeId, endpoint: Endpoint | None, kio: ModuleType
) -> dict[str, tuple[Any, ...]]:
    """The tagged NodeEndpoints of an answer: where the leader is, if that is known."""
    if endpoint is None or leader == NO_NODE or not hasattr(kio, "NodeEndpoint"):
        return {}
    entry = kio.NodeEndpoint(node_id=leader, host=endpoint.host, port=endpoint.port)
    return {"node_endpoints": (entry,)}


def leader_endpoint(entity: Any, leader: NodeId) -> Endpoint | None:
    """The leader's address out of NodeEndpoints, which does not tell the listener's name."""
    for node in getattr(entity, "node_endpoints", ()):
        if node.node_id == leader:
            return Endpoint(name="", host=node.host, port=node.port)
    return None
