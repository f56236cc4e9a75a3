"""Fetch, for consumers and for followers: a leader's records, and what followers tell by asking.

A follower that asks from an offset has all below; so a Fetch moves the high watermark, and the ISR
(KIP-966, KIP-903). It gets all of the log; consumers get what is below the high watermark. One that
finds too little waits: for records, and a follower also for a newer high watermark, and to hear
that the log begins later.
"""

from dataclasses import dataclass

from node.broker.held_replicas import Held, HeldReplicas, Key
from node.broker.isr_changes import IsrChanges
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, ZERO_UUID, ConnectionId, Offset
from node.parking import Parking, Waiting
from node.records.batch import read_header
from node.wire.partition_fetch import (
    CONSUMER,
    NO_OFFSET,
    FetchedPartition,
    FetchedRecords,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)


@dataclass(slots=True, kw_only=True)
class _Waiting:
    request: PartitionsFetchRequest
    until_ns: int


class FetchRequests:
    def __init__(self, replicas: HeldReplicas, changes: IsrChanges, parking: Parking) -> None:
        self._replicas = replicas
        self._changes = changes
        self._waiting = Waiting[_Waiting](parking)
        # To followers: of high watermarks, and of where logs begin.
        self._told: dict[tuple[int, Key], tuple[int, int]] = {}

    def fetch(
        self, connection: ConnectionId, request: PartitionsFetchRequest, mono_ns: int
    ) -> PartitionsFetchResponse | None:
        """None: answered later."""
        if request.replica != CONSUMER:
            self._count(request, mono_ns)
        answer = self._read(request)
        if request.max_wait_ms <= 0 or self._is_enough(request, answer):
            return self._tell(request, answer)
        until_ns = mono_ns + request.max_wait_ms * MS
        self._waiting.park(connection, _Waiting(request=request, until_ns=until_ns))
        return None

    def poll(self, mono_ns: int) -> None:
        """Answer who waits for what is there now, or waited long enough."""
        for connection, waiting in self._waiting.all():
            answer = self._read(waiting.request)
            if mono_ns >= waiting.until_ns or self._is_enough(waiting.request, answer):
                self._waiting.answer(connection, self._tell(waiting.request, answer))

    def deadline_ns(self) -> int:
        return min((each.until_ns for _, each in self._waiting.all()), default=NEVER_NS)

    def _count(self, request: PartitionsFetchRequest, mono_ns: int) -> None:
        """What a follower has, where its log does not diverge."""
        for each in request.partitions:
            held = self._replicas.find(each.partition)
            if held is None or self._refusal(request, each, held) is not ErrorCode.NONE:
                continue
            replica = held.replica
            replica.told_start(request.replica, Offset(each.log_start))
            if replica.divergence(each.last_epoch, Offset(each.offset)) is None:
                proposal = replica.fetched_by(
                    request.replica, Offset(each.offset), request.broker_epoch, mono_ns
                )
                self._replicas.note(held)
                if proposal is not None:
                    self._changes.propose(held, proposal)

    def _refusal(
        self, request: PartitionsFetchRequest, asked: FetchedPartition, held: Held
    ) -> ErrorCode:
        replica = held.replica
        error = replica.refusal(asked.epoch)
        if error is not ErrorCode.NONE:
            return error
        assert replica.leading is not None
        is_other = request.replica != CONSUMER and request.replica not in replica.leading.followers
        if is_other:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        is_in = replica.start <= asked.offset <= replica.end
        is_fine = is_in or replica.divergence(asked.last_epoch, Offset(asked.offset)) is not None
        return ErrorCode.NONE if is_fine else ErrorCode.OFFSET_OUT_OF_RANGE

    def _read(self, request: PartitionsFetchRequest) -> PartitionsFetchResponse:
        left, found = request.max_bytes, []
        for each in request.partitions:
            found.append(self._read_partition(request, each, left))
            left = max(0, left - len(found[-1].records))
        return PartitionsFetchResponse(partitions=tuple(found))

    def _read_partition(
        self, request: PartitionsFetchRequest, asked: FetchedPartition, left: int
    ) -> FetchedRecords:
        at, held = asked.partition, self._replicas.find(asked.partition)
        if held is None:
            is_named = at.id == ZERO_UUID
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return FetchedRecords(
                partition=at, error=unknown if is_named else ErrorCode.UNKNOWN_TOPIC_ID
            )
        replica, error = held.replica, self._refusal(request, asked, held)
        if error is not ErrorCode.NONE:
            return FetchedRecords(
                partition=at,
                error=error,
                leader=replica.leader,
                leader_epoch=replica.leader_epoch,
                log_start=replica.start if error is ErrorCode.OFFSET_OUT_OF_RANGE else NO_OFFSET,
            )
        diverging = replica.divergence(asked.last_epoch, Offset(asked.offset))
        records = b""
        limit = replica.high_watermark if request.replica == CONSUMER else replica.end
        if diverging is None and asked.offset < limit and left > 0:
            data = self._replicas.read(held, Offset(asked.offset), min(left, asked.max_bytes))
            records = _below(data, limit)
        return FetchedRecords(
            partition=at,
            high_watermark=replica.high_watermark,
            log_start=replica.start,
            diverging=diverging,
            records=records,
        )

    def _is_enough(self, request: PartitionsFetchRequest, answer: PartitionsFetchResponse) -> bool:
        found = answer.partitions
        size = sum(len(each.records) for each in found)
        is_news = any(each.error is not ErrorCode.NONE or each.diverging for each in found)
        if size >= max(request.min_bytes, 1) or is_news or not found:
            return bool(found) or request.min_bytes == 0
        return request.replica != CONSUMER and any(
            self._told.get(_told_key(request, each)) != _news(each) for each in found
        )

    def _tell(
        self, request: PartitionsFetchRequest, answer: PartitionsFetchResponse
    ) -> PartitionsFetchResponse:
        if request.replica != CONSUMER:
            for each in answer.partitions:
                self._told[_told_key(request, each)] = _news(each)
        return answer


def _told_key(request: PartitionsFetchRequest, each: FetchedRecords) -> tuple[int, Key]:
    return request.replica, (each.partition.id, each.partition.index)


def _news(each: FetchedRecords) -> tuple[int, int]:
    return each.high_watermark, each.log_start


def _below(data: bytes, limit: Offset) -> bytes:
    """The whole batches that end at `limit` or before."""
    position = 0
    while position < len(data):
        header = read_header(data, position)
        if header.next_offset > limit:
            break
        position += header.size
    return data[:position]
