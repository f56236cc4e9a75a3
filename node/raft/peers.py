"""Requests to other nodes: one connection each, so responses arrive in the order of requests.

Requests go to voters and candidates for AddRaftVoter, to a leader that is not one of our voters,
and to the bootstrap servers (their node ids are unknown). The same request is not sent to a node
twice while the first is outstanding. A Fetch may be parked at the other side; a later request would
wait behind it, so the connection is dropped instead.
"""

from collections.abc import Sequence
from dataclasses import field

from node.effects import DisconnectPeer
from node.ids import MS, NEVER_NS, NO_NODE, ChannelId, Endpoint, Epoch, NodeId, ReplicaKey
from node.lazy_dataclass import dataclass
from node.outbox import Outbox, RequestTo
from node.raft.quorum import Quorum
from node.wire.api_versions import ApiVersionsRequest
from node.wire.apis import PeerRequest
from node.wire.fetch import FetchRequest
from node.wire.vote import VoteRequest

_MAX_BACKOFF_DOUBLINGS = 4  # 20 ms -> 320 ms between attempts to reach a dead node

Sent = PeerRequest | ApiVersionsRequest
Kind = tuple[type[Sent], bool, Epoch | None]


def kind_of(request: Sent) -> Kind:
    """What makes two requests to one voter the same."""
    epoch = None if isinstance(request, ApiVersionsRequest) else request.epoch
    return type(request), isinstance(request, VoteRequest) and request.pre_vote, epoch


def is_in_the_way(other: Sent, request: Sent) -> bool:
    """Would the response to `request` be late behind `other`, or be taken for that of `other`?"""
    return isinstance(other, FetchRequest) or kind_of(other)[:2] == kind_of(request)[:2]


@dataclass(slots=True, kw_only=True)
class _Peer:
    key: ReplicaKey
    channel: ChannelId
    outstanding: dict[int, Sent] = field(default_factory=dict)
    deadlines_ns: dict[int, int] = field(default_factory=dict)
    ready_at_ns: int = 0  # 0: no back-off
    failures: int = 0  # in a row


def server_key(number: int) -> ReplicaKey:
    """The key of a bootstrap server; no node has such an id (Kafka numbers them so, too)."""
    return ReplicaKey(NodeId(NO_NODE - 1 - number))


class Peers:
    """Each peer has an endpoint (from the voter set, the leader's announcement or configuration)
    and, from its first request on, a channel."""

    def __init__(self, quorum: Quorum, servers: Sequence[Endpoint], outbox: Outbox) -> None:
        self._quorum = quorum
        self._servers = {server_key(number): at for number, at in enumerate(servers)}
        self._peers: dict[ReplicaKey, _Peer] = {}  # in the order of keys
        self._by_channel: dict[ChannelId, _Peer] = {}
        self._request_timeout_ns = quorum.timeouts.request_ms * MS
        self._retry_backoff_ns = quorum.timeouts.retry_backoff_ms * MS
        self._next_correlation_id = 0
        self._due_ns: int | None = NEVER_NS  # None: to be computed again
        self._outbox = outbox

    def at(self, channel: ChannelId) -> ReplicaKey:
        """The peer at the other end of that channel."""
        return self._by_channel[channel].key

    def may_send(self, key: ReplicaKey, request: Sent) -> bool:
        peer = self._peer(key)
        kind = kind_of(request)
        return peer.ready_at_ns == 0 and all(
            kind_of(other) != kind for other in peer.outstanding.values()
        )

    def is_backing_off(self, key: ReplicaKey) -> bool:
        return self._peer(key).ready_at_ns != 0

    def ready(self) -> list[ReplicaKey]:
        """Voters, and bootstrap servers, with no outstanding request and no back-off."""
        peers = self._peers
        return [
            key
            for key in (*self._quorum.others, *self._servers)
            if (peer := peers.get(key) or self._meet(key)).ready_at_ns == 0 and not peer.outstanding
        ]

    def fetching_from(self) -> list[tuple[ReplicaKey, FetchRequest]]:
        """Outstanding Fetches, in the order of keys; at most one per voter."""
        return [
            (peer.key, request)
            for peer in self._peers.values()
            for request in peer.outstanding.values()
            if isinstance(request, FetchRequest)
        ]

    def send_at(self, key: ReplicaKey, at: Endpoint, request: Sent, mono_ns: int) -> None:
        """Send to an address that another node or an operator named, over a new connection: the
        existing one may lead to an address named before."""
        self.drop(key)
        self._send(self._peer(key), at, request, mono_ns)

    def send(self, key: ReplicaKey, request: PeerRequest, mono_ns: int) -> None:
        """Send; first drop a connection on which the response would be late or mistaken."""
        peer = self._peer(key)
        out = peer.outstanding
        if out and any(is_in_the_way(other, request) for other in out.values()):
            self.drop(key)
        self._send(peer, self._endpoint(key), request, mono_ns)

    def _send(self, peer: _Peer, at: Endpoint, request: Sent, mono_ns: int) -> None:
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) % 2**31
        peer.outstanding[correlation_id] = request
        due_ns = peer.deadlines_ns[correlation_id] = mono_ns + self._request_timeout_ns
        if self._due_ns is not None and due_ns < self._due_ns:
            self._due_ns = due_ns
        self._outbox.emit(
            RequestTo(
                channel=peer.channel,
                endpoint=at,
                correlation_id=correlation_id,
                request=request,
            )
        )

    def leader(self, leader: NodeId) -> ReplicaKey:
        """The peer to ask for what the leader has."""
        return self._quorum.voters.by_id.get(leader) or ReplicaKey(leader)

    def _endpoint(self, key: ReplicaKey) -> Endpoint:
        server, quorum = self._servers.get(key), self._quorum
        if server is not None:
            return server
        at = quorum.addresses.of(key.id, quorum.role)
        assert at is not None, f"{key} has no address"
        return at

    def take(self, channel: ChannelId, correlation_id: int) -> Sent | None:
        """The request that this answers; None if it is of a connection since dropped."""
        peer = self._by_channel[channel]
        due_ns = peer.deadlines_ns.pop(correlation_id, None)
        if due_ns == self._due_ns:
            self._due_ns = None
        return peer.outstanding.pop(correlation_id, None)

    def made_sense(self, channel: ChannelId) -> None:
        """The response on this channel was valid; a response alone is no success."""
        self._by_channel[channel].failures = 0

    def back_off(self, key: ReplicaKey, mono_ns: int) -> None:
        """The response was an error: wait before the next request."""
        self._peer(key).ready_at_ns = mono_ns + self._retry_backoff_ns
        self._due_ns = None

    def lost(self, key: ReplicaKey, mono_ns: int) -> None:
        """The connection failed, or brought garbage; the back-off grows with each failure."""
        peer = self._peer(key)
        doublings = min(peer.failures, _MAX_BACKOFF_DOUBLINGS)
        peer.failures += 1
        self._forget(peer)
        peer.ready_at_ns = mono_ns + (self._retry_backoff_ns << doublings)

    def drop(self, key: ReplicaKey) -> None:
        """Hang up; outstanding requests will not be answered."""
        peer = self._peer(key)
        self._forget(peer)
        self._outbox.emit(DisconnectPeer(channel=peer.channel))

    def poll(self, mono_ns: int) -> Sequence[ReplicaKey]:
        """End back-offs that are over, and connections with an overdue oldest request; returns the
        peers of those connections."""
        if mono_ns < self.deadline_ns():
            return ()
        silent = []
        for key, peer in self._peers.items():
            if peer.ready_at_ns and peer.ready_at_ns <= mono_ns:
                peer.ready_at_ns = 0
                self._due_ns = None
            if peer.deadlines_ns and min(peer.deadlines_ns.values()) <= mono_ns:
                self.drop(key)
                self.lost(key, mono_ns)
                silent.append(key)
        return silent

    def deadline_ns(self) -> int:
        """When `poll` has something to do."""
        if self._due_ns is None:
            due_ns = NEVER_NS
            for peer in self._peers.values():
                if peer.ready_at_ns:
                    due_ns = min(due_ns, peer.ready_at_ns)
                if peer.deadlines_ns:
                    due_ns = min(due_ns, *peer.deadlines_ns.values())
            self._due_ns = due_ns
        return self._due_ns

    def _peer(self, key: ReplicaKey) -> _Peer:
        return self._peers.get(key) or self._meet(key)

    def _meet(self, key: ReplicaKey) -> _Peer:
        peer = _Peer(key=key, channel=ChannelId(len(self._by_channel)))
        self._by_channel[peer.channel] = peer
        met = {**self._peers, key: peer}
        self._peers = {each: met[each] for each in sorted(met)}
        return peer

    def _forget(self, peer: _Peer) -> None:
        peer.outstanding.clear()
        peer.deadlines_ns.clear()
        self._due_ns = None
