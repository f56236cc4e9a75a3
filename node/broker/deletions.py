"""DeleteRecords: a leader's log begins later from now on, and so do its followers' (KIP-107;
`ReplicaManager.deleteRecords`).

It is answered when all replicas whose brokers are up have deleted them. Where logs begin is durable
before anybody is told, which Kafka leaves to its next checkpoint. So what was deleted stays so,
whoever loses its power.
"""

from dataclasses import replace
from operator import attrgetter

from node.broker.held_replicas import Held, HeldReplicas
from node.broker.retention import may_delete
from node.controller.image import Image
from node.controller.image.topics import INTERNAL
from node.errors import ErrorCode
from node.ids import MS, NO_EPOCH, ConnectionId, Offset
from node.lazy_dataclass import dataclass
from node.parking import Parking, Waiting
from node.wire.delete_records import (
    TO_HIGH_WATERMARK,
    DeletedRecords,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    RecordsToDelete,
)

_until_ns = attrgetter("until_ns")  # of who waits; asked for after every step


@dataclass(slots=True, kw_only=True)
class _Deleted:
    """Of one partition: what is answered once nobody has records below `offset`."""

    result: DeletedRecords
    held: Held | None = None  # None: it is not to be waited for
    leader_epoch: int = NO_EPOCH
    offset: Offset = Offset(0)


@dataclass(slots=True, kw_only=True)
class _WaitingDeletion:
    deleted: list[_Deleted]
    until_ns: int


class Deletions:
    def __init__(self, replicas: HeldReplicas, parking: Parking) -> None:
        self._replicas = replicas
        self._waiting = Waiting[_WaitingDeletion](parking)

    def delete(
        self, connection: ConnectionId, request: DeleteRecordsRequest, image: Image, mono_ns: int
    ) -> DeleteRecordsResponse | None:
        """None: answered later."""
        deleted = [self._delete(each, image) for each in request.partitions]
        waiting = _WaitingDeletion(deleted=deleted, until_ns=mono_ns + request.timeout_ms * MS)
        response = _response(waiting, mono_ns)
        if response is None:
            self._waiting.park(connection, waiting)
        return response

    def poll(self, mono_ns: int) -> None:
        """Answer who waits for what all have done now, or waited for too long."""
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


def _why_not(held: Held, requested: RecordsToDelete, image: Image) -> ErrorCode:
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
