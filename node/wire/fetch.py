"""Fetch 12-18 of `__cluster_metadata`: how a replica follows, and reports what it has.

What changes between the versions: topics have ids from 13 on, the replica's id moves into the
tagged ReplicaState at 15 (KIP-903), answers have the leader's address from 16 on, the directory id
comes with 17 (KIP-853) and the follower's high watermark with 18.

FetchSnapshot 0-1 of `__cluster_metadata` (KIP-630): a snapshot's bytes, by position.

Version 1 adds the fetching replica's directory, and the leader's address.
"""

import struct
from functools import lru_cache
from struct import Struct
from typing import Annotated, Any
from uuid import UUID

from node.codec.varint import read_unsigned, write_unsigned
from node.errors import ErrorCode
from node.ids import (
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
from node.wire.declared import Error, Functions, Kio, Parts
from node.wire.entities import LeaderEndpoint, position

# The messages of any version.


NO_HIGH_WATERMARK = 2**63 - 1


_REPLICA = Parts(id=Kio("replica_state.replica_id", "replica_id"), directory="replica_directory_id")
_SNAPSHOT = position("snapshot_id", checks_offset=True)


def _read_max_bytes(entity: Any, partition: Any) -> int:
    return 0 if partition is None else min(entity.max_bytes, partition.partition_max_bytes)


def _write_max_bytes(most: int) -> dict[str, Any]:
    return {"max_bytes": most, "partition_max_bytes": most}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """A replica asks for what follows its log; its fetch offset shows what is durable there.

    `high_watermark`: 2**63-1 = not supported by the sender, -1 = unknown (Fetch v18).
    """

    cluster_id: str | None
    partition_ok: bool = True
    replica: Annotated[ReplicaKey, _REPLICA]
    epoch: Annotated[Epoch, Kio("current_leader_epoch", absent=0)]
    fetch_offset: Annotated[int, Kio("fetch_offset", absent=0)]
    last_epoch: Annotated[int, Kio("last_fetched_epoch", absent=0)]
    max_wait_ms: Annotated[int, "max_wait"]
    max_bytes: Annotated[int, Functions(_read_max_bytes, value=_write_max_bytes)]
    high_watermark: int = NO_HIGH_WATERMARK


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse:
    """At most one of `diverging`, `snapshot` and `records` says how to go on."""

    top_error: Annotated[ErrorCode, "/error_code"] = ErrorCode.NONE
    error: Error = ErrorCode.NONE
    leader: Annotated[NodeId, "current_leader.leader_id"] = NO_NODE
    epoch: Annotated[Epoch, "current_leader.leader_epoch"] = Epoch(0)
    high_watermark: int = -1
    log_start: Annotated[Offset, "log_start_offset"] = Offset(0)
    diverging: Annotated[LogPosition | None, position("diverging_epoch")] = None
    snapshot: Annotated[LogPosition | None, _SNAPSHOT] = None  # to be fetched instead of records
    records: bytes = b""
    leader_endpoint: LeaderEndpoint = None


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


FETCH = Api(
    1,
    "Fetch",
    12,
    18,
    FetchRequest,
    FetchResponse,
    of_quorum=True,
    always=(("log_start_offset", 0),),
    unpack_request=unpack_request,
    pack_request=pack_request,
    unpack_response=unpack_response,
    pack_response=pack_response,
)


_NOTHING = LogPosition(Epoch(0), Offset(0))


_SNAPSHOT_REPLICA = Parts(id="replica_id", directory="replica_directory_id")
_SNAPSHOT_ID = Parts(
    epoch=Kio("snapshot_id.epoch", absent=0), offset=Kio("snapshot_id.end_offset", absent=0)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotRequest:
    """The bytes of `snapshot` from `position` on; at most `max_bytes`."""

    cluster_id: str | None
    partition_ok: bool = True
    replica: Annotated[ReplicaKey, _SNAPSHOT_REPLICA]
    epoch: Annotated[Epoch, Kio("current_leader_epoch", absent=0)]
    snapshot: Annotated[LogPosition, _SNAPSHOT_ID]
    position: Annotated[int, Kio("position", absent=0)]
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotResponse:
    """`data` may end anywhere. `size` is that of the whole snapshot."""

    top_error: Annotated[ErrorCode, "/error_code"] = ErrorCode.NONE
    error: Error = ErrorCode.NONE
    leader: Annotated[NodeId, "current_leader.leader_id"] = NO_NODE
    epoch: Annotated[Epoch, "current_leader.leader_epoch"] = Epoch(0)
    snapshot: Annotated[LogPosition, _SNAPSHOT_ID] = _NOTHING
    size: int = 0
    position: int = 0
    data: Annotated[bytes, "unaligned_records"] = b""
    leader_endpoint: LeaderEndpoint = None


FETCH_SNAPSHOT = Api(
    59, "FetchSnapshot", 0, 1, FetchSnapshotRequest, FetchSnapshotResponse, of_quorum=True
)
