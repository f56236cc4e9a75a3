"""Produce: what a leader appends, and when it answers (KIP-98, KIP-966; `ReplicaManager`)."""

from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from struct import Struct

from node.broker.controller_link import ControllerLink
from node.broker.lifecycle import Lifecycle
from node.broker.replicas.logs import TopicSettings
from node.broker.replicas.manager import HostedPartition, PartitionRefusal, ReplicaManager
from node.broker.replicas.producers import NO_PRODUCER_EPOCH
from node.controller.image.topics import INTERNAL
from node.effects import CloseConnection, NoResponse
from node.errors import ErrorCode
from node.ids import MS, NO_EPOCH, ConnectionId, Epoch, LogId, NodeId, Now, Offset
from node.lazy_dataclass import dataclass
from node.outbox import Outbox, Parking, ResponseTo, Waiting
from node.records.batch import (
    HEADER_SIZE,
    MAGIC,
    NO_TIME,
    BatchHeader,
    DamagedBatch,
    at_append_time,
    check_batch,
    check_crc,
    unpack_header,
)
from node.records.record_checks import MistakenRecords, check_contents
from node.storage.disk import CorruptLog
from node.storage.producers import NO_PRODUCER
from node.wire.apis import Response
from node.wire.entities import TopicPartition
from node.wire.produce import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProducedPartition,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)

ALL, LEADER, NONE = -1, 1, 0  # acks
_BASE_OFFSET, _LEADER_EPOCH = Struct(">q"), Struct(">i")
_AFTER_LENGTH, _AFTER_EPOCH = 12, 16
_TRANSACTIONAL = 0x10
_FORMER_MAGICS = (0, 1)  # which Produce took before version 3
# Bytes of a request that are appended in one step, the last batch whole: to check, copy and write a
# partition's records takes some 2 ms a MiB, and 0.1 ms however few there are.
_STEP_BYTES = 4 * 1024 * 1024
_PARTITION_AS_BYTES = 64 * 1024


_until_ns = attrgetter("until_ns")  # the deadline of a waiting request; read after every step


@dataclass(slots=True, kw_only=True)
class _Appended:
    """One partition: its response once all of the ISR have the records below `end`."""

    result: ProduceResult
    held: HostedPartition | None = None  # None: not waited for
    leader_epoch: int = NO_EPOCH
    end: Offset = Offset(0)


@dataclass(slots=True, kw_only=True)
class _BegunProduce:
    """A partly appended request: `appended` are the first of its partitions."""

    request: ProduceRequest
    appended: list[_Appended]
    until_ns: int

    @property
    def is_done(self) -> bool:
        return len(self.appended) == len(self.request.partitions)


@dataclass(slots=True, kw_only=True)
class _WaitingProduce:
    appended: list[_Appended]
    until_ns: int


class ProduceRequests:
    def __init__(self, replicas: ReplicaManager, parking: Parking, outbox: Outbox) -> None:
        self._outbox = outbox
        self._replicas = replicas
        self._waiting = Waiting[_WaitingProduce](parking)
        self._begun = Waiting[_BegunProduce](parking)

    def append(
        self, connection: ConnectionId, request: ProduceRequest, now: Now
    ) -> ProduceResponse | None:
        """The response; None: answered later, or not at all."""
        until_ns = now.mono_ns + request.timeout_ms * MS
        begun = _BegunProduce(request=request, appended=[], until_ns=until_ns)
        self._append_some(begun, now)
        if not begun.is_done:
            self._begun.park(connection, begun)
            return None
        return self._appended(connection, begun)

    def go_on(self, now: Now) -> None:
        """Continue with the longest pending request. All ready input is served: others wait for a
        part of a large request at most.
        """
        if not self._begun.requests:
            return
        connection, begun = next(iter(self._begun.requests.items()))
        self._append_some(begun, now)
        if begun.is_done:
            self._begun.leave(connection)
            response = self._appended(connection, begun)
            if response is not None:
                self._outbox.emit(ResponseTo(connection, response))

    def _append_some(self, begun: _BegunProduce, now: Now) -> None:
        request, left = begun.request, _STEP_BYTES
        while not begun.is_done and left > 0:
            produced = request.partitions[len(begun.appended)]
            begun.appended.append(self._append(request, produced, now))
            left -= len(produced.records) + _PARTITION_AS_BYTES

    def _appended(self, connection: ConnectionId, begun: _BegunProduce) -> ProduceResponse | None:
        """All is appended. Returns the response; None: answered later, or not at all."""
        request, appended = begun.request, begun.appended
        if request.acks == NONE:
            self._leave_unanswered(connection, appended)
            return None
        if request.acks == ALL and any(each.held is not None for each in appended):
            waiting = _WaitingProduce(appended=appended, until_ns=begun.until_ns)
            self._waiting.park(connection, waiting)
            for each in appended:
                if each.held is not None:
                    self._replicas.note(each.held)  # all may have it since it was appended
            return None
        return ProduceResponse(results=tuple(each.result for each in appended))

    def _leave_unanswered(self, connection: ConnectionId, appended: list[_Appended]) -> None:
        """A client that asked for no answer learns of an error by the end of its connection
        (`KafkaApis.handleProduceRequest`).
        """
        errors = [each.result.error for each in appended if each.result.error]
        if errors:
            reason = f"records without acknowledgement (acks=0) failed: {errors[0].name}"
            self._outbox.emit(CloseConnection(connection=connection, reason=reason))
        else:
            self._outbox.emit(NoResponse(connection=connection))

    def poll(self, moved: Mapping[LogId, HostedPartition], mono_ns: int) -> None:
        """Answer each waiting request that is replicated by now, or has timed out."""
        if not self._waiting.requests:
            return
        for connection, waiting in self._waiting.all():
            is_late = mono_ns >= waiting.until_ns
            for each in waiting.appended:
                if is_late or (each.held is not None and each.held.log in moved):
                    _settle(each, is_late=is_late)
            if all(each.held is None for each in waiting.appended):
                results = tuple(each.result for each in waiting.appended)
                self._waiting.respond(connection, ProduceResponse(results=results))

    def deadline_ns(self) -> int:
        if self._begun.requests:
            return 0
        return self._waiting.earliest_ns(_until_ns)

    def _append(self, request: ProduceRequest, produced: ProducedPartition, now: Now) -> _Appended:
        at = produced.partition
        held = self._replicas.find(at)
        error = _why_not_requested(request)
        if error is not ErrorCode.NONE:
            return _refused(at, PartitionRefusal(error=error))
        if held is None:
            return _refused(at, self._replicas.absent(at))
        error = _why_not(request, held)
        is_known = error is ErrorCode.NOT_ENOUGH_REPLICAS and self._is_in_log(held, produced)
        if error is not ErrorCode.NONE and not is_known:
            return _refused(at, _by(held, error))
        header = _checked(produced.records, held.settings, now.wall_ns // MS)
        if isinstance(header, ErrorCode):
            return _refused(at, _by(held, header))
        return self._append_once(held, at, header, produced.records, now)

    def _is_in_log(self, held: HostedPartition, produced: ProducedPartition) -> bool:
        """Then it waits for replicas, as on its first arrival. A client that gets
        NOT_ENOUGH_REPLICAS takes the batch for not appended, and sends it in another epoch: then it
        would be in the log twice, as in Kafka, which does not check (docs/results/duplicates.md).
        """
        try:
            header = check_batch(produced.records)
            return self._replicas.producers(held).duplicate(header) is not None
        except (DamagedBatch, CorruptLog):
            return False  # it is refused for its own error

    def _append_once(
        self,
        held: HostedPartition,
        at: TopicPartition,
        header: BatchHeader,
        records: bytes,
        now: Now,
    ) -> _Appended:
        """Append it unless it is in the log already (KIP-98)."""
        replica, append_ms = held.replica, NO_TIME
        if held.settings.takes_append_time:
            append_ms = now.wall_ns // MS
        try:
            producers = self._replicas.producers(held)
        except CorruptLog as damage:
            # Whether it is in the log already cannot be known.
            self._replicas.damaged(held, damage)
            return _refused(at, _by(held, ErrorCode.KAFKA_STORAGE_ERROR))
        known = producers.duplicate(header)
        if known is not None:
            base, end = known.base, known.end
            self._replicas.note(held)  # all may have it already
        else:
            error = producers.refusal(header)
            if error is not ErrorCode.NONE:
                return _refused(at, _by(held, error))
            if append_ms != NO_TIME:
                header, records = at_append_time(header, records, append_ms)
            placed = header._replace(
                base_offset=replica.end, leader_epoch=Epoch(replica.leader_epoch)
            )
            base, end = placed.base_offset, placed.next_offset
            self._replicas.append(held, _placed(records, placed), [placed], now.mono_ns)
            producers.appended(placed)
        result = ProduceResult(
            partition=at, base_offset=base, log_start=replica.start, append_ms=append_ms
        )
        return _Appended(result=result, held=held, leader_epoch=replica.leader_epoch, end=end)


def _checked(records: bytes, settings: TopicSettings, wall_ms: int) -> BatchHeader | ErrorCode:
    """The header of a client's only batch, or why it is not appended.

    The order is Kafka's (`ProduceRequest.validateRecords`, `UnifiedLog.append`, `LogValidator`):
    no CRC is computed of what is too large anyway; and of a batch that was damaged on its way the
    producer hears that it was, and sends it again, whatever else its bytes say.
    """
    if len(records) < HEADER_SIZE:
        return ErrorCode.INVALID_RECORD
    header = unpack_header(records)
    if header.magic not in (*_FORMER_MAGICS, MAGIC) or header.size < HEADER_SIZE:
        return ErrorCode.CORRUPT_MESSAGE
    is_only = header.size == len(records)  # neither torn, nor followed by another
    if header.magic != MAGIC or not is_only or header.base_offset != 0:
        return ErrorCode.INVALID_RECORD
    if header.size > settings.batch_bytes:
        return ErrorCode.MESSAGE_TOO_LARGE
    try:
        check_crc(header, records)
    except DamagedBatch:
        return ErrorCode.CORRUPT_MESSAGE
    is_plain = not header.is_control and not header.attributes & _TRANSACTIONAL
    is_full = 0 < header.record_count == header.last_offset_delta + 1
    is_numbered = header.producer_id < 0 or header.base_sequence >= 0
    if not (is_plain and is_full and is_numbered):
        return ErrorCode.INVALID_RECORD
    try:
        check_contents(header, records)
    except MistakenRecords:
        return ErrorCode.INVALID_RECORD
    if _is_out_of_time(header, settings, wall_ms):
        return ErrorCode.INVALID_TIMESTAMP
    if header.size > settings.segments.size:
        return ErrorCode.RECORD_LIST_TOO_LARGE
    return header


def _is_out_of_time(header: BatchHeader, settings: TopicSettings, wall_ms: int) -> bool:
    """Is a timestamp of the batch, by its header, too far from the leader's clock (KIP-937)? A
    record need have none.
    """
    if settings.takes_append_time:
        return False
    latest, first = header.max_timestamp_ms, header.base_timestamp_ms
    is_late = latest != NO_TIME and latest > wall_ms + settings.after_max_ms
    return is_late or (first != NO_TIME and first < wall_ms - settings.before_max_ms)


def _why_not_requested(request: ProduceRequest) -> ErrorCode:
    if request.acks not in (ALL, LEADER, NONE):
        return ErrorCode.INVALID_REQUIRED_ACKS
    if request.transactional_id is not None:
        return ErrorCode.UNSUPPORTED_VERSION
    return ErrorCode.NONE


def _why_not(request: ProduceRequest, held: HostedPartition) -> ErrorCode:
    if held.name in INTERNAL:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    error = held.replica.refusal(NO_EPOCH)
    if error is ErrorCode.NONE and request.acks == ALL and not held.replica.may_append_for_all():
        return ErrorCode.NOT_ENOUGH_REPLICAS
    return error


def _by(held: HostedPartition, error: ErrorCode) -> PartitionRefusal:
    replica = held.replica
    return PartitionRefusal(error=error, leader=replica.leader, leader_epoch=replica.leader_epoch)


def _refused(at: TopicPartition, why: PartitionRefusal) -> _Appended:
    result = ProduceResult(partition=at, error=why.error)
    if why.error is ErrorCode.NOT_LEADER_OR_FOLLOWER:
        result = replace(result, leader=why.leader, leader_epoch=why.leader_epoch)
    return _Appended(result=result)


def _settle(appended: _Appended, *, is_late: bool) -> None:
    held = appended.held
    if held is None:
        return
    error: ErrorCode | None = ErrorCode.NOT_LEADER_OR_FOLLOWER
    if held.replica.leading is not None and held.replica.leader_epoch == appended.leader_epoch:
        error = held.replica.acknowledgement(appended.end)
    if error is None and is_late:
        error = ErrorCode.REQUEST_TIMED_OUT
    if error is not None:
        appended.held = None
        if error is not ErrorCode.NONE:
            # With the offset, as in Kafka: it is in the log, and consumers may yet see it.
            appended.result = replace(appended.result, error=error)


def _placed(records: bytes, placed: BatchHeader) -> bytes:
    """The batch with its base offset and leader epoch, which the CRC does not cover."""
    return b"".join(
        (
            _BASE_OFFSET.pack(placed.base_offset),
            records[_BASE_OFFSET.size : _AFTER_LENGTH],
            _LEADER_EPOCH.pack(placed.leader_epoch),
            records[_AFTER_EPOCH:],
        )
    )


# Ids for idempotent producers, from blocks that the controller allocates (KIP-730).


_TOO_LATE = InitProducerIdResponse(error=ErrorCode.REQUEST_TIMED_OUT)
_PATIENCE_NS = 30_000 * MS  # request.timeout.ms


class ProducerIdSource:
    def __init__(
        self, me: NodeId, lifecycle: Lifecycle, link: ControllerLink, parking: Parking
    ) -> None:
        self._me = me
        self._lifecycle = lifecycle
        self._link = link
        self._waiting = Waiting[int](parking)  # until when
        self._next = self._end = 0  # what is left of the block
        self._is_requested = False

    def take(
        self, connection: ConnectionId, request: InitProducerIdRequest, mono_ns: int
    ) -> InitProducerIdResponse | None:
        """None: answered when the controller has allocated a block, or at the timeout. There are no
        transactions here, and a client with that answer does not ask again.
        """
        if (request.producer_id == NO_PRODUCER) != (request.producer_epoch == NO_PRODUCER_EPOCH):
            return InitProducerIdResponse(error=ErrorCode.INVALID_REQUEST)
        if request.transactional_id is not None:
            is_id = request.transactional_id != ""
            error = ErrorCode.UNSUPPORTED_VERSION if is_id else ErrorCode.INVALID_REQUEST
            return InitProducerIdResponse(error=error)
        if self._next < self._end:
            return self._taken()
        if self._waiting.park(connection, mono_ns + _PATIENCE_NS) and not self._is_requested:
            self._is_requested = True
            block = AllocateProducerIdsRequest(broker=self._me, epoch=self._lifecycle.epoch)
            self._link.send(block, self._given)
        return None

    def poll(self, mono_ns: int) -> None:
        """Answer the requests that have timed out."""
        if not self._waiting.requests:
            return
        for connection, until_ns in self._waiting.all():
            if mono_ns >= until_ns:
                self._waiting.respond(connection, _TOO_LATE)

    def deadline_ns(self) -> int:
        return self._waiting.earliest_ns(lambda until_ns: until_ns)

    def _taken(self) -> InitProducerIdResponse:
        self._next += 1
        return InitProducerIdResponse(producer_id=self._next - 1, producer_epoch=0)

    def _given(self, response: Response | None, mono_ns: int) -> None:  # noqa: ARG002 (Answered)
        self._is_requested = False
        if isinstance(response, AllocateProducerIdsResponse) and not response.error:
            self._next, self._end = response.first, response.first + response.count
        for connection, _ in self._waiting.all():
            is_left = self._next < self._end
            self._waiting.respond(connection, self._taken() if is_left else _TOO_LATE)
