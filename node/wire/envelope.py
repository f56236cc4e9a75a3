"""Envelope: a broker forwards a client's request that only the active controller can handle
(KIP-590). The request and the response inside have their own headers.
"""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import our_error

_LOOPBACK = b"\x7f\0\0\1"  # the controller does not use the client's address


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeRequest:
    """`frame` is a request as a client would send it."""

    frame: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeResponse:
    """`frame` is the response to that request; with an error, there is none."""

    error: ErrorCode = ErrorCode.NONE
    frame: bytes | None = None


def enveloped(response: Any, frame: bytes) -> EnvelopeResponse:
    """An answer, and its frame. NOT_CONTROLLER becomes the envelope's error: the broker then looks
    for the active controller, and the client never sees it.
    """
    if _is_of_standby(response):
        return EnvelopeResponse(error=ErrorCode.NOT_CONTROLLER)
    return EnvelopeResponse(frame=frame)


def _is_of_standby(response: Any) -> bool:
    """Does any error in it say so?"""
    names = {each.name for each in fields(response)}
    parts = (response, *(response.results if "results" in names else ()))
    return any(getattr(part, "error", None) == ErrorCode.NOT_CONTROLLER for part in parts)


def _read_request(entity: Any) -> EnvelopeRequest:
    return EnvelopeRequest(frame=entity.request_data)


def _write_request(message: EnvelopeRequest, kio: SimpleNamespace) -> Any:
    return kio.EnvelopeRequest(
        request_data=message.frame, request_principal=None, client_host_address=_LOOPBACK
    )


def _read_response(entity: Any) -> EnvelopeResponse:
    return EnvelopeResponse(error=our_error(entity.error_code), frame=entity.response_data)


def _write_response(message: EnvelopeResponse, kio: SimpleNamespace) -> Any:
    return kio.EnvelopeResponse(response_data=message.frame, error_code=message.error)


ENVELOPE = Api(
    key=58,
    name="Envelope",
    package="envelope",
    min_version=0,
    max_version=0,
    request=EnvelopeRequest,
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
)
