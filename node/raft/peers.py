"""Requests to the other voters: one connection each, so what is asked first is answered first.

A voter is not asked the same twice while the answer is out. A Fetch may be parked at the other
side; whatever is asked after it would wait behind it, so the connection is dropped instead.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from node.config import QuorumTimeouts
from node.effects import DisconnectPeer
from node.ids import MS, NEVER_NS, Epoch, NodeId
from node.outbox import Ask, Outbox
from node.wire.apis import PeerRequest
from node.wire.fetch import FetchRequest
from node.wire.vote import VoteRequest

_MAX_BACKOFF_DOUBLINGS = 4  # 20 ms -> 320 ms between attempts to reach a dead node

Kind = tuple[type[PeerRequest], bool, Epoch]


def kind_of(request: PeerRequest) -> Kind:
    """What makes two requests to one voter the same."""
    return type(request), isinstance(request, VoteRequest) and request.pre_vote, request.epoch


@dataclass(slots=True, kw_only=True)
class _Peer:
    outstanding: dict[int, PeerRequest] = field(default_factory=dict)
    deadlines_ns: dict[int, int] = field(default_factory=dict)
    ready_at_ns: int = 0  # 0: no back-off
    failures: int = 0  # in a row


class Peers:
    def __init__(self, nodes: list[NodeId], timeouts: QuorumTimeouts, outbox: Outbox) -> None:
        self._peers = {node: _Peer() for node in nodes}
        self._request_timeout_ns = timeouts.request_ms * MS
        self._retry_backoff_ns = timeouts.retry_backoff_ms * MS
        self._next_correlation_id = 0
        self._outbox = outbox

    def may_ask(self, node: NodeId, request: PeerRequest) -> bool:
        peer = self._peers[node]
        kind = kind_of(request)
        return peer.ready_at_ns == 0 and all(
            kind_of(other) != kind for other in peer.outstanding.values()
        )

    def is_backing_off(self, node: NodeId) -> bool:
        return self._peers[node].ready_at_ns != 0

    def ready(self) -> list[NodeId]:
        """Voters that are neither asked anything nor backed off from."""
        return [
            node
            for node, peer in self._peers.items()
            if peer.ready_at_ns == 0 and not peer.outstanding
        ]

    def fetching_from(self) -> list[tuple[NodeId, FetchRequest]]:
        """Fetches that are out; one a voter at most."""
        return [
            (node, request)
            for node, peer in self._peers.items()
            for request in peer.outstanding.values()
            if isinstance(request, FetchRequest)
        ]

    def ask(self, node: NodeId, request: PeerRequest, mono_ns: int) -> None:
        """Send; first drop a connection on which the answer would be late or mistaken."""
        peer = self._peers[node]
        wanted, pre_vote, _ = kind_of(request)
        for other in peer.outstanding.values():
            if isinstance(other, FetchRequest) or kind_of(other)[:2] == (wanted, pre_vote):
                self.drop(node)
                break
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) % 2**31
        peer.outstanding[correlation_id] = request
        peer.deadlines_ns[correlation_id] = mono_ns + self._request_timeout_ns
        self._outbox.emit(Ask(peer=node, correlation_id=correlation_id, request=request))

    def answered(self, node: NodeId, correlation_id: int) -> PeerRequest | None:
        """The request that this answers; None if it is of a connection since dropped."""
        peer = self._peers[node]
        peer.deadlines_ns.pop(correlation_id, None)
        return peer.outstanding.pop(correlation_id, None)

    def made_sense(self, node: NodeId) -> None:
        """What it answered, that is; an answer alone is no success."""
        self._peers[node].failures = 0

    def back_off(self, node: NodeId, mono_ns: int) -> None:
        """The answer was an error: do not ask again at once."""
        self._peers[node].ready_at_ns = mono_ns + self._retry_backoff_ns

    def lost(self, node: NodeId, mono_ns: int) -> None:
        """The connection failed, or brought nonsense; the longer that lasts, the less often it is
        tried."""
        peer = self._peers[node]
        doublings = min(peer.failures, _MAX_BACKOFF_DOUBLINGS)
        peer.failures += 1
        self._forget(node)
        peer.ready_at_ns = mono_ns + (self._retry_backoff_ns << doublings)

    def drop(self, node: NodeId) -> None:
        """Hang up; what is outstanding will not be answered."""
        self._forget(node)
        self._outbox.emit(DisconnectPeer(peer=node))

    def _forget(self, node: NodeId) -> None:
        peer = self._peers[node]
        peer.outstanding.clear()
        peer.deadlines_ns.clear()

    def poll(self, mono_ns: int, on_timed_out: Callable[[NodeId], None]) -> None:
        """End back-offs that are over, and connections whose oldest request is overdue."""
        for node, peer in self._peers.items():
            if peer.ready_at_ns and peer.ready_at_ns <= mono_ns:
                peer.ready_at_ns = 0
            if peer.deadlines_ns and min(peer.deadlines_ns.values()) <= mono_ns:
                self.drop(node)
                self.lost(node, mono_ns)
                on_timed_out(node)

    def deadline_ns(self) -> int:
        earliest = NEVER_NS
        for peer in self._peers.values():
            if peer.ready_at_ns:
                earliest = min(earliest, peer.ready_at_ns)
            for deadline in peer.deadlines_ns.values():
                earliest = min(earliest, deadline)
        return earliest
