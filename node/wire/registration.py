"""Registration of nodes at the active controller.

ControllerRegistration (KIP-919): a controller process registers its listeners and features.
"""

from typing import Annotated
from uuid import UUID

from node.errors import ErrorCode
from node.ids import NO_BROKER_EPOCH, Endpoint, NodeId
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.declared import Error, Message, Parts

_PLAINTEXT = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredListener:
    """Its address, and its security protocol (0: plain text)."""

    endpoint: Annotated[Endpoint, Parts()]
    security_protocol: int = _PLAINTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRange:
    """The levels of a feature that it supports."""

    name: str
    lowest: Annotated[int, "min_supported_version"]
    highest: Annotated[int, "max_supported_version"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRegistrationRequest:
    """`incarnation` names one life of the process."""

    controller: Annotated[NodeId, "controller_id"]
    incarnation: Annotated[UUID, "incarnation_id"]
    listeners: tuple[RegisteredListener, ...]
    features: tuple[FeatureRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRegistrationResponse:
    error: Error = ErrorCode.NONE
    message: Message = None


CONTROLLER_REGISTRATION = Api(
    70,
    "ControllerRegistration",
    0,
    0,
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)


# A broker's registration and heartbeats, BrokerRegistration and BrokerHeartbeat (KIP-631); and
# UnregisterBroker, by which an operator removes it.


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationRequest:
    """`incarnation` names one life of the process. `previous_epoch` is the broker epoch of its last
    life if that shut down cleanly, otherwise -1 (KIP-966).
    """

    broker: Annotated[NodeId, "broker_id"]
    cluster_id: str
    incarnation: Annotated[UUID, "incarnation_id"]
    listeners: tuple[RegisteredListener, ...]
    features: tuple[FeatureRange, ...]
    rack: str | None = None
    directories: Annotated[tuple[UUID, ...], "log_dirs"] = ()
    previous_epoch: Annotated[int, "previous_broker_epoch"] = NO_BROKER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationResponse:
    error: Error = ErrorCode.NONE
    epoch: Annotated[int, "broker_epoch"] = NO_BROKER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatRequest:
    """`metadata_offset` is the last that it has replayed. `cordoned`: None if not given."""

    broker: Annotated[NodeId, "broker_id"]
    epoch: Annotated[int, "broker_epoch"]
    metadata_offset: Annotated[int, "current_metadata_offset"]
    want_fence: bool
    want_shutdown: Annotated[bool, "want_shut_down"]
    offline: Annotated[tuple[UUID, ...], "offline_log_dirs"] = ()
    cordoned: Annotated[tuple[UUID, ...] | None, "cordoned_log_dirs"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatResponse:
    error: Error = ErrorCode.NONE
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBrokerRequest:
    broker: Annotated[NodeId, "broker_id"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBrokerResponse:
    error: Error = ErrorCode.NONE
    message: Message = None


BROKER_REGISTRATION = Api(
    62, "BrokerRegistration", 0, 4, BrokerRegistrationRequest, BrokerRegistrationResponse
)
BROKER_HEARTBEAT = Api(63, "BrokerHeartbeat", 0, 2, BrokerHeartbeatRequest, BrokerHeartbeatResponse)
UNREGISTER_BROKER = Api(
    64, "UnregisterBroker", 0, 0, UnregisterBrokerRequest, UnregisterBrokerResponse
)
