"""A small blocking client on the node's own codec, for the commands of `kraft-node` that ask a
cluster.

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
from node.server.outcome import Refusal
from node.wire import MalformedFrame, decode_response, encode_request
from node.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from node.wire.apis import BY_REQUEST, Request, Response
from node.wire.topic_metadata import DescribeClusterRequest, DescribeClusterResponse

CLIENT_ID = "kraft-node"
Address = tuple[str, int]
T = TypeVar("T")
_CONTROLLERS = 2  # the endpoint type
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 1.0
_API_VERSIONS = 3  # the version that all servers of today know


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
        self._served: dict[int, tuple[int, int]] | None = None  # by key; None: not asked yet

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

    def newest(self, kind: type[Request]) -> int | None:
        """The newest version of a request that both know, if any."""
        if self._served is None:
            response = self.send(ApiVersionsRequest(), version=_API_VERSIONS)
            assert isinstance(response, ApiVersionsResponse)
            self._served = {
                each.api_key: (each.min_version, each.max_version) for each in response.apis
            }
        api = BY_REQUEST[kind]
        low, high = self._served.get(api.key, (0, -1))
        newest = min(high, api.max_version)
        return newest if newest >= max(low, api.min_version) else None


class BrokerClient:
    """Asks one of these brokers, and the next one once that does not answer."""

    def __init__(self, bootstrap: Sequence[Address], timeout_s: float) -> None:
        self._addresses = deque(bootstrap)
        self._timeout_s = timeout_s
        self._client: Client | None = None

    @property
    def asked(self) -> str:
        """The address of the broker that answered last."""
        return address_text(self._addresses[0])

    def send(self, request: Request, *, least: int = 0) -> Response:
        """In the newest version that both know, not below `least`. A request whose answer was lost
        is sent to the next broker as well. Raises Refusal if no broker answers, or the one that
        does knows no such version.
        """
        reasons: list[str] = []
        for _ in range(len(self._addresses)):
            try:
                return self._send(request, least)
            except (OSError, MalformedFrame) as error:
                reasons.append(f"{self.asked}: {error or 'no answer in time'}")
                self.leave()
        raise Refusal(
            what="no broker answered",
            where="; ".join(reasons),
            next_step="name others with --bootstrap-server, or see where brokers listen: ss -ltn",
        )

    def _send(self, request: Request, least: int) -> Response:
        if self._client is None:
            self._client = Client(*self._addresses[0], timeout_s=self._timeout_s)
        version = self._client.newest(type(request))
        if version is None or version < least:
            raise Refusal(
                what=f"{BY_REQUEST[type(request)].name} {least} or newer is needed, and not served",
                where=f"the broker at {self.asked}",
                next_step="start brokers of a newer release, and ask those: kraft-node start",
            )
        return self._client.send(request, version=version)

    def leave(self) -> None:
        """Ask the next one from now on."""
        self.close()
        self._addresses.rotate(-1)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


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
