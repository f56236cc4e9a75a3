"""Registration of nodes at the active controller.

ControllerRegistration (KIP-919): a controller process registers its listeners and features.
"""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from node.errors import ErrorCode
from node.ids import NO_BROKER_EPOCH, Endpoint, NodeId
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error, some_uuid

_PLAINTEXT = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredListener:
    """Its address, and its security protocol (0: plain text)."""

    endpoint: Endpoint
    security_protocol: int = _PLAINTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRange:
    """The levels of a feature that it supports."""

    name: str
    lowest: int
    highest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRegistrationRequest:
    """`incarnation` names one life of the process."""

    controller: NodeId
    incarnation: UUID
    listeners: tuple[RegisteredListener, ...]
    features: tuple[FeatureRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRegistrationResponse:
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def _read_controller(entity: Any) -> ControllerRegistrationRequest:
    return ControllerRegistrationRequest(
        controller=NodeId(entity.controller_id),
        incarnation=some_uuid(entity.incarnation_id),
        listeners=tuple(
            RegisteredListener(
                endpoint=Endpoint(name=each.name, host=each.host, port=each.port),
                security_protocol=each.security_protocol,
            )
            for each in entity.listeners
        ),
        features=tuple(
            FeatureRange(
                name=each.name,
                lowest=each.min_supported_version,
                highest=each.max_supported_version,
            )
            for each in entity.features
        ),
    )


def _write_controller(message: ControllerRegistrationRequest, kio: SimpleNamespace) -> Any:
    return kio.ControllerRegistrationRequest(
        controller_id=message.controller,
        incarnation_id=message.incarnation,
        zk_migration_ready=False,
        listeners=tuple(
            kio.Listener(
                name=each.endpoint.name,
                host=each.endpoint.host,
                port=each.endpoint.port,
                security_protocol=each.security_protocol,
            )
            for each in message.listeners
        ),
        features=tuple(
            kio.Feature(
                name=each.name,
                min_supported_version=each.lowest,
                max_supported_version=each.highest,
            )
            for each in message.features
        ),
    )


def _read_controller_response(entity: Any) -> ControllerRegistrationResponse:
    error = our_error(entity.error_code)
    return ControllerRegistrationResponse(error=error, message=entity.error_message)


def _write_controller_response(
    message: ControllerRegistrationResponse, kio: SimpleNamespace
) -> Any:
    return kio.ControllerRegistrationResponse(
        throttle_time=NO_THROTTLE, error_code=message.error, error_message=message.message
    )


CONTROLLER_REGISTRATION = Api(
    key=70,
    name="ControllerRegistration",
    package="controller_registration",
    min_version=0,
    max_version=0,
    request=ControllerRegistrationRequest,
    read_request=_read_controller,
    write_request=_write_controller,
    read_response=_read_controller_response,
    write_response=_write_controller_response,
)


# A broker's registration and heartbeats, BrokerRegistration and BrokerHeartbeat (KIP-631); and
# UnregisterBroker, by which an operator removes it.


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationRequest:
    """`incarnation` names one life of the process. `previous_epoch` is the broker epoch of its last
    life if that shut down cleanly, otherwise -1 (KIP-966).
    """

    broker: NodeId
    cluster_id: str
    incarnation: UUID
    listeners: tuple[RegisteredListener, ...]
    features: tuple[FeatureRange, ...]
    rack: str | None = None
    directories: tuple[UUID, ...] = ()
    previous_epoch: int = NO_BROKER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationResponse:
    error: ErrorCode = ErrorCode.NONE
    epoch: int = NO_BROKER_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatRequest:
    """`metadata_offset` is the last that it has replayed. `cordoned`: None if not given."""

    broker: NodeId
    epoch: int
    metadata_offset: int
    want_fence: bool
    want_shutdown: bool
    offline: tuple[UUID, ...] = ()
    cordoned: tuple[UUID, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatResponse:
    error: ErrorCode = ErrorCode.NONE
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBrokerRequest:
    broker: NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBrokerResponse:
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def _read_registration(entity: Any) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker=NodeId(entity.broker_id),
        cluster_id=entity.cluster_id,
        incarnation=some_uuid(entity.incarnation_id),
        listeners=tuple(
            RegisteredListener(
                endpoint=Endpoint(name=each.name, host=each.host, port=each.port),
                security_protocol=each.security_protocol,
            )
            for each in entity.listeners
        ),
        features=tuple(
            FeatureRange(
                name=each.name,
                lowest=each.min_supported_version,
                highest=each.max_supported_version,
            )
            for each in entity.features
        ),
        rack=entity.rack,
        directories=tuple(some_uuid(each) for each in getattr(entity, "log_dirs", ())),
        previous_epoch=getattr(entity, "previous_broker_epoch", NO_BROKER_EPOCH),
    )


def _write_registration(message: BrokerRegistrationRequest, kio: SimpleNamespace) -> Any:
    return kio.BrokerRegistrationRequest(
        broker_id=message.broker,
        cluster_id=message.cluster_id,
        incarnation_id=message.incarnation,
        listeners=tuple(
            kio.Listener(
                name=each.endpoint.name,
                host=each.endpoint.host,
                port=each.endpoint.port,
                security_protocol=each.security_protocol,
            )
            for each in message.listeners
        ),
        features=tuple(
            kio.Feature(
                name=each.name,
                min_supported_version=each.lowest,
                max_supported_version=each.highest,
            )
            for each in message.features
        ),
        rack=message.rack,
        is_migrating_zk_broker=False,
        log_dirs=message.directories,
        previous_broker_epoch=message.previous_epoch,
    )


def _read_registration_response(entity: Any) -> BrokerRegistrationResponse:
    return BrokerRegistrationResponse(error=our_error(entity.error_code), epoch=entity.broker_epoch)


def _write_registration_response(message: BrokerRegistrationResponse, kio: SimpleNamespace) -> Any:
    return kio.BrokerRegistrationResponse(
        throttle_time=NO_THROTTLE, error_code=message.error, broker_epoch=message.epoch
    )


def _read_heartbeat(entity: Any) -> BrokerHeartbeatRequest:
    cordoned = getattr(entity, "cordoned_log_dirs", None)
    return BrokerHeartbeatRequest(
        broker=NodeId(entity.broker_id),
        epoch=entity.broker_epoch,
        metadata_offset=entity.current_metadata_offset,
        want_fence=entity.want_fence,
        want_shutdown=entity.want_shut_down,
        offline=tuple(some_uuid(each) for each in getattr(entity, "offline_log_dirs", ())),
        cordoned=None if cordoned is None else tuple(some_uuid(each) for each in cordoned),
    )


def _write_heartbeat(message: BrokerHeartbeatRequest, kio: SimpleNamespace) -> Any:
    return kio.BrokerHeartbeatRequest(
        broker_id=message.broker,
        broker_epoch=message.epoch,
        current_metadata_offset=message.metadata_offset,
        want_fence=message.want_fence,
        want_shut_down=message.want_shutdown,
        offline_log_dirs=message.offline,
        cordoned_log_dirs=message.cordoned,
    )


def _read_heartbeat_response(entity: Any) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(
        error=our_error(entity.error_code),
        is_caught_up=entity.is_caught_up,
        is_fenced=entity.is_fenced,
        should_shut_down=entity.should_shut_down,
    )


def _write_heartbeat_response(message: BrokerHeartbeatResponse, kio: SimpleNamespace) -> Any:
    return kio.BrokerHeartbeatResponse(
        throttle_time=NO_THROTTLE,
        error_code=message.error,
        is_caught_up=message.is_caught_up,
        is_fenced=message.is_fenced,
        should_shut_down=message.should_shut_down,
    )


def _read_unregistration(entity: Any) -> UnregisterBrokerRequest:
    return UnregisterBrokerRequest(broker=NodeId(entity.broker_id))


def _write_unregistration(message: UnregisterBrokerRequest, kio: SimpleNamespace) -> Any:
    return kio.UnregisterBrokerRequest(broker_id=message.broker)


def _read_unregistration_response(entity: Any) -> UnregisterBrokerResponse:
    error = our_error(entity.error_code)
    return UnregisterBrokerResponse(error=error, message=entity.error_message)


def _write_unregistration_response(message: UnregisterBrokerResponse, kio: SimpleNamespace) -> Any:
    return kio.UnregisterBrokerResponse(
        throttle_time=NO_THROTTLE, error_code=message.error, error_message=message.message
    )


BROKER_REGISTRATION = Api(
    key=62,
    name="BrokerRegistration",
    package="broker_registration",
    min_version=0,
    max_version=4,
    request=BrokerRegistrationRequest,
    read_request=_read_registration,
    write_request=_write_registration,
    read_response=_read_registration_response,
    write_response=_write_registration_response,
)
BROKER_HEARTBEAT = Api(
    key=63,
    name="BrokerHeartbeat",
    package="broker_heartbeat",
    min_version=0,
    max_version=2,
    request=BrokerHeartbeatRequest,
    read_request=_read_heartbeat,
    write_request=_write_heartbeat,
    read_response=_read_heartbeat_response,
    write_response=_write_heartbeat_response,
)
UNREGISTER_BROKER = Api(
    key=64,
    name="UnregisterBroker",
    package="unregister_broker",
    min_version=0,
    max_version=0,
    request=UnregisterBrokerRequest,
    read_request=_read_unregistration,
    write_request=_write_unregistration,
    read_response=_read_unregistration_response,
    write_response=_write_unregistration_response,
)
