"""Where epochs end, and where logs begin: answers to OffsetForLeaderEpoch and DeleteRecords,
compared with the logs of all brokers."""

from collections.abc import Iterator
from typing import NoReturn

from chaos.cluster.sim.invariants.answer_rules import Looked
from chaos.cluster.sim.invariants.broken import Broken
from chaos.cluster.sim.invariants.broker_watch import BrokerWatch, KeptReplicas
from chaos.cluster.sim.invariants.eligible_rules import Key
from chaos.cluster.sim.invariants.heard_requests import Heard
from chaos.cluster.sim.invariants.known_batches import KnownBatch
from chaos.cluster.sim.invariants.told_leaders import TruthOfLeaders
from node.errors import ErrorCode
from node.ids import MS, NodeId, Offset
from node.wire.delete_records import DeletedRecords, DeleteRecordsRequest, DeleteRecordsResponse
from node.wire.offset_for_leader_epoch import (
    EpochEnd,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

_ANY_EPOCH = -1  # in an answer: of an empty log no epoch is certain


class ToldBounds:
    """Answers of one life of a broker. Raises Broken."""

    def __init__(
        self, watch: BrokerWatch, held: KeptReplicas, leaders: TruthOfLeaders, looked: Looked
    ) -> None:
        self._watch = watch
        self._held = held
        self._leaders = leaders
        self._looked = looked

    def _fail(self, rule: str, key: Key, what: str) -> NoReturn:
        name = self._watch.partition(key).name
        raise Broken(rule, f"n{self._held.node} answers for {name} {what}")

    def _refused(self, key: Key, error: ErrorCode, epoch: int, asked: Heard) -> None:
        match error:
            case ErrorCode.NOT_LEADER_OR_FOLLOWER:
                self._leaders.check_denied(key, asked)
            case ErrorCode.FENCED_LEADER_EPOCH | ErrorCode.UNKNOWN_LEADER_EPOCH:
                self._leaders.check_refused_epoch(key, epoch, error)
            case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                self._leaders.check_unknown(key)
            case _:
                pass

    # --- OffsetForLeaderEpoch ---

    def ended(self, told: OffsetForLeaderEpochResponse, asked: Heard) -> None:
        request = asked.request
        if not isinstance(request, OffsetForLeaderEpochRequest):
            return
        for sought, result in zip(request.partitions, told.partitions, strict=True):
            key = self._held.key_of(sought.partition)
            if key is None:
                continue
            if result.error is ErrorCode.NONE:
                self._check_end(key, sought.sought, result, asked)
            else:
                self._refused(key, result.error, sought.epoch, asked)

    def _check_end(self, key: Key, sought: int, result: EpochEnd, asked: Heard) -> None:
        """An epoch newer than the leader's has no end (KIP-101)."""
        rule, held = "told-epochs-end-there", self._held
        if held.has_moved(key, asked.step) or not held.begun[key].leads:
            return
        self._looked[rule] += 1
        told = (result.epoch, result.end)
        if not 0 <= sought <= held.begun[key].epoch:
            right = [(-1, -1)]
        else:
            logs = (held.logs_before.get(key, held.logs[key]), held.logs[key])
            starts = (held.start_before(key), held.log_starts.get(key, Offset(0)))
            right = [
                self._end_in(log, start, sought, held.begun[key].epoch)
                for log in logs
                for start in starts
            ]
        if not any(end == told[1] and epoch in (told[0], _ANY_EPOCH) for epoch, end in right):
            what = f"that of epochs up to {sought} its log has {told[0]}, which ends at {told[1]}; "
            self._fail(rule, key, f"{what}it has {right[-1][0]}, which ends at {right[-1][1]}")

    def _end_in(self, log: KnownBatch, start: Offset, sought: int, led: int) -> tuple[int, int]:
        """The largest epoch up to `sought`, and where it ends. The leader's own epoch begins with
        its leadership; one that is older than the whole log ended before it."""
        if sought == led:
            return led, log.end
        end, batch = log.end, log
        while batch.end > start and batch.epoch > sought:
            end = max(batch.base, start)
            assert batch.prefix is not None, f"{batch} is not the first"
            batch = batch.prefix
        return (batch.epoch if batch.end > start else _ANY_EPOCH), end

    # --- DeleteRecords ---

    def deleted(self, told: DeleteRecordsResponse, asked: Heard, now_ns: int) -> None:
        """`now_ns`: by the broker's clock, or a little later."""
        request = asked.request
        if not isinstance(request, DeleteRecordsRequest):
            return
        is_alone = len(request.partitions) == 1
        for wanted, result in zip(request.partitions, told.partitions, strict=True):
            key = self._held.key_of(wanted.partition)
            if key is None:
                continue
            match result.error:
                case ErrorCode.NONE:
                    self._check_deleted(key, wanted.offset, result, asked)
                case ErrorCode.OFFSET_OUT_OF_RANGE if is_alone:
                    self._check_outside(key, wanted.offset, asked)
                case ErrorCode.REQUEST_TIMED_OUT:
                    self._check_waited(key, request.timeout_ms, asked, now_ns)
                case error:
                    self._refused(key, error, -1, asked)

    def _check_deleted(self, key: Key, wanted: int, result: DeletedRecords, asked: Heard) -> None:
        """Deleted from all replicas on brokers that are up, as far as this one knows."""
        rule, held = "acknowledged-deletions-are-done", self._held
        if held.has_moved(key, asked.step) or not held.begun[key].leads:
            return
        self._looked[rule] += 1
        low, mark = result.low_watermark, held.marks[key]
        if not wanted <= low <= max(mark, held.log_starts.get(key, 0)):
            what = f"that all below {wanted} is deleted, with low watermark {low}; its "
            self._fail(rule, key, f"{what}high watermark is {mark}")
        if held.has_news:
            return  # it may have learnt in this step which brokers are up
        for node, start in self._starts(key):
            if start < max(wanted, low):
                what = f"that no replica has anything below {max(wanted, low)}, and the log of "
                self._fail(rule, key, f"{what}n{node} begins at {start}")

    def _starts(self, key: Key) -> Iterator[tuple[NodeId, Offset]]:
        image, held = self._held.image, self._held
        state = image.topics.partition(*key)
        known = self._watch.log_starts(key)
        for replica in () if state is None else state.replicas:
            node = NodeId(replica)
            is_up = node == held.node or image.brokers.is_active(replica)
            if is_up and node in known and not self._watch.partition(key).forgot(node):
                yield node, known[node]

    def _check_outside(self, key: Key, wanted: int, asked: Heard) -> None:
        rule, held = "out-of-range-is-outside", self._held
        if held.has_moved(key, asked.step) or not held.begun[key].leads:
            return
        self._looked[rule] += 1
        mark = held.mark_before(key)
        if -1 <= wanted <= mark:
            what = f"that {wanted} is out of range, and its high watermark is {mark}"
            self._fail(rule, key, what)

    def _check_waited(self, key: Key, timeout_ms: int, asked: Heard, now_ns: int) -> None:
        rule = "timed-out-was-waited-for"
        self._looked[rule] += 1
        if now_ns - asked.at_ns < timeout_ms * MS:
            what = f"REQUEST_TIMED_OUT after {(now_ns - asked.at_ns) / MS:.3f} ms of {timeout_ms}"
            self._fail(rule, key, what)
