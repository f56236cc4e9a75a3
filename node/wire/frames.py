"""Encoding and decoding of frames: the functions that the rest of the node uses."""

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from node import limits
from node.codec import (
    UnencodableMessage,
    read_whole,
    struct_reader,
    struct_writer,
    write_into,
    write_whole,
)
from node.effects import Piece, Spliced
from node.errors import ErrorCode
from node.wire.api import Api, kio_class
from node.wire.api_versions import API_VERSIONS, ApiVersionsRequest
from node.wire.apis import BY_KEY, BY_REQUEST, Request, Response
from node.wire.headers import (
    MalformedFrame,
    RequestHeader,
    read_api,
    read_request_header,
    read_response_header,
    request_header,
    response_header,
)

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
