"""The ISR as a leader goes by it (KIP-497, KIP-841, `PartitionState`).

A proposal that is on its way to the controller may be granted at any time, and may be refused. So
until the answer the leader counts on every replica that may be in the ISR: the *maximal* ISR, that
is the committed one and the proposed one together. That it has room for min.insync.replicas is
asked of the committed one (KIP-966).
"""

from dataclasses import replace

from node.broker.fetch_sessions import FetchClock
from node.ids import Offset
from node.lazy_dataclass import dataclass
from node.wire.alter_partition import ANY_EPOCH, IsrMember

# What a leader knows of another replica (`Replica.updateFetchStateOrThrow`).


@dataclass(slots=True, kw_only=True)
class RemoteReplica:
    """By its Fetches since this leader leads."""

    end: Offset | None = None  # of its log; None: it has not fetched yet
    caught_up_ns: int  # when its log last ended where the leader's did
    start: Offset | None = None  # of its log; None: as `end`
    # Without a session, of the leader: its high watermark, and its start.
    told: tuple[Offset, Offset] | None = None
    broker_epoch: int = ANY_EPOCH  # in which it fetched
    clock: FetchClock | None = None  # by which it fetches this partition, named or not
    _leader_end: Offset | None = None  # of the leader's log at its last Fetch
    _fetched_ns: int = 0

    def fetched(self, offset: Offset, leader_end: Offset, broker_epoch: int, now_ns: int) -> None:
        """It has all below `offset`. One that has what the leader had at its last Fetch had caught
        up then: under load no Fetch ever reaches the end."""
        if offset >= leader_end:
            self.caught_up_ns = max(self.caught_up_ns, now_ns)
        elif self._leader_end is not None and offset >= self._leader_end:
            self.caught_up_ns = max(self.caught_up_ns, self._fetched_ns)
        self.end = offset
        self.broker_epoch = broker_epoch
        self._leader_end, self._fetched_ns = leader_end, now_ns

    def left_behind(self, leader_end: Offset) -> None:
        """The leader's log, which ended there, grows. Who had all of that had it by its newest
        Fetch, in which nothing was said of this partition, as nothing had changed."""
        if self.clock is not None and self.end == leader_end:
            self.caught_up_ns = max(self.caught_up_ns, self.clock.fetched_ns)
            self._leader_end, self._fetched_ns = leader_end, self.clock.fetched_ns

    def stop_the_clock(self) -> None:
        """It does not ask for this partition any more."""
        if self.clock is not None:
            self.clock = FetchClock(fetched_ns=self.clock.fetched_ns)

    def is_caught_up(self, leader_end: Offset, lag_ns: int, now_ns: int) -> bool:
        """Now, or no longer ago than replica.lag.time.max.ms."""
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
    """`pending` is out, or was answered in a way that leaves it to the metadata log whether it took
    effect, and beside what min ISR."""

    committed: tuple[int, ...]
    pending: Proposal | None = None

    @property
    def maximal(self) -> frozenset[int]:
        proposed = () if self.pending is None else self.pending.brokers
        return frozenset((*self.committed, *proposed))

    def proposing(self, proposal: Proposal) -> "Isr":
        """One at a time."""
        assert self.pending is None, f"{self.pending} is not answered"
        return replace(self, pending=proposal)

    def reverted(self) -> "Isr":
        """As it was last committed (KIP-841)."""
        return replace(self, pending=None)
