"""ControllerRegistration (KIP-919): a controller process tells the active one of itself."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import NodeId
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error, some_uuid

_PLAINTEXT = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredListener:
    """Where it can be reached, and by which security protocol (0: in plain text)."""

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


def _read_registration(entity: Any) -> ControllerRegistrationRequest:
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


def _write_registration(message: ControllerRegistrationRequest, kio: SimpleNamespace) -> Any:
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


def _read_registration_response(entity: Any) -> ControllerRegistrationResponse:
    error = our_error(entity.error_code)
    return ControllerRegistrationResponse(error=error, message=entity.error_message)


def _write_registration_response(
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
    read_request=_read_registration,
    write_request=_write_registration,
    read_response=_read_registration_response,
    write_response=_write_registration_response,
)
