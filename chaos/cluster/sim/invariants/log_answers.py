"""Judges answers to Produce, Fetch and ListOffsets by the logs of all brokers, also by the
sequences of idempotent producers."""

from collections.abc import Iterator
from itertools import islice
from typing import NoReturn

from crc32c import crc32c

from chaos.cluster.sim.invariants.broker_watch import BrokerWatch, KeptReplicas
from chaos.cluster.sim.invariants.committed_changes import Key
from chaos.cluster.sim.invariants.epoch_end_answers import TruthOfLeaders
from chaos.cluster.sim.invariants.known_batches import (
    SEQUENCES,
    KnownBatch,
    Sent,
    cut,
    holds,
    sent_by,
)
from chaos.cluster.sim.invariants.rules import Broken, Heard, Looked
from node.errors import ErrorCode
from node.ids import MS, NodeId, Offset
from node.records.batch import HEADER_SIZE, read_header
from node.wire.offsets import ListedOffset, ListOffsetsRequest, ListOffsetsResponse
from node.wire.partition_fetch import (
    NO_SESSION,
    FetchedPartition,
    FetchedRecords,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.produce import ProducedPartition, ProduceRequest, ProduceResponse, ProduceResult

# The batches that an idempotent producer may send next, by the log alone (KIP-98, KIP-360).


_REMEMBERED = 5  # batches of one producer: as many as one may have in flight


def why_not_next(sent: Sent, log: KnownBatch) -> str:
    """Why a batch may not be appended to that log; empty where it may. Takes as many steps as
    batches of others were appended since the last one of this producer."""
    last = _last_of(sent.producer, log)
    if last is None:
        return ""  # an unknown producer may begin anywhere
    if sent.epoch < last.epoch:
        return f"the log has producer epoch {last.epoch}"
    expected = (last.last + 1) % SEQUENCES if sent.epoch == last.epoch else 0
    return "" if sent.first == expected else f"{expected} comes next"


def is_repeated(sent: Sent, log: KnownBatch) -> bool:
    """Whether it is a duplicate of one of its producer's newest batches in the log."""
    last = _last_of(sent.producer, log)
    newest = islice(_of(sent.producer, log), _REMEMBERED)
    is_of_now = last is not None and last.epoch == sent.epoch
    return is_of_now and any(each == sent for each in newest)


def _last_of(producer: int, log: KnownBatch) -> Sent | None:
    return next(_of(producer, log), None)


def _of(producer: int, log: KnownBatch) -> Iterator[Sent]:
    """A producer's batches, the newest first."""
    batch: KnownBatch | None = log
    while batch is not None:
        if batch.sent is not None and batch.sent.producer == producer:
            yield batch.sent
        batch = batch.prefix


_ALL = -1  # acks
_CONSUMER = -1  # the replica id of consumers
_LATEST, _EARLIEST, _EARLIEST_LOCAL = -1, -2, -4  # special timestamps of ListOffsets

_AskedFor = dict[object, FetchedPartition]  # by partition


_ATTRIBUTES = 21  # where a batch has them, and what its CRC covers begins
_MAX_TIMESTAMP = 35
_LOG_APPEND_TIME = 0x08


def _stored_crc(records: bytes, crc: int, append_ms: int) -> int:
    """The CRC of a sent batch as its leader stores it: with `append_ms`, which the answer names
    where message.timestamp.type is LogAppendTime (else -1), as its time (KIP-32)."""
    if append_ms < 0:
        return crc
    stored = bytearray(records)
    stored[_ATTRIBUTES + 1] |= _LOG_APPEND_TIME
    stored[_MAX_TIMESTAMP : _MAX_TIMESTAMP + 8] = append_ms.to_bytes(8, "big")
    return crc32c(bytes(stored[_ATTRIBUTES:]))


class LogAnswers:
    """Answers of one life of a broker. Raises Broken."""

    def __init__(
        self, watch: BrokerWatch, held: KeptReplicas, leaders: TruthOfLeaders, looked: Looked
    ) -> None:
        self._watch = watch
        self._held = held
        self._leaders = leaders
        self._looked = looked
        self._sessions: dict[int, _AskedFor] = {}  # what each Fetch session asks for

    def _fail(self, rule: str, key: Key, what: str) -> NoReturn:
        name = self._watch.partition(key).name
        raise Broken(rule, f"n{self._held.node} answers for {name} {what}")

    # --- Produce ---

    def produced(self, told: ProduceResponse, asked: Heard, now_ns: int) -> None:
        """`now_ns`: by the broker's clock, or a little later."""
        request = asked.request
        if not isinstance(request, ProduceRequest):
            return
        places = [self._held.key_of(each.partition) for each in request.partitions]
        for key, sent, result in zip(places, request.partitions, told.results, strict=True):
            if key is None:
                continue
            if result.error is ErrorCode.NONE:
                self._acknowledged(key, sent, result, request.acks, asked)
            else:
                is_named_once = places.count(key) == 1
                self._not_produced(key, sent, result, is_named_once=is_named_once, asked=asked)
                if result.error is ErrorCode.REQUEST_TIMED_OUT:
                    self._timed_out(key, sent, result, request.timeout_ms, asked, now_ns)
                self._leaders.check_told(key, result.leader, result.leader_epoch)

    def _acknowledged(
        self,
        key: Key,
        sent: ProducedPartition,
        result: ProduceResult,
        acks: int,
        asked: Heard,
    ) -> None:
        if self._held.has_moved(key, asked.step):
            return  # it no longer leads, or leads again, and answers for an earlier leadership
        rule = "acknowledged-is-in-the-log"
        self._looked[rule] += 1
        header, log = read_header(sent.records), self._held.logs[key]
        end = Offset(result.base_offset + header.last_offset_delta + 1)
        found = cut(log, end)
        of_producer = sent_by(header)
        if of_producer is None:
            is_same = found.crc == _stored_crc(sent.records, header.crc, result.append_ms)
        else:
            is_same = found.sent == of_producer
        if (found.base, found.end) != (result.base_offset, end) or not is_same:
            what = f"that a batch is at {result.base_offset} to {end}, and its log has {found}"
            self._fail(rule, key, f"{what}, which is another")
        if acks == _ALL:
            self._check_isr(key, found)

    def _check_isr(self, key: Key, batch: KnownBatch) -> None:
        """Judged by the leader's ISR, and by the newest that any broker knows."""
        rule, held, partition = "acknowledged-is-on-the-isr", self._held, self._watch.partition(key)
        isr, promised = held.isrs.get(key), self._watch.promised(key, held.image)
        if isr is None or promised is None or partition.was_forgotten_since(held.begun[key].epoch):
            return
        self._looked[rule] += 1
        if not holds(partition.shown, batch):
            what = f"that {batch} is on all of the ISR, and published is {partition.shown}"
            self._fail(rule, key, what)
        members, newest = set(isr.maximal), self._watch.newest(key)
        if newest is not None and newest.state.leader_epoch == held.begun[key].epoch:
            # Its leader may know a later one already, from the controller that changed it.
            is_news = newest.state.partition_epoch >= isr.partition_epoch
            members |= set(newest.state.isr) if is_news else set()
        logs = self._watch.logs(key)
        for broker in sorted(members):
            log = logs.get(NodeId(broker))
            if log is not None and not holds(log, batch) and not partition.forgot(NodeId(broker)):
                what = (
                    f"that {batch} is on all of the ISR, and n{broker}, which is in it, has {log}"
                )
                self._fail(rule, key, what)
        if promised.state.leader_epoch == held.begun[key].epoch and len(members) < promised.min_isr:
            what = f"that {batch} is on all of the ISR, which is {sorted(members)}, and min ISR is "
            self._fail(rule, key, f"{what}{promised.min_isr}")

    def _not_produced(
        self,
        key: Key,
        sent: ProducedPartition,
        result: ProduceResult,
        *,
        is_named_once: bool,
        asked: Heard,
    ) -> None:
        match result.error:
            case ErrorCode.NOT_LEADER_OR_FOLLOWER:
                self._leaders.check_denied(key, asked)
            case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION | ErrorCode.UNKNOWN_TOPIC_ID:
                self._leaders.check_unknown(key)
            case ErrorCode.NOT_ENOUGH_REPLICAS | ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
                self._too_few(key, result.error)
            case ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER | ErrorCode.INVALID_PRODUCER_EPOCH:
                if is_named_once:
                    self._out_of_order(key, sent, result.error)
            case _:
                pass

    def _too_few(self, key: Key, error: ErrorCode) -> None:
        """The committed ISR before an append, and what may be the ISR after it."""
        rule, held = "too-few-replicas-are-too-few", self._held
        isrs = [isr for isr in (held.isrs.get(key), held.isrs_before.get(key)) if isr is not None]
        promised = self._watch.promised(key, held.image)
        if not isrs or promised is None or held.has_news:
            return
        self._looked[rule] += 1
        before_append = error is ErrorCode.NOT_ENOUGH_REPLICAS
        sizes = [len(isr.committed if before_append else isr.maximal) for isr in isrs]
        if min(sizes) >= promised.min_isr:
            what = f"{error.name}, and its ISR has {min(sizes)} members; min ISR is "
            self._fail(rule, key, f"{what}{promised.min_isr}")

    def _out_of_order(self, key: Key, sent: ProducedPartition, error: ErrorCode) -> None:
        rule, held = "out-of-order-does-not-follow", self._held
        log, of_producer = held.logs.get(key), sent_by(read_header(sent.records))
        if log is None or of_producer is None or held.log_starts.get(key, 0) > 0:
            return  # producer state of deleted records may be kept, or not
        self._looked[rule] += 1
        is_there = is_repeated(of_producer, log)
        if is_there or not why_not_next(of_producer, log):
            where = "is in its log" if is_there else "comes next in its log"
            what = f"{error.name} of what producer {of_producer.producer} sent from "
            self._fail(rule, key, f"{what}{of_producer.first} on, which {where}")

    def _timed_out(
        self,
        key: Key,
        sent: ProducedPartition,
        result: ProduceResult,
        timeout_ms: int,
        asked: Heard,
        now_ns: int,
    ) -> None:
        rule, held = "timed-out-was-waited-for", self._held
        if held.has_moved(key, asked.step):
            return
        self._looked[rule] += 1
        if now_ns - asked.at_ns < timeout_ms * MS:
            what = f"REQUEST_TIMED_OUT after {(now_ns - asked.at_ns) / MS:.3f} ms of {timeout_ms}"
            self._fail(rule, key, what)
        end = result.base_offset + read_header(sent.records).last_offset_delta + 1
        mark = held.mark_before(key)
        if result.base_offset >= 0 and mark >= end:
            what = f"REQUEST_TIMED_OUT for records up to {end}, and its high watermark was {mark}"
            self._fail(rule, key, what)

    # --- Fetch ---

    def fetched(self, told: PartitionsFetchResponse, asked: Heard) -> None:
        request = asked.request
        if not isinstance(request, PartitionsFetchRequest) or told.error is not ErrorCode.NONE:
            return
        for sought, result in self._answered(request, told):
            key = self._held.key_of(sought.partition)
            if key is None:
                continue
            if result.error is ErrorCode.NONE:
                self._found(key, request, sought, result, asked)
                continue
            match result.error:
                case ErrorCode.OFFSET_OUT_OF_RANGE:
                    self._out_of_range(key, sought, asked)
                case ErrorCode.NOT_LEADER_OR_FOLLOWER:
                    is_of_it = self._leaders.may_ask(key, request.replica)
                    if is_of_it:
                        self._leaders.check_denied(key, asked)
                case ErrorCode.FENCED_LEADER_EPOCH | ErrorCode.UNKNOWN_LEADER_EPOCH:
                    self._leaders.check_refused_epoch(key, sought.epoch, result.error)
                case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION | ErrorCode.UNKNOWN_TOPIC_ID:
                    self._leaders.check_unknown(key)
                case _:
                    pass
            self._leaders.check_told(key, result.leader, result.leader_epoch)

    def _answered(
        self, request: PartitionsFetchRequest, told: PartitionsFetchResponse
    ) -> list[tuple[FetchedPartition, FetchedRecords]]:
        """Each partition's answer, and its request: this one, or an earlier one of the session."""
        named: _AskedFor = {each.partition: each for each in request.partitions}
        if request.session_epoch <= 0:  # a full request, which names all partitions
            if told.session != NO_SESSION:
                self._sessions[told.session] = named
            return list(zip(request.partitions, told.partitions, strict=True))
        sought = self._sessions.get(request.session, {})
        sought.update(named)
        for gone in request.forgotten:
            sought.pop(gone, None)
        return [(sought[each.partition], each) for each in told.partitions]

    def _found(
        self,
        key: Key,
        request: PartitionsFetchRequest,
        sought: FetchedPartition,
        result: FetchedRecords,
        asked: Heard,
    ) -> None:
        held, log = self._held, self._held.logs.get(key)
        if log is None or held.has_moved(key, asked.step):
            return
        self._check_range(key, result)
        mark = Offset(result.high_watermark)
        if held.begun[key].leads:
            self._check_mark(key, result.high_watermark)
        elif not self._watch.partition(key).was_forgotten_since(log.epoch):
            self._check_followers_mark(key, log, mark)
        if result.records:
            is_consumer = request.replica == _CONSUMER
            limit = mark if is_consumer else log.end
            self._check_records(key, log, sought.offset, result.records, limit)

    def _check_range(self, key: Key, result: FetchedRecords) -> None:
        rule, held = "told-offsets-are-the-logs", self._held
        self._looked[rule] += 1
        after, before = held.log_starts.get(key, 0), held.start_before(key)
        if not min(before, after) <= result.log_start <= max(before, after):
            what = f"that its log begins at {result.log_start}, and it begins at {after}"
            self._fail(rule, key, what)

    def _check_mark(self, key: Key, told: int) -> None:
        rule, held = "told-offsets-are-the-logs", self._held
        before, after = held.mark_before(key), held.marks[key]
        self._looked[rule] += 1
        if not before <= told <= after:
            what = f"that its high watermark is {told}, and it was {before}, and is {after}"
            self._fail(rule, key, what)

    def _check_followers_mark(self, key: Key, log: KnownBatch, told: Offset) -> None:
        """A follower has no higher one than was published, and of the same log."""
        rule, shown = "told-offsets-are-the-logs", self._watch.partition(key).shown
        self._looked[rule] += 1
        if told > log.end or not holds(shown, cut(log, told)):
            what = f"that its high watermark is {told}, and published is {shown}; it has {log}"
            self._fail(rule, key, what)

    def _check_records(
        self, key: Key, log: KnownBatch, offset: int, records: bytes, limit: Offset
    ) -> None:
        rule, batches = "told-records-are-the-logs", self._watch.partition(key).batches
        self._looked[rule] += 1
        position, expected = 0, None
        while position + HEADER_SIZE <= len(records):
            header = read_header(records, position)
            found = batches.find(header.leader_epoch, header.base_offset)
            is_it = found is not None and (found.crc, found.end) == (header.crc, header.next_offset)
            is_there = is_it and found is not None and holds(log, found)
            if not is_there:
                what = (
                    f"with a batch at {header.base_offset} of epoch {header.leader_epoch}, which "
                )
                self._fail(rule, key, f"{what}is not in its log; that ends with {log}")
            if header.next_offset > limit:
                what = (
                    f"with records below {header.next_offset}, and answers that all below {limit} "
                )
                self._fail(rule, key, f"{what}is committed")
            follows = header.base_offset <= offset < header.next_offset
            if not follows if expected is None else header.base_offset != expected:
                what = f"with a batch at {header.base_offset}, where {expected or offset} was to "
                self._fail(rule, key, f"{what}come")
            expected, position = header.next_offset, position + header.size

    def _out_of_range(self, key: Key, sought: FetchedPartition, asked: Heard) -> None:
        """Not judged where the client knows a later epoch than this broker."""
        rule, held = "out-of-range-is-outside", self._held
        log, begun = held.logs.get(key), held.begun.get(key)
        if log is None or begun is None or held.has_moved(key, asked.step):
            return
        self._looked[rule] += 1
        first = max(held.log_starts.get(key, 0), held.start_before(key))
        end = min(log.end, held.end_before(key))
        if sought.last_epoch <= begun.epoch and first <= sought.offset <= end:
            what = f"that {sought.offset} is out of range, and its log goes from {first} to {end}"
            self._fail(rule, key, what)

    # --- ListOffsets ---

    def listed(self, told: ListOffsetsResponse, asked: Heard) -> None:
        request = asked.request
        if not isinstance(request, ListOffsetsRequest):
            return
        places = [self._held.key_of(each.partition) for each in request.partitions]
        for key, sought, result in zip(places, request.partitions, told.partitions, strict=True):
            if key is None or places.count(key) > 1:
                continue
            match result.error:
                case ErrorCode.NONE:
                    self._listed_offset(key, sought.timestamp_ms, result, asked)
                case ErrorCode.NOT_LEADER_OR_FOLLOWER:
                    self._leaders.check_denied(key, asked)
                case ErrorCode.FENCED_LEADER_EPOCH | ErrorCode.UNKNOWN_LEADER_EPOCH:
                    self._leaders.check_refused_epoch(key, sought.epoch, result.error)
                case ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    self._leaders.check_unknown(key)
                case ErrorCode.OFFSET_NOT_AVAILABLE:
                    self._not_available(key, asked)
                case _:
                    pass

    def _listed_offset(self, key: Key, time_ms: int, result: ListedOffset, asked: Heard) -> None:
        rule, held = "told-offsets-are-the-logs", self._held
        if held.has_moved(key, asked.step) or not held.begun[key].leads:
            return
        self._looked[rule] += 1
        starts = sorted((held.start_before(key), held.log_starts.get(key, 0)))
        marks = held.mark_before(key), held.marks[key]
        if time_ms == _LATEST:
            lowest, highest = marks
        elif time_ms in (_EARLIEST, _EARLIEST_LOCAL):
            lowest, highest = starts
        elif result.offset == -1:
            return
        else:
            lowest, highest = starts[0], marks[1] - 1
        if not lowest <= result.offset <= highest:
            what = f"offset {result.offset} for time {time_ms}; its log begins at {starts[1]}, "
            self._fail(rule, key, f"{what}and its high watermark is {marks[1]}")

    def _not_available(self, key: Key, asked: Heard) -> None:
        """A new leader's high watermark may be below one that was published before (KIP-207)."""
        rule, held = "told-offsets-are-the-logs", self._held
        if held.has_moved(key, asked.step) or not held.begun[key].leads:
            return
        self._looked[rule] += 1
        begun, mark = held.begun[key], held.mark_before(key)
        if mark >= begun.end:
            what = (
                f"that no offset is known yet, and its high watermark is {mark}; it began to lead "
            )
            self._fail(rule, key, f"{what}at {begun.end}")
