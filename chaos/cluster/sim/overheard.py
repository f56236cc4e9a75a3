"""The requests to a node, kept as they are decoded from its frames, for the invariants."""

from node.node import Framing
from node.wire.apis import Request
from node.wire.headers import RequestHeader


class Ear:
    """Of one process. `request`: what was read last, of whichever listener it came to."""

    def __init__(self) -> None:
        self.request: Request | None = None

    def take(self) -> Request | None:
        """Since it was asked last; None: nothing could be read."""
        request, self.request = self.request, None
        return request


class Overheard:
    """Does what `framing` does."""

    def __init__(self, ear: Ear, framing: Framing) -> None:
        self._ear = ear
        self._decode = framing.decode_request
        # By few steps: whatever a node sends and receives comes by here.
        self.encode_response = framing.encode_response
        self.encode_pieces = framing.encode_pieces
        self.encode_request = framing.encode_request
        self.decode_response = framing.decode_response

    def decode_request(self, frame: bytes) -> tuple[RequestHeader, Request]:
        read = self._decode(frame)
        self._ear.request = read[1]
        return read
