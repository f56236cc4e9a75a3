"""Request and response headers: the bytes before every message.

A flexible message has a request header v2 and a response header v1 (with tagged fields), others v1
and v0. One exception: an ApiVersions response always has header v0, so that a client of any age can
read it. The client id keeps its old two-byte length even in header v2.
"""

import struct

from node.codec import TooManyElements
from node.codec.reader import skip_tags
from node.lazy_dataclass import dataclass

# The error on which a node closes the connection.


class MalformedFrame(Exception):
    """Not a frame of this protocol, or of a version that is not served: close, as Kafka does."""

    @property
    def is_too_large(self) -> bool:
        """It has more elements than the limit: its sender may be honest."""
        return isinstance(self.__cause__, TooManyElements)


_START = struct.Struct(">hhih")
_CORRELATION = struct.Struct(">i")
NO_TAGS = b"\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeader:
    """What an answer must repeat, or is encoded by. `request_type`: of a request that we sent, its
    type, if two have one key.
    """

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    request_type: type | None = None


def read_api(frame: bytes) -> tuple[int, int]:
    """The API key and version that a frame begins with."""
    if len(frame) < _START.size:
        raise MalformedFrame(f"a request of {len(frame)} bytes")
    api_key, api_version, _, _ = _START.unpack_from(frame)
    return api_key, api_version


def read_request_header(frame: bytes, *, flexible: bool) -> tuple[RequestHeader, int]:
    """The header, and where the body begins."""
    if len(frame) < _START.size:
        raise MalformedFrame(f"a request of {len(frame)} bytes")
    api_key, api_version, correlation_id, length = _START.unpack_from(frame)
    at = _START.size
    client_id = None
    if length >= 0:
        raw = frame[at : at + length]
        if len(raw) < length:
            raise MalformedFrame(f"a client id of {length} bytes, {len(raw)} left")
        at += length
        try:
            client_id = raw.decode()
        except UnicodeDecodeError as error:
            raise MalformedFrame(f"client id: {error}") from error
    elif length != -1:
        raise MalformedFrame(f"a client id of {length} bytes")
    header = RequestHeader(
        api_key=api_key,
        api_version=api_version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    return header, _skip(frame, at) if flexible else at


def request_header(header: RequestHeader, *, flexible: bool) -> bytes:
    client_id = b"" if header.client_id is None else header.client_id.encode()
    length = -1 if header.client_id is None else len(client_id)
    start = _START.pack(header.api_key, header.api_version, header.correlation_id, length)
    return start + client_id + (NO_TAGS if flexible else b"")


def read_response_header(frame: bytes, *, tagged: bool) -> tuple[int, int]:
    """The correlation id, and where the body begins."""
    if len(frame) < _CORRELATION.size:
        raise MalformedFrame(f"a response of {len(frame)} bytes")
    (correlation_id,) = _CORRELATION.unpack_from(frame)
    return correlation_id, _skip(frame, _CORRELATION.size) if tagged else _CORRELATION.size


def response_header(correlation_id: int, *, tagged: bool) -> bytes:
    return _CORRELATION.pack(correlation_id) + (NO_TAGS if tagged else b"")


def _skip(frame: bytes, at: int) -> int:
    try:
        return skip_tags(frame, at)
    except (ValueError, IndexError) as error:
        raise MalformedFrame(f"tagged fields of a header: {error}") from error
