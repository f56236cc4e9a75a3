"""Planted bugs in the replication of partitions between brokers (P)."""

from typing import Any
from weakref import WeakSet

from chaos.bugs.planted import Planted
from node.broker.replicas.fetchers import Fetchers, _Fetcher
from node.broker.replicas.isr import Proposal
from node.broker.replicas.manager import HostedPartition, Key, ReplicaManager
from node.broker.replicas.replica import Leading, Replica
from node.broker.requests.fetch import FetchRequests
from node.broker.requests.fetch_sessions import FetchClock
from node.codec import read_whole
from node.controller.image import Image
from node.controller.image.topics import Partition
from node.controller.partitions import changes as partition_changes
from node.controller.partitions.changes import Rules, _Elected
from node.ids import NO_EPOCH, Endpoint, LogPosition, NodeId, Offset
from node.records.schemas import NO_LEADER
from node.wire import frames
from node.wire.alter_partition import PartitionResult
from node.wire.entities import TopicPartition, grouped
from node.wire.partition_fetch import FetchedPartition, FetchedRecords, PartitionsFetchRequest

# P-DIVERGE-ACK: a follower is counted by its fetch offset, though its log has diverged from the
# leader's below that (KAFKA-13141).


def whatever_it_holds(
    self: FetchRequests,
    request: PartitionsFetchRequest,
    requested: FetchedPartition,
    held: HostedPartition,
    _diverging: LogPosition | None,
    clock: FetchClock,
) -> None:
    held.replica.told_start(request.replica, Offset(requested.log_start))
    end = min(Offset(requested.offset), held.replica.end)
    held.replica.asked_by(request.replica, clock)
    epoch = request.broker_epoch
    proposal = held.replica.fetched_by(request.replica, end, epoch, clock.fetched_ns)
    self._replicas.note(held)
    if proposal is not None:
        self._changes.propose(held, proposal)


P_DIVERGE_ACK = Planted(owner=FetchRequests, decision="_count", wrong=whatever_it_holds)


# P-EARLY-HWM: a follower with a diverging log takes over the leader's high watermark first, and
# truncates its log afterwards (KAFKA-14704).


_take_p_early_hwm = Fetchers._take


def before_the_cut(
    self: Fetchers, fetcher: _Fetcher, held: HostedPartition, told: FetchedRecords, mono_ns: int
) -> bool:
    if held.replica.leading is None and told.diverging is not None:
        held.replica.told_high_watermark(Offset(max(told.high_watermark, 0)))
    return _take_p_early_hwm(self, fetcher, held, told, mono_ns)


P_EARLY_HWM = Planted(owner=Fetchers, decision="_take", wrong=before_the_cut)


# P-HWM-COMMITTED: a lagging replica is not waited for, though it is still in the committed ISR:
# the proposed ISR counts, not the maximal one (HS AsyncIsr).


def only_who_has_caught_up(self: Replica, leading: Leading, broker: NodeId, now_ns: int) -> bool:
    return self._is_caught_up(leading, broker, now_ns)


P_HWM_COMMITTED = Planted(owner=Replica, decision="_is_counted_on", wrong=only_who_has_caught_up)


# P-HWM-DOWN: a leader's high watermark falls to the offset of a follower that it has not heard.


def the_slowest_of_all(self: Replica, now_ns: int) -> None:
    leading = self.leading
    assert leading is not None
    ends = [
        follower.end or Offset(0)
        for broker, follower in leading.followers.items()
        if self._is_counted_on(leading, broker, now_ns)
    ]
    if len(leading.isr.committed) >= self._min_isr:
        self.high_watermark = min(self.end, *ends) if ends else self.end


P_HWM_DOWN = Planted(owner=Replica, decision="_advance", wrong=the_slowest_of_all)


# P-HWM-MINISR: the high watermark moves however few replicas are in the ISR (KAFKA-15583).


_advance = Replica._advance


def with_any_isr(self: Replica, now_ns: int) -> None:
    asked, self._min_isr = self._min_isr, 0
    _advance(self, now_ns)
    self._min_isr = asked


P_HWM_MINISR = Planted(owner=Replica, decision="_advance", wrong=with_any_isr)


# P-HWM-STUCK: a shrunk ISR does not move the high watermark, though its remaining members have
# everything (KAFKA-13091).


_update, _on_response = Replica.update, Replica.on_response


def update(self: Replica, state: Partition, min_isr: int, now_ns: int) -> None:
    led, known = self.leading is not None, self.high_watermark
    _update(self, state, min_isr, now_ns)
    if led and self.leading is not None:
        self.high_watermark = known


def on_response(self: Replica, proposal: Proposal, result: PartitionResult, now_ns: int) -> bool:
    known = self.high_watermark
    is_asked_again = _on_response(self, proposal, result, now_ns)
    if self.leading is not None:
        self.high_watermark = known
    return is_asked_again


P_HWM_STUCK = Planted(
    owner=Replica,
    decision="update",
    wrong=update,
    other=Planted(owner=Replica, decision="on_response", wrong=on_response),
)


# P-LAST-REPLICA: the last member of the ISR is waited for, and leads again with what it has left,
# though others that lost nothing are eligible (KIP-966, Motivation).


_as_it_should = partition_changes._elect


def last_leader_alone(before: Partition, after: Partition, rules: Rules) -> _Elected:
    last = before.last_known_elr
    if after.isr or len(last) != 1:
        return _as_it_should(before, after, rules)
    if rules.may_lead(last[0]):
        return _Elected(leader=last[0], is_unclean=True)
    return _Elected(leader=NO_LEADER)


P_LAST_REPLICA = Planted(owner=partition_changes, decision="_elect", wrong=last_leader_alone)


# P-LASTEPOCH: a follower forgets the epoch of its last record after an empty Fetch, and the next
# leader cannot tell where their logs diverge (KAFKA-15510).


_take_p_lastepoch = Fetchers._take
_forgetful: WeakSet[Replica] = WeakSet()


def forget(
    self: Fetchers, fetcher: _Fetcher, held: HostedPartition, told: FetchedRecords, mono_ns: int
) -> bool:
    (_forgetful.discard if told.records else _forgetful.add)(held.replica)
    return _take_p_lastepoch(self, fetcher, held, told, mono_ns)


def until_more_is_appended(self: Replica) -> int:
    known = self._epochs.epochs
    return known[-1] if known and self not in _forgetful else NO_EPOCH


P_LASTEPOCH = Planted(
    owner=Fetchers,
    decision="_take",
    wrong=forget,
    other=Planted(owner=Replica, decision="last_epoch", wrong=property(until_more_is_appended)),
)


# P-NAME-ALL: a follower names all that it follows in one Fetch, more than its leader takes, which
# hangs up on it each time: nothing is replicated any more. This node's leaders took 2,000 elements;
# here they take fewer, so that a small cluster shows it.


_name = Fetchers._name


def all_at_once(
    self: Fetchers, fetcher: _Fetcher, mono_ns: int
) -> tuple[tuple[FetchedPartition, ...], tuple[TopicPartition, ...]]:
    named: list[FetchedPartition] = []
    forgotten: list[TopicPartition] = []
    while fetcher.changed:
        some, gone = _name(self, fetcher, mono_ns)
        named += some
        forgotten += gone
    return (
        grouped(named, lambda each: each.partition),
        grouped(forgotten, lambda each: each),
    )


_FEW = 100


def few_of_a_fetch(entity: type, *frame: Any, most: int, **how: Any) -> Any:
    few = _FEW if entity.__name__ == "FetchRequest" else most
    return read_whole(entity, *frame, most=few, **how)


P_NAME_ALL = Planted(
    owner=Fetchers,
    decision="_name",
    wrong=all_at_once,
    other=Planted(owner=frames, decision="read_whole", wrong=few_of_a_fetch),
)


# P-SHUT-HWM: a broker that has shut down is waited for until its lag time is over, though the
# controller has removed it from the ISR: produces stall meanwhile (KAFKA-15021).


def as_if_it_were_there(self: Replica, leading: Leading, broker: NodeId, now_ns: int) -> bool:
    return broker in leading.isr.maximal or self._is_caught_up(leading, broker, now_ns)


P_SHUT_HWM = Planted(owner=Replica, decision="_is_counted_on", wrong=as_if_it_were_there)


# P-STALE-DIVERGE: a pending Fetch outlives its leader's term, and a log is truncated where it
# diverges from that of the earlier leader, which answers late, whichever broker leads since
# (KAFKA-18991).


_take_p_stale_diverge = Fetchers._take
_follow_address = Fetchers._follow_address


def whenever_it_comes(
    self: Fetchers, fetcher: _Fetcher, held: HostedPartition, told: FetchedRecords, mono_ns: int
) -> bool:
    if held.replica.leading is None and told.diverging is not None:
        self._replicas.truncate(held, held.replica.truncation(told.diverging))
        return True
    return _take_p_stale_diverge(self, fetcher, held, told, mono_ns)


def when_it_has_answered(
    self: Fetchers, leader: NodeId, fetcher: _Fetcher, at: Endpoint | None, mono_ns: int
) -> None:
    if at is not None or not fetcher.is_out or mono_ns >= fetcher.due_ns:
        _follow_address(self, leader, fetcher, at, mono_ns)


P_STALE_DIVERGE = Planted(
    owner=Fetchers,
    decision="_take",
    wrong=whenever_it_comes,
    other=Planted(owner=Fetchers, decision="_follow_address", wrong=when_it_has_answered),
)


# P-STRAY: replicas of topics that were deleted while a broker was off stay on its disk for ever
# (KAFKA-14616).


def keep_them(self: ReplicaManager) -> None:
    del self


P_STRAY = Planted(owner=ReplicaManager, decision="_remove_strays", wrong=keep_them)


# P-TRUNC-HWM: a follower of a new leader truncates its log to its own high watermark, as Apache
# Kafka did before KIP-101.


_tell = ReplicaManager._tell


def cut_and_follow(
    self: ReplicaManager, image: Image, key: Key, state: Partition, mono_ns: int
) -> None:
    held = self.by_key(key)
    before = None if held is None else held.replica.leader
    _tell(self, image, key, state, mono_ns)
    held = self.by_key(key)
    assert held is not None
    replica = held.replica
    follows = replica.leading is None and state.has_leader and before not in (None, state.leader)
    if follows and replica.high_watermark < replica.end:
        self.truncate(held, replica.high_watermark)


P_TRUNC_HWM = Planted(owner=ReplicaManager, decision="_tell", wrong=cut_and_follow)
