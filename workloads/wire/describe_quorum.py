"""Requests on the quorum: DescribeQuorum 2, AddRaftVoter 0, RemoveRaftVoter 0, and
UpdateFeatures."""

import base64
import struct
from dataclasses import dataclass, replace
from functools import lru_cache

from checkers.verdict import counted
from workloads.wire.flexible import MalformedResponseError, MessageReader, array, string


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaClaim:
    """A replica (a node with its disk) in the leader's answer: its log end offset; -1: unknown.

    `directory_id` is in Kafka's text form, 22 characters.
    """

    node: int
    directory_id: str
    log_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterListener:
    """The address by which the quorum reaches a voter."""

    node: int
    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderClaim:
    """A node's answer to DescribeQuorum; `leader` is None unless the node itself leads."""

    leader: int | None
    epoch: int
    high_watermark: int
    error: int = 0
    voters: tuple[ReplicaClaim, ...] = ()
    observers: tuple[ReplicaClaim, ...] = ()
    listeners: tuple[VoterListener, ...] = ()  # of all voters, be that committed or not


def describe_quorum() -> bytes:
    """Body of a DescribeQuorum of `__cluster_metadata`-0."""
    return b"\x02" + string("__cluster_metadata") + b"\x02\x00\x00\x00\x00\x00\x00\x00"


def read_quorum_response(body: bytes) -> LeaderClaim:
    """Decode an answer: only the leader answers without an error.

    Raises MalformedAnswerError.
    """
    reader = MessageReader(body)
    error = reader.int16()
    reader.string()  # error message
    claims = [claim for _ in range(reader.count()) for claim in _topic(reader, error)]
    listeners = _listeners(body[reader.position :])
    if len(claims) > 1 or (not claims and not error):
        raise MalformedResponseError(f"{counted(len(claims), 'partition')}, asked for one")
    nothing = LeaderClaim(leader=None, epoch=-1, high_watermark=-1, error=error)
    return replace(claims[0] if claims else nothing, listeners=listeners)


@lru_cache(maxsize=64)
def _listeners(rest: bytes) -> tuple[VoterListener, ...]:
    """What follows the topics, to the end. It is mostly the same as in the last answer."""
    reader = MessageReader(rest)
    listeners = tuple([each for _ in range(reader.count()) for each in _node(reader)])
    reader.end()
    return listeners


def _topic(reader: MessageReader, error: int) -> list[LeaderClaim]:
    reader.name()
    claims = [_partition(reader, error) for _ in range(reader.count())]
    reader.tags()
    return claims


def _partition(reader: MessageReader, error: int) -> LeaderClaim:
    reader.skip(4)  # partition index
    found = reader.int16()
    reader.string()
    error = error or found
    leader, epoch, high_watermark = reader.int32(), reader.int32(), reader.int64()
    voters = tuple([_replica(reader) for _ in range(reader.count())])
    observers = tuple([_replica(reader) for _ in range(reader.count())])
    reader.tags()
    known = error == 0 and leader >= 0
    return LeaderClaim(
        leader=leader if known else None,
        epoch=epoch,
        high_watermark=high_watermark,
        error=error,
        voters=voters,
        observers=observers,
    )


def _replica(reader: MessageReader) -> ReplicaClaim:
    node = reader.int32()
    start = reader.skip(16)
    directory = base64.urlsafe_b64encode(reader.data[start : reader.position]).decode()
    log_end = reader.int64()
    reader.skip(8 + 8)  # last fetch and last caught-up timestamps
    reader.tags()
    return ReplicaClaim(node=node, directory_id=directory.rstrip("="), log_end=log_end)


def _node(reader: MessageReader) -> list[VoterListener]:
    node = reader.int32()
    listeners = [_listener(reader, node) for _ in range(reader.count())]
    reader.tags()
    return listeners


def _listener(reader: MessageReader, node: int) -> VoterListener:
    name, host, port = reader.name(), reader.name(), reader.int16() & 0xFFFF
    reader.tags()
    return VoterListener(node=node, name=name, host=host, port=port)


# AddRaftVoter 0 and RemoveRaftVoter 0 (KIP-853): add or remove a controller as a voter.


_ANY_CLUSTER, _NO_TAGS = b"\x00", b"\x00"


def add_raft_voter(
    voter: int, directory_id: str, *, listener: str, host: str, port: int, timeout_ms: int
) -> bytes:
    """Body of a request; `directory_id` is in Kafka's text form, 22 characters. The controller has
    one listener."""
    endpoint = string(listener) + string(host) + struct.pack(">H", port) + _NO_TAGS
    head = _ANY_CLUSTER + struct.pack(">ii", timeout_ms, voter)
    return head + _bytes_of(directory_id) + array([endpoint]) + _NO_TAGS


def remove_raft_voter(voter: int, directory_id: str) -> bytes:
    """Body of a request."""
    return _ANY_CLUSTER + struct.pack(">i", voter) + _bytes_of(directory_id) + _NO_TAGS


def read_voters_changed(body: bytes) -> int:
    """The error code of either answer. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error = reader.int16()
    reader.string()
    reader.end()
    return error


def _bytes_of(directory_id: str) -> bytes:
    return base64.urlsafe_b64decode(f"{directory_id}==")


# UpdateFeatures of one feature (KIP-584): finalizes another level.


_TIMEOUT = struct.Struct(">i")
_LEVEL = struct.Struct(">hb")
_UPGRADE, _SAFE_DOWNGRADE = 1, 2
_NO_FEATURE_TAGS = b"\x00"


def update_feature(name: str, level: int, *, timeout_ms: int) -> bytes:
    """Body of an UpdateFeatures; level 0 removes the feature, which is a downgrade."""
    kind = _UPGRADE if level else _SAFE_DOWNGRADE
    requested = string(name) + _LEVEL.pack(level, kind) + _NO_FEATURE_TAGS
    return (
        _TIMEOUT.pack(timeout_ms) + array([requested]) + b"\x00" + _NO_FEATURE_TAGS
    )  # not validate only


def read_updated(body: bytes) -> int:
    """The error code of the feature, or of the whole request. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    errors = [reader.int16()]
    reader.string()  # error message
    for _ in range(reader.count()):
        reader.name()
        errors.append(reader.int16())
        reader.string()
        reader.tags()
    reader.end()
    return next((error for error in errors if error), 0)
