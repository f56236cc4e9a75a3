"""Judges answers about epoch ends and log starts (OffsetForLeaderEpoch, DeleteRecords) by the logs
of all brokers, and answers about leaders by the metadata."""

from collections.abc import Iterator
from typing import NoReturn

from chaos.cluster.sim.invariants.broker_watch import BrokerWatch, KeptReplicas
from chaos.cluster.sim.invariants.committed_changes import Key
from chaos.cluster.sim.invariants.known_batches import KnownBatch
from chaos.cluster.sim.invariants.rules import Broken, Heard, Looked
from node.errors import ErrorCode
from node.ids import MS, ZERO_UUID, NodeId, Offset
from node.wire.offsets import (
    DeletedRecords,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    EpochEnd,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from node.wire.topic_metadata import DescribedPartition, MetadataResponse

# Leaders of partitions: a broker's answers about itself and others, compared with the metadata.


_NO_NODE = -1


class TruthOfLeaders:
    """Answers of one life of a broker. Raises Broken. What changed in the very step of an answer is
    not judged: the answer may be from before or after that."""

    def __init__(self, watch: BrokerWatch, held: KeptReplicas, looked: Looked) -> None:
        self._watch = watch
        self._held = held
        self._looked = looked

    def may_ask(self, key: Key, replica: int) -> bool:
        """Consumers, and those that keep a replica."""
        state = self._held.image.topics.partition(*key)
        return replica < 0 or (state is not None and replica in state.replicas)

    def check_denied(self, key: Key, asked: Heard) -> None:
        """It answers that it does not lead, to a request that arrived after it had begun to."""
        rule, held = "leaders-do-not-deny-it", self._held
        begun, state = held.begun.get(key), held.image.topics.partition(*key)
        if begun is None or state is None or held.has_news:
            return
        self._looked[rule] += 1
        leads = state.leader == held.node and begun.epoch == state.leader_epoch and begun.leads
        if leads and begun.step < asked.step:
            name = self._watch.partition(key).name
            what = (
                f"n{held.node} answers that it does not lead {name}, and leads it in leader epoch "
            )
            raise Broken(rule, f"{what}{begun.epoch}")

    def check_refused_epoch(self, key: Key, said: int, error: ErrorCode) -> None:
        """Epochs rise: the refused one is older than the one known after the step, or newer than
        the one before."""
        rule, held = "refused-epochs-are-others", self._held
        begun = held.begun.get(key)
        before = held.epoch_before(key)
        if begun is None or before is None:
            return
        self._looked[rule] += 1
        is_older = error is ErrorCode.FENCED_LEADER_EPOCH
        if not (0 <= said < begun.epoch if is_older else said > before):
            known = begun.epoch if is_older else before
            name = self._watch.partition(key).name
            what = (
                f"n{held.node} answers {error.name} for {name} to a request with leader epoch "
                f"{said}, "
            )
            raise Broken(rule, f"{what}and knows {known} itself")

    def check_unknown(self, key: Key) -> None:
        """`key` was found in the newest image of the broker."""
        rule, held = "unknown-is-not-there", self._held
        if held.has_news:
            return
        self._looked[rule] += 1
        if held.image.topics.partition(*key) is not None:
            name = self._watch.partition(key).name
            what = (
                f"n{held.node} answers that it does not know {name}, and its metadata has it below "
            )
            raise Broken(rule, f"{what}{held.applied}")

    def check_told(self, key: Key, leader: int, epoch: int) -> None:
        """The leader of a partition, named by a replica that does not lead it."""
        if leader == _NO_NODE or epoch < 0:
            return
        rule = "told-leaders-led"
        known = self._watch.changes.leader_in(key, epoch)
        if known is None:
            return  # between two snapshots
        self._looked[rule] += 1
        if known != leader:
            name = self._watch.partition(key).name
            what = (
                f"n{self._held.node} answers that n{leader} leads {name} in leader epoch {epoch}, "
            )
            raise Broken(rule, f"{what}in which n{known} does")

    def described(self, told: MetadataResponse) -> None:
        rule, held = "told-metadata-is-so", self._held
        if held.has_news:
            return
        for topic in told.topics:
            if topic.error is not ErrorCode.NONE or topic.id == ZERO_UUID:
                continue
            for each in topic.partitions:
                self._looked[rule] += 1
                self._check_described((topic.id, each.index), each)

    def _check_described(self, key: Key, told: DescribedPartition) -> None:
        """A leader that is down is reported as none."""
        state = self._held.image.topics.partition(*key)
        is_so = state is not None and (
            (told.leader_epoch, told.replicas, told.isr)
            == (state.leader_epoch, state.replicas, state.isr)
            and told.leader in (state.leader, _NO_NODE)
        )
        if not is_so:
            name = self._watch.partition(key).name
            what = (
                f"n{self._held.node} answers for {name} with {told}, and its metadata has {state}"
            )
            raise Broken("told-metadata-is-so", what)


_ANY_EPOCH = -1  # in an answer: of an empty log no epoch is certain


class EpochEndAnswers:
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
