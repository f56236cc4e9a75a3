"""Envelope: a broker forwards a client's request that only the active controller can handle
(KIP-590). The request and the response inside have their own headers.
"""

from dataclasses import fields
from typing import Annotated, Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.declared import Error

_LOOPBACK = b"\x7f\0\0\1"  # the controller does not use the client's address


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeRequest:
    """`frame` is a request as a client would send it."""

    frame: Annotated[bytes, "request_data"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeResponse:
    """`frame` is the response to that request; with an error, there is none."""

    error: Error = ErrorCode.NONE
    frame: Annotated[bytes | None, "response_data"] = None


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


ENVELOPE = Api(
    58,
    "Envelope",
    0,
    0,
    EnvelopeRequest,
    EnvelopeResponse,
    always=(("client_host_address", _LOOPBACK),),
)
