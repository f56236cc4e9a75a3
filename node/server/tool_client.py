"""A small blocking client on the node's own codec, for `kraft-node quorum`.

Harness and workloads have a client of their own: one that shares the server's codec could not find
its bugs.
"""

import socket
from types import TracebackType
from typing import Self

from node.server.framing import FrameCutter, with_size
from node.wire import decode_response, encode_request
from node.wire.apis import Request, Response

CLIENT_ID = "kraft-node"


class Client:
    """One connection; a request at a time. Every method may raise OSError."""

    def __init__(self, host: str, port: int, timeout_s: float = 5.0) -> None:
        self._socket = socket.create_connection((host, port), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._cutter = FrameCutter()
        self._correlation_id = 0

    def ask(self, request: Request, *, version: int | None = None) -> Response:
        """The answer, in the newest version that we know unless told otherwise."""
        self._correlation_id += 1
        header, frame = encode_request(
            request, correlation_id=self._correlation_id, client_id=CLIENT_ID, version=version
        )
        self._socket.sendall(with_size(frame))
        return decode_response(header, self._receive())

    def _receive(self) -> bytes:
        while True:
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionResetError("the node closed the connection")
            for frame in self._cutter.cut(data):
                return frame

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
