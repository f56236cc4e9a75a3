"""Avoids decoding again what nodes fetch from each other, where it arrives as it was sent.

Nor is an answer to two followers encoded twice, nor a repeated request of a client decoded again.
Both ends live in this process. The bar that needs this is the simulator's pace: without it a run
takes a tenth longer with brokers, and 7 % longer without. A frame is known by all its bytes: a
damaged or foreign one is decoded. So is one in some known frames, which must equal what it was
encoded from.
"""

from collections.abc import Hashable
from dataclasses import replace
from typing import TypeVar

from node import wire
from node.effects import Piece
from node.node import Framing
from node.wire import broker_frames
from node.wire.apis import HandedOn, OutgoingRequest, Request, Response
from node.wire.fetch import FetchRequest, FetchResponse
from node.wire.frames import RequestHeader
from node.wire.partition_fetch import PartitionsFetchRequest, PartitionsFetchResponse

_READ_ALL_THE_SAME = 16  # one of so many
_CORRELATION_BYTES = 4  # at the start of an answer; the only ones that are not of the message
_NUMBER = slice(4, 8)  # of a request: its correlation id
_MOST_ASKED = 100
_MOST_UNDER_WAY = 1000  # the oldest were lost on their way
_MOST_NAMED = 50  # partitions of a Fetch; one that names more is rare, and may be too large

T = TypeVar("T")
_Fetch = FetchRequest | PartitionsFetchRequest
_Fetched = FetchResponse | PartitionsFetchResponse


class _UnderWay:
    """Shared by all senders and readers."""

    def __init__(self) -> None:
        self.requests: dict[Hashable, tuple[RequestHeader, _Fetch]] = {}
        self.responses: dict[Hashable, _Fetched] = {}


class KnownFrames:
    """Does what `framing` does; `fetch`: how the serving node reads a Fetch."""

    def __init__(self, under_way: _UnderWay, framing: Framing, fetch: type[_Fetch]) -> None:
        self._requests, self._responses = under_way.requests, under_way.responses
        self._framing = framing
        self._fetch = fetch
        self._told: tuple[int, _Fetched | None, bytes] = (0, None, b"")  # the last one
        self._asked: dict[Hashable, tuple[RequestHeader, Request]] = {}  # by others than nodes
        self._met = 0

    def encode_request(
        self,
        request: OutgoingRequest,
        *,
        correlation_id: int,
        client_id: str,
        version: int | None = None,
    ) -> tuple[RequestHeader, bytes]:
        header, frame = self._framing.encode_request(
            request, correlation_id=correlation_id, client_id=client_id, version=version
        )
        if isinstance(request, _Fetch) and not _may_be_too_large(request):
            read = header if header.request_type is None else replace(header, request_type=None)
            _keep(self._requests, (type(request), frame), (read, request))
        return header, frame

    def decode_request(self, frame: bytes) -> tuple[RequestHeader, Request]:
        known = self._requests.pop((self._fetch, frame), None) or self._asked_before(frame)
        if known is None:
            return self._first_asked(frame)
        if self._is_read():
            read = self._framing.decode_request(frame)
            assert read == known, f"{known} is read as {read}"
        return known

    def _asked_before(self, frame: bytes) -> tuple[RequestHeader, Request] | None:
        """Clients repeat themselves, under another number each time."""
        known = self._asked.get(_without_number(frame))
        if known is None:
            return None
        header, request = known
        number = int.from_bytes(frame[_NUMBER], "big", signed=True)
        return RequestHeader(
            api_key=header.api_key,
            api_version=header.api_version,
            correlation_id=number,
            client_id=header.client_id,
        ), request

    def _first_asked(self, frame: bytes) -> tuple[RequestHeader, Request]:
        read = self._framing.decode_request(frame)
        if not isinstance(read[1], HandedOn):  # which keeps the frame, and its number
            _keep(self._asked, _without_number(frame), read, _MOST_ASKED)
        return read

    def encode_response(self, header: RequestHeader, response: Response) -> bytes:
        if not isinstance(response, _Fetched):
            return self._framing.encode_response(header, response)
        version, told, frame = self._told
        if (version, told) == (header.api_version, response):  # another follower, just now
            frame = (
                header.correlation_id.to_bytes(_CORRELATION_BYTES, "big")
                + frame[_CORRELATION_BYTES:]
            )
        else:
            frame = self._framing.encode_response(header, response)
            self._told = (header.api_version, response, frame)
        key = header.api_key, self._fetch, header.api_version, frame
        _keep(self._responses, key, response)
        return frame

    def encode_pieces(self, header: RequestHeader, response: Response) -> tuple[Piece, ...]:
        return self._framing.encode_pieces(header, response)

    def decode_response(self, header: RequestHeader, frame: bytes) -> Response:
        fetch = header.request_type or FetchRequest
        known = self._responses.pop((header.api_key, fetch, header.api_version, frame), None)
        if known is None:
            return self._framing.decode_response(header, frame)
        if self._is_read():
            read = self._framing.decode_response(header, frame)
            assert read == known, f"{known} is read as {read}"
        return known

    def _is_read(self) -> bool:
        self._met += 1
        return self._met % _READ_ALL_THE_SAME == 0


def known_frames() -> tuple[KnownFrames, KnownFrames]:
    """Of one cluster: as its controllers read and write them, and as its brokers do."""
    under_way = _UnderWay()
    brokers = KnownFrames(under_way, broker_frames, PartitionsFetchRequest)
    return KnownFrames(under_way, wire, FetchRequest), brokers


def _may_be_too_large(request: _Fetch) -> bool:
    if isinstance(request, FetchRequest):
        return False
    return len(request.partitions) + len(request.forgotten) > _MOST_NAMED


def _without_number(frame: bytes) -> Hashable:
    return frame[: _NUMBER.start], frame[_NUMBER.stop :]


def _keep(
    known: dict[Hashable, T], frame: Hashable, message: T, most: int = _MOST_UNDER_WAY
) -> None:
    known[frame] = message
    if len(known) > most:
        del known[next(iter(known))]
