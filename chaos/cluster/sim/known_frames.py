"""What nodes fetch from each other is not read again where it arrives as it was sent.

Nor is what two followers are told encoded twice. Both ends live in this process, and reading was a
tenth of what a run cost. A frame is known by all its bytes: one that was damaged or cut short, or
that somebody else wrote, is read. So is one of some that are known, and it has to say what it was
written from.
"""

from collections.abc import Hashable
from typing import TypeVar

from node import wire
from node.wire.apis import OutgoingRequest, Request, Response
from node.wire.fetch import FetchRequest, FetchResponse
from node.wire.headers import RequestHeader

_READ_ALL_THE_SAME = 16  # one of so many
_CORRELATION_BYTES = 4  # at the start of an answer; the only ones that are not of the message
_MOST_UNDER_WAY = 1000  # the oldest were lost on their way

T = TypeVar("T")


class KnownFrames:
    """The frames of one cluster; does what `node.wire` does."""

    def __init__(self) -> None:
        self._requests: dict[Hashable, tuple[RequestHeader, FetchRequest]] = {}
        self._responses: dict[Hashable, FetchResponse] = {}
        self._told: tuple[int, FetchResponse | None, bytes] = (0, None, b"")  # the last one
        self._met = 0

    def encode_request(
        self, request: OutgoingRequest, *, correlation_id: int, client_id: str
    ) -> tuple[RequestHeader, bytes]:
        header, frame = wire.encode_request(
            request, correlation_id=correlation_id, client_id=client_id
        )
        if isinstance(request, FetchRequest):
            _keep(self._requests, frame, (header, request))
        return header, frame

    def decode_request(self, frame: bytes) -> tuple[RequestHeader, Request]:
        known = self._requests.pop(frame, None)
        if known is None:
            return wire.decode_request(frame)
        if self._is_read():
            read = wire.decode_request(frame)
            assert read == known, f"{known} is read as {read}"
        return known

    def encode_response(self, header: RequestHeader, response: Response) -> bytes:
        if not isinstance(response, FetchResponse):
            return wire.encode_response(header, response)
        version, told, frame = self._told
        if (version, told) == (header.api_version, response):  # another follower, just now
            frame = (
                header.correlation_id.to_bytes(_CORRELATION_BYTES, "big")
                + frame[_CORRELATION_BYTES:]
            )
        else:
            frame = wire.encode_response(header, response)
            self._told = (header.api_version, response, frame)
        _keep(self._responses, (header.api_version, frame), response)
        return frame

    def decode_response(self, header: RequestHeader, frame: bytes) -> Response:
        known = self._responses.pop((header.api_version, frame), None)
        if known is None:
            return wire.decode_response(header, frame)
        if self._is_read():
            read = wire.decode_response(header, frame)
            assert read == known, f"{known} is read as {read}"
        return known

    def _is_read(self) -> bool:
        self._met += 1
        return self._met % _READ_ALL_THE_SAME == 0


def _keep(known: dict[Hashable, T], frame: Hashable, message: T) -> None:
    known[frame] = message
    if len(known) > _MOST_UNDER_WAY:
        del known[next(iter(known))]
