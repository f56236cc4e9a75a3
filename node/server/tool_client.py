"""A small blocking client on the node's own codec, for `kraft-node quorum`.

Harness and workloads have a client of their own: one that shares the server's codec could not find
its bugs.
"""

import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self, TypeVar

from node.lazy_dataclass import dataclass
from node.server.framing import FrameCutter, with_size
from node.wire import MalformedFrame, decode_response, encode_request
from node.wire.apis import Request, Response
from node.wire.topic_metadata import DescribeClusterRequest, DescribeClusterResponse

CLIENT_ID = "kraft-node"
Address = tuple[str, int]
T = TypeVar("T")
_CONTROLLERS = 2  # the endpoint type
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 1.0


class NoLeaderFoundError(Exception):
    """The message has the result for each address that was asked.

    `unled`: a controller answered, and named no leader that leads.
    """

    def __init__(self, message: str, *, unled: bool = False) -> None:
        super().__init__(message)
        self.unled = unled


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for a leader, and by which clock."""

    within_s: float = 15.0  # several elections
    now_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


PATIENCE = Patience()


class Client:
    """One connection; a request at a time. Every method may raise OSError."""

    def __init__(self, host: str, port: int, timeout_s: float = 5.0) -> None:
        self._socket = socket.create_connection((host, port), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._cutter = FrameCutter()
        self._correlation_id = 0

    def send(self, request: Request, *, version: int | None = None) -> Response:
        """The response, in the newest version that we know unless given another."""
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

    def describe_cluster(self) -> DescribeClusterResponse:
        """The controllers, and the leader among them, as this one knows them."""
        response = self.send(DescribeClusterRequest(endpoint_type=_CONTROLLERS))
        assert isinstance(response, DescribeClusterResponse)
        return response


def addresses_of_leader(cluster: DescribeClusterResponse) -> list[Address]:
    """One or none."""
    return [(m.host, m.port) for m in cluster.members if m.id == cluster.controller]


def send_to_leader(
    bootstrap: Sequence[Address],
    send: Callable[[Address], T | list[Address]],
    patience: Patience = PATIENCE,
) -> T:
    """The leader's response, whichever controllers are named.

    `ask` returns the response, or the leader's address by the controller asked. While controllers
    answer and none of them leads, there may be an election: they are asked again, after growing
    pauses (KIP-595, "DescribeQuorum Response Handling"). Raises NoLeaderAnsweredError.
    """
    deadline_s, pause_s = patience.now_s() + patience.within_s, _FIRST_PAUSE_S
    while True:
        try:
            return _send_to_all(bootstrap, send)
        except NoLeaderFoundError as error:
            left_s = deadline_s - patience.now_s()
            if not error.unled:
                raise
            if left_s <= 0:
                message = f"for {patience.within_s:g} s, and the last time: {error}"
                raise NoLeaderFoundError(message, unled=True) from error
        patience.sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _send_to_all(bootstrap: Sequence[Address], send: Callable[[Address], T | list[Address]]) -> T:
    """Every bootstrap address may be the leader's; if none is, those are tried that the asked ones
    name, which may be internal ones. Raises NoLeaderAnsweredError.
    """
    untried = deque(bootstrap)
    tried: list[Address] = []
    reasons: list[str] = []
    unled = False
    while untried:
        address = untried.popleft()
        tried.append(address)
        try:
            response = send(address)
        except (OSError, MalformedFrame) as error:
            reasons.append(f"{address_text(address)}: {error or 'no answer in time'}")
            continue
        if not isinstance(response, list):
            return response
        unled = True
        reasons.append(f"{address_text(address)}: not the leader")
        untried += [named for named in response if named not in tried and named not in untried]
    raise NoLeaderFoundError("; ".join(reasons), unled=unled)


def address_text(address: Address) -> str:
    return f"{address[0]}:{address[1]}"
