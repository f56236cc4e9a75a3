"""Fetch 12-18 of `__cluster_metadata`: how a replica follows, and reports what it has.

What changes between the versions: topics have ids from 13 on, the replica's id moves into the
tagged ReplicaState at 15 (KIP-903), answers have the leader's address from 16 on, the directory id
comes with 17 (KIP-853) and the follower's high watermark with 18.
"""

import struct
from datetime import timedelta
from functools import lru_cache
from struct import Struct
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from node.codec.varint import read_unsigned, write_unsigned
from node.errors import ErrorCode
from node.ids import (
    METADATA_TOPIC,
    METADATA_TOPIC_ID,
    NO_NODE,
    Endpoint,
    Epoch,
    LogPosition,
    NodeId,
    Offset,
    ReplicaKey,
)
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import (
    NO_THROTTLE,
    leader_endpoint,
    metadata_partition,
    node_endpoints,
    our_error,
    some_uuid,
    top_error,
)

# The messages of any version.


NO_HIGH_WATERMARK = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """A replica asks for what follows its log; its fetch offset shows what is durable there.

    `high_watermark`: 2**63-1 = not supported by the sender, -1 = unknown (Fetch v18).
    """

    cluster_id: str | None
    partition_ok: bool = True
    replica: ReplicaKey
    epoch: Epoch
    fetch_offset: int
    last_epoch: int
    max_wait_ms: int
    max_bytes: int
    high_watermark: int = NO_HIGH_WATERMARK


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse:
    """At most one of `diverging`, `snapshot` and `records` says how to go on."""

    top_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE
    leader: NodeId = NO_NODE
    epoch: Epoch = Epoch(0)
    high_watermark: int = -1
    log_start: Offset = Offset(0)
    diverging: LogPosition | None = None
    snapshot: LogPosition | None = None  # to be fetched instead of records
    records: bytes = b""
    leader_endpoint: Endpoint | None = None


# The fast path, without kio's classes, for Fetch as the quorum's replicas send and answer it all
# the time.
#
# What is packed has the bytes that kio writes. What is unpacked packs to the very bytes that came,
# so that it is what kio reads; kio reads all other bytes.


# The format of `pack_request`: all of a request but the cluster id, with sizes and tags.
_PACKED_VERSION = 18
_PACKED_HEAD = Struct(">iiibii B16sBi iqiqi BBB16sBBq BBB BBBB")
_PACKED_TAIL = Struct(">BBiqB")
# The part that differs in each request, and its position.
_ASKED, _ASKED_AT = Struct(">iqi"), struct.calcsize(">iiibii B16sBi")
_KNOWN, _KNOWN_AT = Struct(">q"), struct.calcsize(">iiibii B16sBi iqiqi BBB16sBB")
_EMPTY, _ONE = 1, 2  # the number of elements, as the length of a compact array or string
_SHORT = 0x7E  # the largest number of bytes that takes one byte

# The format of `pack_response`: all before the records, and what follows them.
_TOLD = Struct(">ihiB16sB ihqqqBi")
_TOLD_LEADER = Struct(">BBBiiBB")
_NODE_TAIL = Struct(">iBB")
_FIRST_WITH_IDS, _FIRST_WITH_NODES = 13, 16

_BEFORE_HOST = 8  # bytes of `_node`
_FAULTS = (struct.error, ValueError, IndexError)  # on bytes that are something else
_LARGE = 1 << 16  # bytes that kio's classes read faster than they are packed again


def pack_request(message: FetchRequest, version: int) -> bytes | None:
    """Packs what a replica of a running quorum asks all the time."""
    if version != _PACKED_VERSION or message.high_watermark == NO_HIGH_WATERMARK:
        return None
    same = _packed_of(message.replica, message.cluster_id, message.max_wait_ms, message.max_bytes)
    if same is None:
        return None
    out = bytearray(same)
    _ASKED.pack_into(out, _ASKED_AT, message.epoch, message.fetch_offset, message.last_epoch)
    _KNOWN.pack_into(out, _KNOWN_AT, message.high_watermark)
    return bytes(out)


@lru_cache(maxsize=64)  # a node has few peers, and each repeats this all the time
def _packed_of(
    replica: ReplicaKey, cluster_id: str | None, max_wait_ms: int, max_bytes: int
) -> bytes | None:
    """A replica's whole request, with zeros for what differs each time."""
    cluster = None if cluster_id is None else cluster_id.encode()
    if cluster is None or len(cluster) >= _SHORT or not replica.directory.int:
        return None
    head = _PACKED_HEAD.pack(
        *(max_wait_ms, 0, max_bytes, 0, 0, -1),  # without a session
        *(_ONE, METADATA_TOPIC_ID.bytes, _ONE, 0),
        *(0, 0, 0, 0, max_bytes),
        *(2, 0, 16, replica.directory.bytes, 1, 8, 0),
        *(0, _EMPTY, _EMPTY),  # the topic has no tags; nothing is forgotten; no rack
        *(2, 0, len(cluster) + 1, len(cluster) + 1),
    )
    return head + cluster + _PACKED_TAIL.pack(1, 13, replica.id, -1, 0)


def unpack_request(frame: bytes, at: int, version: int) -> FetchRequest | None:
    """None: the bytes are not what `pack_request` makes of any request."""
    if version != _PACKED_VERSION or len(frame) - at >= _LARGE:
        return None
    body = frame[at:]
    try:
        head = _PACKED_HEAD.unpack_from(body)
        tail_at = _PACKED_HEAD.size + head[-1] - 1
        message = FetchRequest(
            cluster_id=body[_PACKED_HEAD.size : tail_at].decode(),
            replica=ReplicaKey(_PACKED_TAIL.unpack_from(body, tail_at)[2], UUID(bytes=head[18])),
            epoch=head[10],
            fetch_offset=head[11],
            last_epoch=head[12],
            max_wait_ms=head[0],
            max_bytes=head[2],
            high_watermark=head[21],
        )
    except _FAULTS:
        return None
    return message if pack_request(message, version) == body else None


def pack_response(message: FetchResponse, version: int) -> bytes | None:
    """Packs what a leader answers all the time: nothing, or records."""
    is_other = message.top_error or message.diverging is not None or message.snapshot is not None
    if is_other or version < _FIRST_WITH_IDS or message.leader < 0:
        return None
    out = bytearray(
        _TOLD.pack(
            *(0, 0, 0, _ONE, METADATA_TOPIC_ID.bytes, _ONE),  # not throttled, without a session
            *(0, message.error, message.high_watermark, -1, message.log_start, 0, NO_NODE),
        )
    )
    write_unsigned(out, len(message.records) + 1)
    out += message.records
    out += _TOLD_LEADER.pack(1, 1, 9, message.leader, message.epoch, 0, 0)
    at = message.leader_endpoint
    out += b"\0" if at is None or version < _FIRST_WITH_NODES else _node(message.leader, at)
    return bytes(out)


def unpack_response(frame: bytes, at: int, version: int) -> FetchResponse | None:
    """None: the bytes are not what `pack_response` makes of any answer without an error."""
    if version < _FIRST_WITH_IDS or len(frame) - at >= _LARGE:
        return None
    body = frame[at:]
    try:
        told = _TOLD.unpack_from(body)
        size, begin = read_unsigned(body, _TOLD.size)
        end = begin + size - 1
        leader = _TOLD_LEADER.unpack_from(body, end)
        message = FetchResponse(
            leader=leader[3],
            epoch=leader[4],
            high_watermark=told[8],
            log_start=told[10],
            records=body[begin:end],
            leader_endpoint=_endpoint(body, end + _TOLD_LEADER.size),
        )
    except _FAULTS:
        return None
    return message if pack_response(message, version) == body else None


def _endpoint(body: bytes, at: int) -> Endpoint | None:
    """The address as `_node` writes it, if there is one."""
    if not body[at]:
        return None
    size, host_at = read_unsigned(body, at + _BEFORE_HOST)
    end = host_at + size - 1
    port, _, _ = _NODE_TAIL.unpack_from(body, end)
    return Endpoint(name="", host=body[host_at:end].decode(), port=port)


def _node(leader: NodeId, at: Endpoint) -> bytes:
    """The tagged NodeEndpoints."""
    host, node = at.host.encode(), bytearray((_ONE, *leader.to_bytes(4, "big")))
    write_unsigned(node, len(host) + 1)
    node += host + _NODE_TAIL.pack(at.port, 0, 0)  # without a rack
    out = bytearray((1, 0))
    write_unsigned(out, len(node))
    return bytes(out + node)


_MILLISECOND = timedelta(milliseconds=1)


def _read_fetch_request(entity: Any) -> FetchRequest:
    partition = metadata_partition(entity.topics)
    state = getattr(entity, "replica_state", entity)
    replica = NodeId(state.replica_id)
    max_wait_ms = entity.max_wait // _MILLISECOND
    if partition is None:
        return FetchRequest(
            cluster_id=entity.cluster_id,
            partition_ok=False,
            replica=ReplicaKey(replica),
            epoch=Epoch(0),
            fetch_offset=0,
            last_epoch=0,
            max_wait_ms=max_wait_ms,
            max_bytes=0,
        )
    directory = some_uuid(getattr(partition, "replica_directory_id", None))
    return FetchRequest(
        cluster_id=entity.cluster_id,
        replica=ReplicaKey(replica, directory),
        epoch=Epoch(partition.current_leader_epoch),
        fetch_offset=partition.fetch_offset,
        last_epoch=partition.last_fetched_epoch,
        max_wait_ms=max_wait_ms,
        max_bytes=min(entity.max_bytes, partition.partition_max_bytes),
        high_watermark=getattr(partition, "high_watermark", NO_HIGH_WATERMARK),
    )


def _write_fetch_request(message: FetchRequest, kio: SimpleNamespace) -> Any:
    partition = kio.FetchPartition(
        partition=0,
        current_leader_epoch=message.epoch,
        fetch_offset=message.fetch_offset,
        last_fetched_epoch=message.last_epoch,
        log_start_offset=0,
        partition_max_bytes=message.max_bytes,
        replica_directory_id=message.replica.directory,
        high_watermark=message.high_watermark,
    )
    return kio.FetchRequest(
        cluster_id=message.cluster_id,
        max_wait=timedelta(milliseconds=message.max_wait_ms),
        min_bytes=0,
        max_bytes=message.max_bytes,
        topics=(
            kio.FetchTopic(
                topic=METADATA_TOPIC,
                topic_id=METADATA_TOPIC_ID,
                partitions=(partition,),
            ),
        ),
        forgotten_topics_data=(),
        replica_id=message.replica.id,
        replica_state=kio.ReplicaState(replica_id=message.replica.id),
    )


def _read_fetch_response(entity: Any) -> FetchResponse:
    partition = metadata_partition(entity.responses)
    if partition is None:
        return FetchResponse(top_error=top_error(entity))
    diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
    return FetchResponse(
        top_error=our_error(entity.error_code),
        error=our_error(partition.error_code),
        leader=NodeId(partition.current_leader.leader_id),
        epoch=Epoch(partition.current_leader.leader_epoch),
        high_watermark=partition.high_watermark,
        log_start=Offset(partition.log_start_offset),
        diverging=_position(diverging) if diverging.epoch >= 0 else None,
        snapshot=_position(snapshot) if min(snapshot.epoch, snapshot.end_offset) >= 0 else None,
        records=partition.records or b"",
        leader_endpoint=leader_endpoint(entity, NodeId(partition.current_leader.leader_id)),
    )


def _position(epoch_end: Any) -> LogPosition:
    return LogPosition(Epoch(epoch_end.epoch), Offset(epoch_end.end_offset))


def _write_fetch_response(message: FetchResponse, kio: SimpleNamespace) -> Any:
    if message.top_error:
        return kio.FetchResponse(
            throttle_time=NO_THROTTLE, error_code=message.top_error, responses=()
        )
    topic = kio.FetchableTopicResponse(
        topic=METADATA_TOPIC,
        topic_id=METADATA_TOPIC_ID,
        partitions=(_partition(message, kio),),
    )
    return kio.FetchResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.NONE,
        responses=(topic,),
        node_endpoints=node_endpoints(message.leader, message.leader_endpoint, kio),
    )


def _partition(message: FetchResponse, kio: SimpleNamespace) -> Any:
    optional: dict[str, Any] = {}
    if message.diverging is not None:
        optional["diverging_epoch"] = kio.EpochEndOffset(
            epoch=message.diverging.epoch, end_offset=message.diverging.offset
        )
    if message.snapshot is not None:
        optional["snapshot_id"] = kio.SnapshotId(
            epoch=message.snapshot.epoch, end_offset=message.snapshot.offset
        )
    return kio.PartitionData(
        partition_index=0,
        error_code=message.error,
        high_watermark=message.high_watermark,
        log_start_offset=message.log_start,
        current_leader=kio.LeaderIdAndEpoch(leader_id=message.leader, leader_epoch=message.epoch),
        aborted_transactions=None,
        preferred_read_replica=NO_NODE,
        records=message.records,
        **optional,
    )


FETCH = Api(
    key=1,
    name="Fetch",
    package="fetch",
    min_version=12,
    max_version=18,
    request=FetchRequest,
    read_request=_read_fetch_request,
    unpack_request=unpack_request,
    write_request=_write_fetch_request,
    pack_request=pack_request,
    read_response=_read_fetch_response,
    unpack_response=unpack_response,
    write_response=_write_fetch_response,
    pack_response=pack_response,
)
