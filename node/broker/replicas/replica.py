"""One replica of a partition, on the broker that keeps it (`Partition`, `UnifiedLog`).

It knows the partition's newest state in the metadata log, its own log's end and leader epochs, and
its high watermark; as leader also the followers. It reads and writes no log: the caller reports
appends and truncations. Times are ns of the broker's monotonic clock.

The high watermark of a leader is the end that all of the maximal ISR have, with those that have
caught up and may join it. It moves only while the *committed* ISR has min.insync.replicas members,
whatever acks the records came with (KIP-966, "Additional High Watermark advancement requirement"):
below that an eligible leader replica may be out of the ISR, and must not lack anything that a
client has seen. So ISR and min ISR are always those of one moment of the metadata log: the
controller's answer, if its ISR is smaller than all replicas, commits nothing here.
"""

from collections.abc import Callable
from dataclasses import replace

from node.broker.replicas.isr import Isr, Proposal, RemoteReplica
from node.broker.requests.fetch_sessions import FetchClock
from node.controller.image.topics import Partition as PartitionState
from node.errors import ErrorCode
from node.ids import NO_EPOCH, NO_NODE, Epoch, LogPosition, NodeId, Offset
from node.lazy_dataclass import dataclass
from node.storage.checkpoints import LeaderEpochs
from node.wire.alter_partition import IsrMember, PartitionResult

_BEGIN = Offset(0)

# Is a broker active, in that broker epoch (-1: in any), as far as this one knows?
MayJoin = Callable[[int, int], bool]

# Errors after which the controller has not changed the ISR, and would not (KIP-841).
_REVERTING = (
    ErrorCode.INELIGIBLE_REPLICA,
    ErrorCode.OPERATION_NOT_ATTEMPTED,
    ErrorCode.UNKNOWN_TOPIC_ID,
)
# Errors after which the ISR was changed, or the partition is no longer as the proposal has it. Only
# the metadata log then tells the ISR, and until it does, all replicas that may be in it are
# counted.
_AWAITING = (
    ErrorCode.NONE,
    ErrorCode.NEW_LEADER_ELECTED,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


@dataclass(slots=True, kw_only=True)
class Leading:
    """The state of a leader, in one leader epoch."""

    epoch_start: Offset  # its log end at the start of the epoch
    first_watermark: Offset  # its high watermark then
    followers: dict[NodeId, RemoteReplica]
    isr: Isr


class Replica:
    """Invariant: 0 <= start <= high_watermark <= end."""

    def __init__(
        self,
        me: NodeId,
        *,
        start: Offset = _BEGIN,
        end: Offset,
        epochs: LeaderEpochs,
        high_watermark: Offset,
        may_join: MayJoin,
        lag_ns: int,
    ) -> None:
        self.me = me
        self.state: PartitionState | None = None  # None: not known yet
        self.leading: Leading | None = None
        self.start = start  # all below was deleted
        self.end = end
        self.high_watermark = max(start, min(high_watermark, end))
        self._epochs = epochs
        self._may_join = may_join
        self._lag_ns = lag_ns
        self._min_isr = self.configured_min_isr = 1

    # --- updates from the metadata log ---

    def update(self, state: PartitionState, min_isr: int, now_ns: int) -> None:
        """The partition's current state; an older one is ignored. `min_isr` as configured."""
        if self.state is not None and state.partition_epoch < self.state.partition_epoch:
            return
        before, self.state = self.state, state
        self.configured_min_isr = min_isr
        self._min_isr = min(min_isr, len(state.replicas))  # the effective one (KIP-966)
        if state.leader != self.me:
            self.leading = None
            return
        led_before = before is not None and before.leader_epoch == state.leader_epoch
        if self.leading is None or not led_before:
            self._begin_to_lead(state, now_ns)
        elif before is not None and before.partition_epoch < state.partition_epoch:
            self._follow_change(self.leading, state, now_ns)
        self._advance(now_ns)

    def look_again(self, now_ns: int) -> bool:
        """A replica that is waited for may be gone, or have lagged for too long. Returns whether
        the high watermark moved. There may be no Fetch and no append to move it (KAFKA-15021).
        """
        if self.leading is None:
            return False
        before = self.high_watermark
        self._advance(now_ns)
        return self.high_watermark != before

    @property
    def is_ahead(self) -> bool:
        """Does it lead, with a follower that is not known to have all of its log? Only then does
        time alone change anything: its ISR may shrink, or its high watermark move.
        """
        leading = self.leading
        return leading is not None and any(
            follower.end != self.end for follower in leading.followers.values()
        )

    @property
    def lacks_followers(self) -> bool:
        """Does it lead, with a replica out of the ISR that may join it?"""
        leading = self.leading
        return leading is not None and len(leading.isr.maximal) <= len(leading.followers)

    def _begin_to_lead(self, state: PartitionState, now_ns: int) -> None:
        """Members of the ISR get replica.lag.time.max.ms for their first Fetch."""
        self.leading = Leading(
            epoch_start=self.end,
            first_watermark=self.high_watermark,
            followers={
                broker: RemoteReplica(caught_up_ns=now_ns)
                if broker in state.isr
                else self._new(now_ns)
                for broker in map(NodeId, state.replicas)
                if broker != self.me
            },
            isr=Isr(committed=state.isr),
        )

    def _follow_change(self, leading: Leading, state: PartitionState, now_ns: int) -> None:
        leading.isr = Isr(committed=state.isr)
        known = leading.followers
        leading.followers = {
            broker: known.get(broker) or self._new(now_ns)
            for broker in map(NodeId, state.replicas)
            if broker != self.me
        }

    def _new(self, now_ns: int) -> RemoteReplica:
        """A follower that has not caught up."""
        return RemoteReplica(caught_up_ns=now_ns - self._lag_ns - 1)

    # --- its log ---

    @property
    def leader_epoch(self) -> int:
        return NO_EPOCH if self.state is None else self.state.leader_epoch

    @property
    def leader(self) -> NodeId:
        return NO_NODE if self.state is None else NodeId(self.state.leader)

    @property
    def first_epoch(self) -> int:
        """The epoch of the first record; NO_EPOCH if there is none, or it is not known."""
        return self._epochs.epochs[0] if self._epochs.epochs else NO_EPOCH

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record; NO_EPOCH if it is not known."""
        return self._epochs.epochs[-1] if self._epochs.epochs else NO_EPOCH

    def position(self) -> LogPosition:
        return LogPosition(self._epochs.latest(), self.end)

    def appended(self, epoch: Epoch, base: Offset, end: Offset, now_ns: int) -> None:
        """The log now holds a batch of `epoch` from `base` to `end`."""
        assert base == self.end < end, f"{base} to {end} after {self.end}"
        self._epochs.assign(epoch, base)
        if self.leading is not None:
            for follower in self.leading.followers.values():
                follower.left_behind(base)
        self.end = end
        if self.leading is not None:
            self._advance(now_ns)

    def epoch_at(self, offset: Offset) -> int:
        """The epoch of the record there; NO_EPOCH if there is none."""
        return self._epochs.at(offset) if offset < self.end else NO_EPOCH

    def end_of_epoch(self, epoch: Epoch) -> LogPosition:
        """The largest epoch <= `epoch` in the log, and the offset after it. The epoch in which this
        replica leads counts from its beginning.
        """
        if self.leading is not None and epoch >= self.leader_epoch:
            return LogPosition(Epoch(self.leader_epoch), self.end)
        return self._end_of(epoch)

    def _end_of(self, epoch: Epoch) -> LogPosition:
        """An epoch older than all known ones ended before the first of them
        (`LeaderEpochFileCache.endOffsetFor`).
        """
        starts = self._epochs.starts
        first = LogPosition(epoch, starts[0] if starts else self.end)
        return self._epochs.end_of(epoch, first, self.end)

    def divergence(self, last_epoch: int, offset: Offset) -> LogPosition | None:
        """Where a log with a last record, below `offset`, of `last_epoch` diverges from this one,
        at the latest; None if nothing says that it does.
        """
        if last_epoch == NO_EPOCH or offset == 0:
            return None
        found = self.end_of_epoch(Epoch(last_epoch))
        return found if found.epoch != last_epoch or found.offset < offset else None

    def truncation(self, diverging: LogPosition) -> Offset:
        """Where to truncate this log, which diverges from its leader's at `diverging`, at the
        latest.

        If there are epochs between the two, the next answer truncates it further (KIP-101,
        KIP-595).
        """
        own = self._end_of(diverging.epoch)
        both = own.epoch == diverging.epoch
        return min(own.offset, diverging.offset) if both else own.offset

    def truncated(self, end: Offset) -> None:
        """The log ends at `end` now; called before any update of its high watermark
        (KAFKA-14704).
        """
        assert self.leading is None, "a leader never cuts its log"
        self._epochs.truncate(end)
        self.end = end
        self.high_watermark = min(self.high_watermark, end)

    def begins_at(self, start: Offset) -> None:
        """All below was deleted, and was committed."""
        assert self.start <= start <= self.high_watermark, f"{start} after {self.high_watermark}"
        self._epochs.raise_start(start)
        self.start = start

    def restarted(self, start: Offset) -> None:
        """The log is empty now, and begins at `start`."""
        assert self.leading is None, "a leader never drops its log"
        self._epochs = LeaderEpochs()
        self.start = self.end = self.high_watermark = start

    def told_high_watermark(self, of_leader: Offset) -> None:
        """A follower's high watermark may go down: its leader may know a lower one than the leader
        before.
        """
        assert self.leading is None
        self.high_watermark = max(self.start, min(of_leader, self.end))

    # --- what is asked of a leader ---

    def refusal(self, epoch: int, *, may_follow: bool = False) -> ErrorCode:
        """Why this replica does not answer for the partition in `epoch`, if so. `may_follow`: a
        follower may answer as well.
        """
        if epoch != NO_EPOCH and epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if epoch > self.leader_epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        serves = self.leading is not None or may_follow
        return ErrorCode.NONE if serves else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def may_append_for_all(self) -> bool:
        """Has the committed ISR as many members as acks=all asks for?"""
        assert self.leading is not None
        return len(self.leading.isr.committed) >= self._min_isr

    def acknowledgement(self, end: Offset) -> ErrorCode | None:
        """The result for records below `end` that all of the ISR must have; None: not yet."""
        assert self.leading is not None
        if self.high_watermark < end:
            return None
        if len(self.leading.isr.maximal) < self._min_isr:
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE

    @property
    def knows_its_high_watermark(self) -> bool:
        """Does it know the high watermark of this epoch? Otherwise clients that know more get no
        answer (KIP-207).
        """
        return self.leading is not None and self.high_watermark >= self.leading.epoch_start

    def low_watermark(self) -> Offset | None:
        """The lowest log start of all replicas with brokers that are up; None: one is not known yet
        (KIP-107).
        """
        assert self.leading is not None
        lowest = self.start
        for broker, follower in self.leading.followers.items():
            if self.is_active(broker):
                if follower.start is None:
                    return None
                lowest = min(lowest, follower.start)
        return lowest

    def is_active(self, broker: NodeId) -> bool:
        """Is the broker, as far as this one knows, not fenced, not gone, and not shutting down?"""
        return self._may_join(broker, NO_EPOCH)

    # --- the ISR ---

    def fetched_by(
        self, broker: NodeId, offset: Offset, broker_epoch: int, now_ns: int
    ) -> Proposal | None:
        """A follower's log, which does not diverge, has all below `offset`. Returns the ISR to
        propose with it, if it may join.
        """
        leading = self.leading
        assert leading is not None, "only a leader is fetched from"
        leading.followers[broker].fetched(offset, self.end, broker_epoch, now_ns)
        proposal = self._expansion(leading, broker)
        self._advance(now_ns)
        return proposal

    def asked_by(self, broker: NodeId, clock: FetchClock | None) -> None:
        """A follower's Fetches include this partition, with that clock, until one says
        otherwise.
        """
        assert self.leading is not None, "only a leader is fetched from"
        self.leading.followers[broker].clock = clock

    def told_start(self, broker: NodeId, start: Offset) -> bool:
        """A follower's log start; returns whether it is new."""
        assert self.leading is not None, "only a leader is fetched from"
        follower = self.leading.followers[broker]
        known, follower.start = follower.start, start
        return known != start

    def shrinking(self, now_ns: int) -> Proposal | None:
        """The ISR without members that have not caught up for replica.lag.time.max.ms."""
        leading = self.leading
        if leading is None or leading.isr.pending is not None:
            return None
        left = tuple(
            broker
            for broker in leading.isr.committed
            if broker == self.me or self._is_caught_up(leading, NodeId(broker), now_ns)
        )
        if left == leading.isr.committed:
            return None
        return self._propose(leading, left)

    def on_response(self, proposal: Proposal, result: PartitionResult, now_ns: int) -> bool:
        """The controller has answered; True if the same proposal is to be sent again."""
        leading = self.leading
        if leading is None or leading.isr.pending is not proposal:
            return False  # the metadata log was faster
        if result.error in _REVERTING:
            leading.isr = leading.isr.reverted()
        elif result.error is ErrorCode.NONE:
            self._granted(leading, proposal, result)
        self._advance(now_ns)
        return result.error not in (*_REVERTING, *_AWAITING)

    def _granted(self, leading: Leading, proposal: Proposal, result: PartitionResult) -> None:
        """An ISR of all replicas is in force from here on: no min ISR is larger, and the ELR is
        empty. If it was in force already, no record will say so.

        Any other ISR is taken from the metadata log alone, where it follows the min ISR by which
        the controller decided the ELR. The answer may overtake that: min ISR was raised from 2 to
        3, a replica left the ISR for the ELR, and the leader, which knew of 2 and of the smaller
        ISR, would have confirmed what that replica lacks (KIP-966).
        """
        assert self.state is not None
        if result.partition_epoch == proposal.partition_epoch:
            leading.isr = leading.isr.reverted()
        elif len(result.isr) == len(self.state.replicas):
            leading.isr = Isr(committed=result.isr)
            self.state = replace(self.state, isr=result.isr, partition_epoch=result.partition_epoch)

    def _expansion(self, leading: Leading, broker: NodeId) -> Proposal | None:
        """It has all that any client has seen, and all of the leader's log at the epoch's start
        (KIP-966, Kip320).
        """
        if broker in leading.isr.maximal or leading.isr.pending is not None:
            return None
        follower = leading.followers[broker]
        needed = max(self.high_watermark, leading.epoch_start)
        if follower.end is None or follower.end < needed:
            return None
        if not self._may_join(broker, follower.broker_epoch):
            return None
        return self._propose(leading, (*leading.isr.committed, broker))

    def _propose(self, leading: Leading, brokers: tuple[int, ...]) -> Proposal:
        assert self.state is not None
        proposal = Proposal(
            isr=tuple(self._member(leading, NodeId(broker)) for broker in brokers),
            leader_epoch=self.state.leader_epoch,
            partition_epoch=self.state.partition_epoch,
        )
        leading.isr = leading.isr.proposing(proposal)
        return proposal

    def _member(self, leading: Leading, broker: NodeId) -> IsrMember:
        """The member, with the broker epoch in which it proved what it has (KIP-903)."""
        if broker == self.me:
            return IsrMember(broker=broker)
        return IsrMember(broker=broker, epoch=leading.followers[broker].broker_epoch)

    def _is_caught_up(self, leading: Leading, broker: NodeId, now_ns: int) -> bool:
        return leading.followers[broker].is_caught_up(self.end, self._lag_ns, now_ns)

    # --- the high watermark ---

    def _advance(self, now_ns: int) -> None:
        """Raise the high watermark to the end that all counted replicas have."""
        leading = self.leading
        assert leading is not None
        if self.high_watermark == self.end or len(leading.isr.committed) < self._min_isr:
            return
        ends = [self.end]
        for broker, follower in leading.followers.items():
            if self._is_counted_on(leading, broker, now_ns):
                if follower.end is None:
                    return
                ends.append(follower.end)
        self.high_watermark = max(self.high_watermark, min(ends))

    def _is_counted_on(self, leading: Leading, broker: NodeId, now_ns: int) -> bool:
        """True also for one that is about to be proposed: otherwise it might never catch up with
        the high watermark (KIP-966 counts the maximal ISR; this is Kafka's own).
        """
        if broker in leading.isr.maximal:
            return True
        epoch = leading.followers[broker].broker_epoch
        return self._is_caught_up(leading, broker, now_ns) and self._may_join(broker, epoch)
