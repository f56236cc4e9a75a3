"""Fetch of the quorum, as its replicas send and answer it all day long: without kio's classes.

What is packed has the bytes that those write. What is unpacked packs to the very bytes that came,
so that it is what they read; of all other bytes they say what they are.
"""

import struct
from functools import lru_cache
from struct import Struct
from uuid import UUID

from node.codec.varint import read_unsigned, write_unsigned
from node.endpoint import Endpoint
from node.ids import METADATA_TOPIC_ID, NO_NODE, NodeId, ReplicaKey
from node.wire.fetch_messages import NO_HIGH_WATERMARK, FetchRequest, FetchResponse

# What `pack_request` packs: all of a request but the cluster id, with sizes and tags.
_PACKED_VERSION = 18
_PACKED_HEAD = Struct(">iiibii B16sBi iqiqi BBB16sBBq BBB BBBB")
_PACKED_TAIL = Struct(">BBiqB")
# What of that is another one each time, and where it stands.
_ASKED, _ASKED_AT = Struct(">iqi"), struct.calcsize(">iiibii B16sBi")
_KNOWN, _KNOWN_AT = Struct(">q"), struct.calcsize(">iiibii B16sBi iqiqi BBB16sBB")
_EMPTY, _ONE = 1, 2  # how many there are of something, as compact arrays and strings say it
_SHORT = 0x7E  # bytes whose number, and one more, takes a byte

# What `pack_response` packs: all before the records, and what follows them.
_TOLD = Struct(">ihiB16sB ihqqqBi")
_TOLD_LEADER = Struct(">BBBiiBB")
_NODE_TAIL = Struct(">iBB")
_FIRST_WITH_IDS, _FIRST_WITH_NODES = 13, 16

_BEFORE_HOST = 8  # bytes of `_node`
_FAULTS = (struct.error, ValueError, IndexError)  # of bytes that are something else
_LARGE = 1 << 16  # bytes that take longer to be packed again than kio's classes take to read them


def pack_request(message: FetchRequest, version: int) -> bytes | None:
    """As a replica of a running quorum asks all day long."""
    if version != _PACKED_VERSION or message.high_watermark == NO_HIGH_WATERMARK:
        return None
    same = _packed_of(message.replica, message.cluster_id, message.max_wait_ms, message.max_bytes)
    if same is None:
        return None
    out = bytearray(same)
    _ASKED.pack_into(out, _ASKED_AT, message.epoch, message.fetch_offset, message.last_epoch)
    _KNOWN.pack_into(out, _KNOWN_AT, message.high_watermark)
    return bytes(out)


@lru_cache(maxsize=64)  # a node has few peers, and each asks like this all day
def _packed_of(
    replica: ReplicaKey, cluster_id: str | None, max_wait_ms: int, max_bytes: int
) -> bytes | None:
    """All that a replica asks, but for what is another one each time: there are zeros."""
    cluster = None if cluster_id is None else cluster_id.encode()
    if cluster is None or len(cluster) >= _SHORT or not replica.directory.int:
        return None
    head = _PACKED_HEAD.pack(
        *(max_wait_ms, 0, max_bytes, 0, 0, -1),  # of no session
        *(_ONE, METADATA_TOPIC_ID.bytes, _ONE, 0),
        *(0, 0, 0, 0, max_bytes),
        *(2, 0, 16, replica.directory.bytes, 1, 8, 0),
        *(0, _EMPTY, _EMPTY),  # the topic has no tags; nothing is forgotten, and no rack named
        *(2, 0, len(cluster) + 1, len(cluster) + 1),
    )
    return head + cluster + _PACKED_TAIL.pack(1, 13, replica.id, -1, 0)


def unpack_request(frame: bytes, at: int, version: int) -> FetchRequest | None:
    """None: from there on are other bytes than `pack_request` makes of any."""
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
    """As a leader answers all day long: nothing, or what follows."""
    is_other = message.top_error or message.diverging is not None or message.snapshot is not None
    if is_other or version < _FIRST_WITH_IDS or message.leader < 0:
        return None
    out = bytearray(
        _TOLD.pack(
            *(0, 0, 0, _ONE, METADATA_TOPIC_ID.bytes, _ONE),  # not throttled, and of no session
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
    """None: from there on are other bytes than `pack_response` makes of any without an error."""
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
    """As `_node` writes it, if anything is there."""
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
    node += host + _NODE_TAIL.pack(at.port, 0, 0)  # in no rack
    out = bytearray((1, 0))
    write_unsigned(out, len(node))
    return bytes(out + node)
