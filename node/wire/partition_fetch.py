"""Fetch 4-18 of partitions: for consumers, and for the replicas that follow a leader.

Fetch of the metadata log is another message (`fetch`): brokers do not serve it. A follower's broker
epoch comes with 15 (KIP-903), topic ids with 13, the epoch of its last record with 12 (KIP-595),
and sessions with 7 (KIP-227): a request in a session names only what changed since the last one.
"""

from dataclasses import field, replace
from struct import Struct
from typing import Annotated, Any

from node.codec.varint import write_unsigned
from node.effects import Slice, read_all
from node.errors import ErrorCode
from node.ids import (
    NO_BROKER_EPOCH,
    NO_EPOCH,
    NO_NODE,
    NO_OFFSET,
    LogPosition,
    NodeId,
)
from node.lazy_dataclass import dataclass
from node.wire.api import NAMES, Api
from node.wire.declared import Error, Functions, Kio, Tagged, since
from node.wire.entities import (
    PartitionFields,
    TopicPartition,
    by_topic,
    in_topics,
    of_topics,
    pack_topic,
    position,
)

_NEWEST = 18
_FIRST_WITH_LEADER = 16  # KIP-951
_FIRST_FLEXIBLE = 12  # KIP-482
_FIRST_WITH_IDS = 13  # topic ids in place of names
CONSUMER = NodeId(-1)  # in place of a replica
NO_SESSION = 0
FIRST_SESSION_EPOCH = 0  # asks for all, and for a session
NO_SESSION_EPOCH = -1  # asks for all, without a session


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPartition:
    """What follows `offset`. `epoch` is the leader's, `last_epoch` that of the record before;
    `log_start` the log start of a follower that asks (KIP-107). -1: not given.
    """

    partition: PartitionFields
    offset: Annotated[int, "fetch_offset"]
    epoch: Annotated[int, "current_leader_epoch"] = NO_EPOCH
    last_epoch: Annotated[int, "last_fetched_epoch"] = NO_EPOCH
    log_start: Annotated[int, "log_start_offset"] = NO_OFFSET
    max_bytes: Annotated[int, "partition_max_bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsFetchRequest:
    """In a session `partitions` are those that are new in it or have changed, and `forgotten` those
    that are no longer asked for. `by_id`: topics are named by their ids. `may_be_from_follower`: a
    consumer knows that it may ask a follower, too.
    """

    replica: Annotated[NodeId, Kio("replica_state.replica_id", "replica_id")] = CONSUMER
    broker_epoch: Annotated[int, "replica_state.replica_epoch"] = NO_BROKER_EPOCH
    max_wait_ms: Annotated[int, "max_wait"]
    min_bytes: int
    max_bytes: int
    partitions: Annotated[tuple[FetchedPartition, ...], in_topics("topics", "partitions")]
    session: Annotated[int, "session_id"] = NO_SESSION
    session_epoch: int = NO_SESSION_EPOCH
    forgotten: Annotated[
        tuple[TopicPartition, ...], of_topics("forgotten_topics_data", "partitions")
    ] = ()
    by_id: Annotated[bool, since(_FIRST_WITH_IDS)] = field(default=True, compare=False)
    may_be_from_follower: Annotated[bool, since(11)] = True

    @property
    def is_whole(self) -> bool:
        """Does it name all partitions that it asks for? (`FetchMetadata.isFull`)"""
        return self.session_epoch in (FIRST_SESSION_EPOCH, NO_SESSION_EPOCH)


def _read_leader(*structs: Any) -> NodeId:
    leader = getattr(structs[-1], "current_leader", None)
    return NO_NODE if leader is None else NodeId(leader.leader_id)


def _read_leader_epoch(*structs: Any) -> int:
    leader = getattr(structs[-1], "current_leader", None)
    return NO_EPOCH if leader is None else int(leader.leader_epoch)


def _write_leader(found: "FetchedRecords", version: int) -> dict[str, Any]:
    if found.leader_epoch == NO_EPOCH or version < _FIRST_WITH_LEADER:
        return {}
    at = Tagged(leader_id=found.leader, leader_epoch=found.leader_epoch)
    return {"current_leader": at}


def _read_records(*structs: Any) -> bytes:
    return structs[-1].records or b""


def _write_records(found: "FetchedRecords", _version: int) -> dict[str, Any]:
    return {
        "records": found.records if found.sliced is None else found.sliced,
        "last_stable_offset": found.high_watermark,  # without transactions
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedRecords:
    """At most one of `diverging` and `records` says how to go on."""

    partition: PartitionFields
    error: Error = ErrorCode.NONE
    high_watermark: int = -1
    log_start: Annotated[int, "log_start_offset"] = NO_OFFSET
    diverging: Annotated[LogPosition | None, position("diverging_epoch")] = None
    leader: Annotated[NodeId, Functions(_read_leader, _write_leader)] = NO_NODE
    leader_epoch: Annotated[int, Functions(_read_leader_epoch)] = NO_EPOCH
    records: Annotated[bytes, Functions(_read_records, _write_records)] = b""
    sliced: Annotated[Slice | None, Functions()] = (
        None  # in place of records: where they are in files
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsFetchResponse:
    """`session`: the one that was continued or opened."""

    error: Error = ErrorCode.NONE
    session: Annotated[int, "session_id"] = NO_SESSION
    partitions: Annotated[tuple[FetchedRecords, ...], in_topics("responses", "partitions")] = ()

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
    1,
    "Fetch",
    4,
    18,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
    pack_request=_pack_request,
    pack_response=_pack_response,
    size=NAMES,
)
