"""Fetch 4-18 of partitions: for consumers, and for the replicas that follow a leader.

Fetch of the metadata log is another message (`fetch`): brokers do not serve it. A follower's broker
epoch comes with 15 (KIP-903), topic ids with 13, the epoch of its last record with 12 (KIP-595),
and sessions with 7 (KIP-227): a request in a session names only what changed since the last one.
"""

from dataclasses import field, replace
from datetime import timedelta
from struct import Struct
from types import SimpleNamespace
from typing import Any

from node.codec.varint import write_unsigned
from node.effects import Slice, read_all
from node.errors import ErrorCode
from node.ids import (
    NO_BROKER_EPOCH,
    NO_EPOCH,
    NO_NODE,
    NO_OFFSET,
    Epoch,
    LogPosition,
    NodeId,
    Offset,
)
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import (
    NO_THROTTLE,
    TopicPartition,
    by_topic,
    our_error,
    pack_topic,
    read_partition,
)

_NEWEST = 18
_FIRST_WITH_LEADER = 16  # KIP-951
_FIRST_FLEXIBLE = 12  # KIP-482
_FIRST_WITH_IDS = 13  # topic ids in place of names
_FIRST_FROM_FOLLOWERS = 11  # KIP-392
CONSUMER = NodeId(-1)  # in place of a replica
NO_SESSION = 0
FIRST_SESSION_EPOCH = 0  # asks for all, and for a session
NO_SESSION_EPOCH = -1  # asks for all, without a session
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPartition:
    """What follows `offset`. `epoch` is the leader's, `last_epoch` that of the record before;
    `log_start` the log start of a follower that asks (KIP-107). -1: not given.
    """

    partition: TopicPartition
    offset: int
    epoch: int = NO_EPOCH
    last_epoch: int = NO_EPOCH
    log_start: int = NO_OFFSET
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsFetchRequest:
    """In a session `partitions` are those that are new in it or have changed, and `forgotten` those
    that are no longer asked for. `by_id`: topics are named by their ids. `may_be_from_follower`: a
    consumer knows that it may ask a follower, too.
    """

    replica: NodeId = CONSUMER
    broker_epoch: int = NO_BROKER_EPOCH
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partitions: tuple[FetchedPartition, ...]
    session: int = NO_SESSION
    session_epoch: int = NO_SESSION_EPOCH
    forgotten: tuple[TopicPartition, ...] = ()
    by_id: bool = field(default=True, compare=False)
    may_be_from_follower: bool = True

    @property
    def is_whole(self) -> bool:
        """Does it name all partitions that it asks for? (`FetchMetadata.isFull`)"""
        return self.session_epoch in (FIRST_SESSION_EPOCH, NO_SESSION_EPOCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedRecords:
    """At most one of `diverging` and `records` says how to go on."""

    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    high_watermark: int = -1
    log_start: int = NO_OFFSET
    diverging: LogPosition | None = None
    leader: NodeId = NO_NODE
    leader_epoch: int = NO_EPOCH
    records: bytes = b""
    sliced: Slice | None = None  # in place of records: where they are in files


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsFetchResponse:
    """`session`: the one that was continued or opened."""

    error: ErrorCode = ErrorCode.NONE
    session: int = NO_SESSION
    partitions: tuple[FetchedRecords, ...] = ()

    @property
    def is_sliced(self) -> bool:
        return any(each.sliced is not None for each in self.partitions)

    def read(self) -> "PartitionsFetchResponse":
        """The response with the records that are in files, as they are now."""
        if not self.is_sliced:
            return self
        return replace(self, partitions=tuple(map(_with_records, self.partitions)))


def _with_records(told: FetchedRecords) -> FetchedRecords:
    if told.sliced is None:
        return told
    return replace(told, records=read_all(told.sliced), sliced=None)


def _read_request(entity: Any) -> PartitionsFetchRequest:
    state = getattr(entity, "replica_state", entity)
    return PartitionsFetchRequest(
        replica=NodeId(state.replica_id),
        broker_epoch=getattr(state, "replica_epoch", NO_BROKER_EPOCH),
        max_wait_ms=entity.max_wait // _MILLISECOND,
        min_bytes=entity.min_bytes,
        max_bytes=entity.max_bytes,
        partitions=tuple(
            FetchedPartition(
                partition=read_partition(topic, each.partition),
                offset=each.fetch_offset,
                epoch=getattr(each, "current_leader_epoch", NO_EPOCH),
                last_epoch=getattr(each, "last_fetched_epoch", NO_EPOCH),
                log_start=getattr(each, "log_start_offset", NO_OFFSET),
                max_bytes=each.partition_max_bytes,
            )
            for topic in entity.topics
            for each in topic.partitions
        ),
        session=getattr(entity, "session_id", NO_SESSION),
        session_epoch=getattr(entity, "session_epoch", NO_SESSION_EPOCH),
        forgotten=tuple(
            read_partition(topic, index)
            for topic in getattr(entity, "forgotten_topics_data", ())
            for index in topic.partitions
        ),
        by_id=entity.__version__ >= _FIRST_WITH_IDS,
        may_be_from_follower=entity.__version__ >= _FIRST_FROM_FOLLOWERS,
    )


def _write_request(message: PartitionsFetchRequest, kio: SimpleNamespace) -> Any:
    state = {}
    if kio.version >= 15:
        state["replica_state"] = kio.ReplicaState(
            replica_id=message.replica, replica_epoch=message.broker_epoch
        )
    return kio.FetchRequest(
        replica_id=message.replica,
        max_wait=timedelta(milliseconds=message.max_wait_ms),
        min_bytes=message.min_bytes,
        max_bytes=message.max_bytes,
        session_id=message.session,
        session_epoch=message.session_epoch,
        topics=tuple(
            kio.FetchTopic(
                topic=at.name,
                topic_id=at.id,
                partitions=tuple(
                    kio.FetchPartition(
                        partition=each.partition.index,
                        current_leader_epoch=each.epoch,
                        fetch_offset=each.offset,
                        last_fetched_epoch=each.last_epoch,
                        log_start_offset=each.log_start,
                        partition_max_bytes=each.max_bytes,
                    )
                    for each in partitions
                ),
            )
            for at, partitions in by_topic(message.partitions, lambda each: each.partition)
        ),
        forgotten_topics_data=tuple(
            kio.ForgottenTopic(
                topic=at.name,
                topic_id=at.id,
                partitions=tuple(each.index for each in partitions),
            )
            for at, partitions in by_topic(message.forgotten, lambda each: each)
        ),
        **state,
    )


def _pack_request(message: PartitionsFetchRequest, version: int) -> bytes | None:
    """Packs what followers ask all the time."""
    if version != _NEWEST or message.replica == CONSUMER:
        return None
    wait = (message.max_wait_ms, message.min_bytes, message.max_bytes)
    out = bytearray(_ASKED.pack(*wait, 0, message.session, message.session_epoch))
    topics = by_topic(message.partitions, lambda each: each.partition)
    write_unsigned(out, len(topics) + 1)
    for at, partitions in topics:
        pack_topic(out, at, len(partitions), by_id=True)
        for each in partitions:
            out += _ASKED_PARTITION.pack(
                *(each.partition.index, each.epoch, each.offset, each.last_epoch),
                *(each.log_start, each.max_bytes, 0),
            )
        out.append(0)
    forgotten = by_topic(message.forgotten, lambda each: each)
    write_unsigned(out, len(forgotten) + 1)
    for at, gone in forgotten:
        pack_topic(out, at, len(gone), by_id=True)
        for one in gone:
            out += _INDEX.pack(one.index)
        out.append(0)
    # No rack, and one tagged field, the replica.
    return bytes(out + _ASKING.pack(1, 1, 1, 13, message.replica, message.broker_epoch, 0))


# The formats of `_pack_request` and `_pack_response`, with sizes and tags (KIP-482).
_ASKED = Struct(">iiibii")
_ASKED_PARTITION = Struct(">iiqiqiB")
_INDEX = Struct(">i")
_ASKING = Struct(">BBBBiqB")
_TOLD = Struct(">ihi")
_TOLD_PARTITION = Struct(">ihqqqBi")


def _read_response(entity: Any) -> PartitionsFetchResponse:
    return PartitionsFetchResponse(
        error=our_error(getattr(entity, "error_code", ErrorCode.NONE)),
        session=getattr(entity, "session_id", NO_SESSION),
        partitions=tuple(
            _read_records(topic, each) for topic in entity.responses for each in topic.partitions
        ),
    )


def _read_records(topic: Any, partition: Any) -> FetchedRecords:
    diverging = getattr(partition, "diverging_epoch", None)
    leader = getattr(partition, "current_leader", None)
    return FetchedRecords(
        partition=read_partition(topic, partition.partition_index),
        error=our_error(partition.error_code),
        high_watermark=partition.high_watermark,
        log_start=getattr(partition, "log_start_offset", NO_OFFSET),
        diverging=(
            LogPosition(Epoch(diverging.epoch), Offset(diverging.end_offset))
            if diverging is not None and diverging.epoch >= 0
            else None
        ),
        leader=NO_NODE if leader is None else NodeId(leader.leader_id),
        leader_epoch=NO_EPOCH if leader is None else leader.leader_epoch,
        records=partition.records or b"",
    )


def _write_response(message: PartitionsFetchResponse, kio: SimpleNamespace) -> Any:
    return kio.FetchResponse(
        throttle_time=NO_THROTTLE,
        error_code=message.error,
        session_id=message.session,
        responses=tuple(
            kio.FetchableTopicResponse(
                topic=at.name,
                topic_id=at.id,
                partitions=tuple(_write_records(each, kio) for each in partitions),
            )
            for at, partitions in by_topic(message.partitions, lambda each: each.partition)
        ),
    )


def _write_records(found: FetchedRecords, kio: SimpleNamespace) -> Any:
    optional: dict[str, Any] = {}
    if found.diverging is not None and kio.version >= 12:
        optional["diverging_epoch"] = kio.EpochEndOffset(
            epoch=found.diverging.epoch, end_offset=found.diverging.offset
        )
    if found.leader_epoch != NO_EPOCH and kio.version >= _FIRST_WITH_LEADER:
        optional["current_leader"] = kio.LeaderIdAndEpoch(
            leader_id=found.leader, leader_epoch=found.leader_epoch
        )
    return kio.PartitionData(
        partition_index=found.partition.index,
        error_code=found.error,
        high_watermark=found.high_watermark,
        last_stable_offset=found.high_watermark,  # without transactions
        log_start_offset=found.log_start,
        aborted_transactions=None,
        preferred_read_replica=NO_NODE,
        records=found.records if found.sliced is None else found.sliced,
        **optional,
    )


def _pack_response(message: PartitionsFetchResponse, version: int) -> bytes | None:
    """Packs any number of partitions, with nothing but records and their offsets."""
    if version < _FIRST_FLEXIBLE:
        return None
    out = bytearray(_TOLD.pack(0, message.error, message.session))
    topics = by_topic(message.partitions, lambda each: each.partition)
    write_unsigned(out, len(topics) + 1)
    for at, partitions in topics:
        pack_topic(out, at, len(partitions), by_id=version >= _FIRST_WITH_IDS)
        for each in partitions:
            if each.diverging is not None or each.leader_epoch != NO_EPOCH:
                return None
            assert each.sliced is None, "what is in files is no bytes yet"
            watermark = each.high_watermark
            out += _TOLD_PARTITION.pack(
                *(each.partition.index, each.error, watermark, watermark, each.log_start),
                *(0, NO_NODE),  # no aborted transactions, no preferred replica
            )
            write_unsigned(out, len(each.records) + 1)
            out += each.records
            out.append(0)
        out.append(0)
    out.append(0)
    return bytes(out)


PARTITIONS_FETCH = Api(
    key=1,
    name="Fetch",
    package="fetch",
    min_version=4,
    max_version=18,
    request=PartitionsFetchRequest,
    read_request=_read_request,
    write_request=_write_request,
    pack_request=_pack_request,
    read_response=_read_response,
    write_response=_write_response,
    pack_response=_pack_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
