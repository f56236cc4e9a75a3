"""The ISR as its leader sees it (KIP-497, KIP-841, `PartitionState`).

A proposal on its way to the controller may be granted at any time, and may be refused. So until the
answer the leader counts on every replica that may be in the ISR: the *maximal* ISR, the union of
the committed and the proposed one. min.insync.replicas counts the committed one (KIP-966).
"""

from dataclasses import replace

from node.broker.requests.fetch_sessions import FetchClock
from node.ids import Offset
from node.lazy_dataclass import dataclass
from node.wire.alter_partition import ANY_EPOCH, IsrMember

# What a leader knows of another replica (`Replica.updateFetchStateOrThrow`).


@dataclass(slots=True, kw_only=True)
class RemoteReplica:
    """What its Fetches have shown since this leader leads."""

    end: Offset | None = None  # of its log; None: it has not fetched yet
    caught_up_ns: int  # when its log last ended where the leader's did
    start: Offset | None = None  # of its log; None: as `end`
    # Without a session: the leader's high watermark and log start that it was last sent.
    told: tuple[Offset, Offset] | None = None
    broker_epoch: int = ANY_EPOCH  # in which it fetched
    clock: FetchClock | None = None  # when it last fetched this partition, named or not
    _leader_end: Offset | None = None  # the leader's log end at its last Fetch
    _fetched_ns: int = 0

    def fetched(self, offset: Offset, leader_end: Offset, broker_epoch: int, now_ns: int) -> None:
        """It has all records below `offset`. If that covers the leader's log end at its last Fetch,
        it had caught up then: under load no Fetch ever reaches the current end.
        """
        if offset >= leader_end:
            self.caught_up_ns = max(self.caught_up_ns, now_ns)
        elif self._leader_end is not None and offset >= self._leader_end:
            self.caught_up_ns = max(self.caught_up_ns, self._fetched_ns)
        self.end = offset
        self.broker_epoch = broker_epoch
        self._leader_end, self._fetched_ns = leader_end, now_ns

    def left_behind(self, leader_end: Offset) -> None:
        """The leader's log grows from that end. A replica that had all of it had so at its newest
        Fetch, also if that did not name this partition, as nothing had changed.
        """
        if self.clock is not None and self.end == leader_end:
            self.caught_up_ns = max(self.caught_up_ns, self.clock.fetched_ns)
            self._leader_end, self._fetched_ns = leader_end, self.clock.fetched_ns

    def stop_the_clock(self) -> None:
        """It does not ask for this partition any more."""
        if self.clock is not None:
            self.clock = FetchClock(fetched_ns=self.clock.fetched_ns)

    def is_caught_up(self, leader_end: Offset, lag_ns: int, now_ns: int) -> bool:
        """Has it caught up within the last replica.lag.time.max.ms?"""
        return self.end == leader_end or now_ns - self.caught_up_ns <= lag_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Another ISR, for the partition as it was in these epochs."""

    isr: tuple[IsrMember, ...]
    leader_epoch: int
    partition_epoch: int

    @property
    def brokers(self) -> tuple[int, ...]:
        return tuple(member.broker for member in self.isr)


@dataclass(frozen=True, slots=True, kw_only=True)
class Isr:
    """`pending` is a proposal that was sent, or answered so that only the metadata
    log shows whether it took effect, with the min ISR.
    """

    committed: tuple[int, ...]
    pending: Proposal | None = None

    @property
    def maximal(self) -> frozenset[int]:
        proposed = () if self.pending is None else self.pending.brokers
        return frozenset((*self.committed, *proposed))

    def proposing(self, proposal: Proposal) -> "Isr":
        """The ISR with that proposal; there is one at a time."""
        assert self.pending is None, f"{self.pending} is not answered"
        return replace(self, pending=proposal)

    def reverted(self) -> "Isr":
        """The ISR as last committed (KIP-841)."""
        return replace(self, pending=None)
