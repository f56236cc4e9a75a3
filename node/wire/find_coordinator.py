"""FindCoordinator 0-6: which broker coordinates a group, or a transactional id."""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.ids import NO_NODE, NodeId
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error

GROUP, TRANSACTION = 0, 1  # types of keys
_FIRST_WITH_SEVERAL = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorRequest:
    """One key before version 4."""

    keys: tuple[str, ...]
    key_type: int = GROUP


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    key: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    node: NodeId = NO_NODE
    host: str = ""
    port: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorResponse:
    """One for each key."""

    coordinators: tuple[Coordinator, ...]


def _read_request(entity: Any) -> FindCoordinatorRequest:
    several = hasattr(entity, "coordinator_keys")
    return FindCoordinatorRequest(
        keys=entity.coordinator_keys if several else (entity.key,),
        key_type=getattr(entity, "key_type", GROUP),
    )


def _write_request(message: FindCoordinatorRequest, kio: SimpleNamespace) -> Any:
    return kio.FindCoordinatorRequest(
        key=message.keys[0], key_type=message.key_type, coordinator_keys=message.keys
    )


def _read_response(entity: Any) -> FindCoordinatorResponse:
    """Before version 4 it does not say whose coordinator it is."""
    found = getattr(entity, "coordinators", (entity,))
    return FindCoordinatorResponse(
        coordinators=tuple(
            Coordinator(
                key=getattr(each, "key", ""),
                error=our_error(each.error_code),
                message=getattr(each, "error_message", None),
                node=NodeId(each.node_id),
                host=each.host,
                port=each.port,
            )
            for each in found
        )
    )


def _write_response(message: FindCoordinatorResponse, kio: SimpleNamespace) -> Any:
    if kio.version < _FIRST_WITH_SEVERAL:
        only = message.coordinators[0]
        return kio.FindCoordinatorResponse(throttle_time=NO_THROTTLE, **_fields(only))
    return kio.FindCoordinatorResponse(
        throttle_time=NO_THROTTLE,
        coordinators=tuple(
            kio.Coordinator(key=each.key, **_fields(each)) for each in message.coordinators
        ),
    )


def _fields(found: Coordinator) -> dict[str, Any]:
    return {
        "error_code": found.error,
        "error_message": found.message,
        "node_id": found.node,
        "host": found.host,
        "port": found.port,
    }


FIND_COORDINATOR = Api(
    key=10,
    name="FindCoordinator",
    package="find_coordinator",
    min_version=0,
    max_version=6,
    request=FindCoordinatorRequest,
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
)
