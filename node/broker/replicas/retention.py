"""Retention: deletion of old segments, and DeleteRecords.

Old segments go by age, and if a log has grown too large (`UnifiedLog.deleteOldSegments`). Only what
is committed goes, and only if `cleanup.policy` says so. Each replica decides by its own log, and a
follower's log also begins where its leader's does.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from operator import attrgetter

from node.broker.replicas.logs import KeptSegment
from node.broker.replicas.manager import HostedPartition, Key, ReplicaManager
from node.config import BrokerRole
from node.controller.image import Image
from node.controller.image.topics import INTERNAL
from node.errors import ErrorCode
from node.ids import MS, NO_EPOCH, ConnectionId, Now, Offset
from node.lazy_dataclass import dataclass
from node.outbox import Parking, Waiting
from node.wire.offsets import (
    TO_HIGH_WATERMARK,
    DeletedRecords,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    RecordsToDelete,
)

_POLICY = "cleanup.policy"
_NO_LIMIT = -1
# Logs in one step: to look at one takes some 5 us, and to cut one some flushes.
LOOKED_AT_AT_ONCE, CUT_AT_ONCE = 1_000, 10


def may_delete(image: Image, topic: str) -> bool:
    """May the topic's records be deleted, by age or by request? Not if it is compacted."""
    policy = image.topic_config(topic, _POLICY)
    return policy is None or "delete" in map(str.strip, policy.split(","))


def first_kept(
    segments: Sequence[KeptSegment],
    *,
    end: Offset,
    high_watermark: Offset,
    wall_ms: int,
    retention_ms: int,
    retention_bytes: int,
) -> Offset:
    """The log start after deletion; the present one if all is kept. The last segment goes only by
    age; a limit of -1 is none.
    """
    excess = sum(segment.size for segment in segments) - retention_bytes
    ends = [*(newer.base for _, newer in pairwise(segments)), end]
    first = segments[0].base
    for segment, segment_end in zip(segments, ends, strict=True):
        is_old = retention_ms != _NO_LIMIT and 0 <= segment.newest_ms < wall_ms - retention_ms
        is_last = segment is segments[-1]
        is_excess = retention_bytes != _NO_LIMIT and excess >= segment.size and not is_last
        if segment_end > high_watermark or not (is_old or is_excess):
            break
        excess -= segment.size
        first = segment_end
    return first


class Retention:
    """Checks all logs each log.retention.check.interval.ms, some in a step."""

    def __init__(self, replicas: ReplicaManager, role: BrokerRole) -> None:
        self._replicas = replicas
        self._role = role
        self._due_ns: int | None = None
        self._left: deque[Key] = deque()  # to be checked

    def poll(self, image: Image, now: Now) -> None:
        if self._due_ns is None:
            self._due_ns = now.mono_ns + self._role.retention_delay_ms * MS
        if now.mono_ns >= self._due_ns and not self._left:
            self._due_ns = now.mono_ns + self._role.retention_check_ms * MS
            self._left.extend(held.key for held in self._replicas.all())
        cut = 0
        for _ in range(min(len(self._left), LOOKED_AT_AT_ONCE)):
            held = self._replicas.by_key(self._left.popleft())
            if held is not None and may_delete(image, held.name):
                cut += self._look(held, now.wall_ns // MS)
            if cut == CUT_AT_ONCE:
                return

    def deadline_ns(self) -> int:
        return 0 if self._due_ns is None or self._left else self._due_ns

    def _look(self, held: HostedPartition, wall_ms: int) -> bool:
        """Returns whether the log start was raised."""
        segments = self._replicas.segments(held)
        if not segments:
            return False
        replica, settings = held.replica, held.settings
        first = first_kept(
            segments,
            end=replica.end,
            high_watermark=replica.high_watermark,
            wall_ms=wall_ms,
            retention_ms=settings.retention_ms,
            retention_bytes=settings.retention_bytes,
        )
        is_news = first > replica.start
        if is_news:
            self._replicas.begin_at(held, first)
        return is_news


# DeleteRecords: the leader raises its log start, and its followers do as well (KIP-107;
# `ReplicaManager.deleteRecords`).
#
# The request is answered when all replicas with brokers that are up have deleted the records. A log
# start is durable before it is reported, which Kafka leaves to its next checkpoint. So deleted
# records stay deleted through any power cut.


_until_ns = attrgetter("until_ns")  # the deadline of a waiting request; read after every step


@dataclass(slots=True, kw_only=True)
class _Deleted:
    """One partition: its response once no replica has records below `offset`."""

    result: DeletedRecords
    held: HostedPartition | None = None  # None: not waited for
    leader_epoch: int = NO_EPOCH
    offset: Offset = Offset(0)


@dataclass(slots=True, kw_only=True)
class _WaitingDeletion:
    deleted: list[_Deleted]
    until_ns: int


class Deletions:
    def __init__(self, replicas: ReplicaManager, parking: Parking) -> None:
        self._replicas = replicas
        self._waiting = Waiting[_WaitingDeletion](parking)

    def delete(
        self, connection: ConnectionId, request: DeleteRecordsRequest, image: Image, mono_ns: int
    ) -> DeleteRecordsResponse | None:
        """The response; None: answered later."""
        deleted = [self._delete(each, image) for each in request.partitions]
        waiting = _WaitingDeletion(deleted=deleted, until_ns=mono_ns + request.timeout_ms * MS)
        response = _response(waiting, mono_ns)
        if response is None:
            self._waiting.park(connection, waiting)
        return response

    def poll(self, mono_ns: int) -> None:
        """Answer each waiting request that all replicas have done by now, or that has timed out."""
        if not self._waiting.requests:
            return
        for connection, waiting in self._waiting.all():
            response = _response(waiting, mono_ns)
            if response is not None:
                self._waiting.respond(connection, response)

    def deadline_ns(self) -> int:
        return self._waiting.earliest_ns(_until_ns)

    def _delete(self, requested: RecordsToDelete, image: Image) -> _Deleted:
        at = requested.partition
        held = self._replicas.find(at)
        if held is None:
            error = self._replicas.absent(at).error
            return _Deleted(result=DeletedRecords(partition=at, error=error))
        error = _why_not(held, requested, image)
        if error is not ErrorCode.NONE:
            return _Deleted(result=DeletedRecords(partition=at, error=error))
        replica = held.replica
        to_all = requested.offset == TO_HIGH_WATERMARK
        offset = replica.high_watermark if to_all else Offset(requested.offset)
        if offset > replica.start:
            self._replicas.begin_at(held, offset)
        result, epoch = DeletedRecords(partition=at), replica.leader_epoch
        return _Deleted(result=result, held=held, leader_epoch=epoch, offset=offset)


def _why_not(held: HostedPartition, requested: RecordsToDelete, image: Image) -> ErrorCode:
    if held.name in INTERNAL:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    error = held.replica.refusal(NO_EPOCH)
    if error is not ErrorCode.NONE:
        return error
    if not may_delete(image, held.name):
        return ErrorCode.POLICY_VIOLATION
    is_in = TO_HIGH_WATERMARK <= requested.offset <= held.replica.high_watermark
    return ErrorCode.NONE if is_in else ErrorCode.OFFSET_OUT_OF_RANGE


def _response(waiting: _WaitingDeletion, mono_ns: int) -> DeleteRecordsResponse | None:
    """None: not yet."""
    for each in waiting.deleted:
        _settle(each, is_late=mono_ns >= waiting.until_ns)
    if any(each.held is not None for each in waiting.deleted):
        return None
    return DeleteRecordsResponse(partitions=tuple(each.result for each in waiting.deleted))


def _settle(deleted: _Deleted, *, is_late: bool) -> None:
    held = deleted.held
    if held is None:
        return
    replica, error = held.replica, ErrorCode.NOT_LEADER_OR_FOLLOWER
    low = None
    if replica.leading is not None and replica.leader_epoch == deleted.leader_epoch:
        low = replica.low_watermark()
        is_done = low is not None and low >= deleted.offset
        if not (is_done or is_late):
            return
        error = ErrorCode.NONE if is_done else ErrorCode.REQUEST_TIMED_OUT
    deleted.held = None
    told = deleted.result.low_watermark if low is None else low
    deleted.result = replace(deleted.result, error=error, low_watermark=told)
