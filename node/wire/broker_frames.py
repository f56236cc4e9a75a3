"""Frames as brokers read and write them, by the brokers' table of APIs."""

from dataclasses import replace

from node.effects import Piece
from node.wire.apis import BROKER_BY_KEY, ForwardedRequest, HandedOn, Request, Response
from node.wire.frames import RequestHeader, decode_response, encode_request
from node.wire.frames import decode_request as decode_served
from node.wire.frames import encode_pieces as encode_served_pieces
from node.wire.frames import encode_response as encode_served
from node.wire.group_membership import JoinGroupRequest

__all__ = [
    "decode_request",
    "decode_response",
    "encode_pieces",
    "encode_request",
    "encode_response",
]


def decode_request(frame: bytes) -> tuple[RequestHeader, Request]:
    """As `frames.decode_request`. A forwarded request keeps its bytes, and a member that joins a
    group gets the client id from the header.
    """
    header, request = decode_served(frame, BROKER_BY_KEY)
    if isinstance(request, ForwardedRequest):
        request = HandedOn(request=request, frame=frame)
    elif isinstance(request, JoinGroupRequest):
        request = replace(request, client_id=header.client_id or "")
    return header, request


def encode_response(header: RequestHeader, response: Response) -> bytes:
    """As `frames.encode_response`."""
    return encode_served(header, response, BROKER_BY_KEY)


def encode_pieces(header: RequestHeader, response: Response) -> tuple[Piece, ...]:
    """As `frames.encode_pieces`."""
    return encode_served_pieces(header, response, BROKER_BY_KEY)
