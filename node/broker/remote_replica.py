"""What a leader knows of another replica (`Replica.updateFetchStateOrThrow`)."""

from node.broker.fetch_sessions import FetchClock
from node.ids import Offset
from node.lazy_dataclass import dataclass
from node.wire.alter_partition import ANY_EPOCH


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
