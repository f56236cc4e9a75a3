"""Encoding and decoding of frames: the functions that the rest of the node uses.

Request and response headers: the bytes before every message.

A flexible message has a request header v2 and a response header v1 (with tagged fields), others v1
and v0. One exception: an ApiVersions response always has header v0, so that a client of any age can
read it. The client id keeps its old two-byte length even in header v2.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from node import limits
from node.codec import (
    TooManyElements,
    UnencodableMessage,
    read_whole,
    struct_reader,
    struct_writer,
    write_into,
    write_whole,
)
from node.codec.reader import skip_tags
from node.effects import Piece, Spliced
from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api, kio_class
from node.wire.api_versions import API_VERSIONS, ApiVersionsRequest
from node.wire.apis import BY_KEY, BY_REQUEST, Request, Response

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


# How a response to ApiVersions begins, behind its header, if the server does not know the request's
# version: that response is in version 0 (KIP-511).
_NOT_THAT_VERSION = ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
# The header of an ApiVersions request can be read even in an unknown version.
_FIRST_FLEXIBLE_API_VERSIONS = 3


def decode_request(
    frame: bytes, served: Mapping[int, Api] = BY_KEY
) -> tuple[RequestHeader, Request]:
    """A frame as it was sent, to a node that serves these APIs.

    Raises MalformedFrame where Kafka closes the connection: a frame that cannot be parsed, an
    unknown API, a version that is not served. ApiVersions in an unknown version is a valid request.
    """
    key, version = read_api(frame)
    api = served.get(key)
    if api is None:
        raise MalformedFrame(f"unknown API key {key}")
    if not api.serves(version):
        if api is not API_VERSIONS:
            raise MalformedFrame(f"{api.name} version {version} is not served")
        flexible = version >= _FIRST_FLEXIBLE_API_VERSIONS
        header, _ = read_request_header(frame, flexible=flexible)
        return header, ApiVersionsRequest(supported=False)
    request_class = kio_class(api.package, api.name, version, "request")
    header, at = read_request_header(frame, flexible=request_class.__flexible__)
    known: Request | None = api.unpack_request(frame, at, version)
    if known is not None:
        return header, known
    entity = read_whole(
        request_class,
        frame,
        at,
        MalformedFrame,
        may_be_followed=api.may_be_followed,
        most=api.size[0],
    )
    request: Request = api.to_ours(api.request, entity)
    return header, request


def encode_response(
    header: RequestHeader, response: Response, served: Mapping[int, Api] = BY_KEY
) -> bytes:
    """The answer to the request with this header, in its version (ApiVersions: in 0 if unknown).

    Raises UnencodableMessage, also on an answer above the size limit.
    """
    api = served[header.api_key]
    frame = packed_response(api, header, response) or written_response(api, header, response)
    if len(frame) > limits.MAX_FRAME_BYTES:
        raise UnencodableMessage(f"an answer of {len(frame)} bytes")
    return frame


def encode_pieces(
    header: RequestHeader, response: Response, served: Mapping[int, Api] = BY_KEY
) -> tuple[Piece, ...]:
    """As `encode_response`, for an answer that has slices."""
    api = served[header.api_key]
    kind = kio_class(api.package, api.name, header.api_version, "response")
    out = Spliced(response_header(header.correlation_id, tagged=_tagged(api, kind)))
    write_into(out, api.to_kio(response, kind), kind=kind)
    pieces = out.pieces()
    size = sum(map(len, pieces))
    if size > limits.MAX_FRAME_BYTES:
        raise UnencodableMessage(f"an answer of {size} bytes")
    return pieces


def encode_request(
    request: Request, *, correlation_id: int, client_id: str, version: int | None = None
) -> tuple[RequestHeader, bytes]:
    """A request in the newest version, unless another is given, and its header."""
    api = BY_REQUEST[type(request)]
    header = RequestHeader(
        api_key=api.key,
        api_version=api.max_version if version is None else version,
        correlation_id=correlation_id,
        client_id=client_id,
        request_type=type(request) if BY_KEY.get(api.key) is not api else None,
    )
    return header, packed(api, header, request) or written(api, header, request)


def packed(api: Api, header: RequestHeader, request: Request) -> bytes | None:
    """The frame without kio's classes; None for most messages."""
    try:
        body = api.pack_request(request, header.api_version)
    except (struct.error, UnicodeEncodeError):
        return None  # it cannot be encoded: kio's classes report why
    return None if body is None else request_header(header, flexible=True) + body


def written(api: Api, header: RequestHeader, request: Request) -> bytes:
    """The frame by kio's classes, for any message. Raises UnencodableMessage."""
    kind = kio_class(api.package, api.name, header.api_version, "request")
    body = write_whole(api.to_kio(request, kind), kind=kind)
    return request_header(header, flexible=kind.__flexible__) + body


def packed_response(api: Api, header: RequestHeader, response: Response) -> bytes | None:
    """As `packed`."""
    try:
        body = api.pack_response(response, header.api_version)
    except (struct.error, UnicodeEncodeError):
        return None
    if body is None:
        return None
    tagged = header.api_version >= api.packed_flexible
    return response_header(header.correlation_id, tagged=tagged) + body


def written_response(api: Api, header: RequestHeader, response: Response) -> bytes:
    """As `written`."""
    version = header.api_version if api.serves(header.api_version) else 0
    kind = kio_class(api.package, api.name, version, "response")
    body = write_whole(api.to_kio(response, kind), kind=kind)
    return response_header(header.correlation_id, tagged=_tagged(api, kind)) + body


def decode_response(header: RequestHeader, frame: bytes) -> Response:
    """The answer to the request with this header. Raises MalformedFrame if it is not one."""
    api = BY_KEY[header.api_key] if header.request_type is None else BY_REQUEST[header.request_type]
    version = header.api_version
    if api is API_VERSIONS and frame[4:6] == _NOT_THAT_VERSION:
        version = 0
    response_class = kio_class(api.package, api.name, version, "response")
    correlation_id, at = read_response_header(frame, tagged=_tagged(api, response_class))
    if correlation_id != header.correlation_id:
        raise MalformedFrame(
            f"answer to request {correlation_id}, not to {header.correlation_id} ({api.name})"
        )
    known: Response | None = api.unpack_response(frame, at, version)
    if known is not None:
        return known
    entity = read_whole(response_class, frame, at, MalformedFrame, most=api.size[1])
    response: Response = api.to_ours(api.response, entity)
    return response


def load_codecs(apis: Iterable[Api] = BY_REQUEST.values()) -> Iterator[None]:
    """Import all that these functions otherwise import on demand, for these APIs, and make the
    readers of requests and the writers of responses: of one message for each value taken, some
    milliseconds. A node sends few requests itself; their codecs are made with the first.
    """
    for api in apis:
        for version in range(api.min_version, api.max_version + 1):
            struct_reader(kio_class(api.package, api.name, version, "request"), None)
            yield
            struct_writer(kio_class(api.package, api.name, version, "response"), None)
            api.prepare(version)
            yield


def _tagged(api: Api, kind: Any) -> bool:
    return api is not API_VERSIONS and bool(kind.__flexible__)
