"""What a node wants done. The shell performs effects in the order they are listed.

Durable before visible, by construction:

* `PersistElectionState` returns only when the file is durable, so whatever follows it in the list
  (an answer that tells of the vote) cannot be seen before.
* `AppendBatches` and `TruncateLog` are written through at once, so a read of the log in the next
  step sees them, but they are durable only after the `LogFlushed` event that answers a `FlushLog`.
  The core emits whatever depends on durable bytes only in the step of that event. So one flush may
  serve all appends of many steps (group commit), and no shell can get the order wrong.
* What is done with snapshots is durable when it returns, as `PersistElectionState` is.
* `Trace` lines leave before any frame that follows them.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol
from uuid import UUID

from node.ids import (
    NO_NODE,
    ChannelId,
    ConnectionId,
    Endpoint,
    Epoch,
    LogId,
    LogPosition,
    NodeId,
    Offset,
    ReplicaKey,
)
from node.lazy_dataclass import dataclass

# Parts of files that stand for their bytes in an answer, until it is sent.


class Slice(Protocol):
    """See `node.storage.partition_segment`."""

    def __len__(self) -> int: ...

    def read(self, position: int, length: int) -> bytes | None:
        """So many bytes of it; None: they are not what they were any more."""


Piece = bytes | Slice


class Spliced(bytearray):
    """What is written of a message; a slice that is added leaves its place, and nothing else."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(data)
        self._slices: list[tuple[int, Slice]] = []  # and behind how many bytes each is

    def __iadd__(self, value: "bytes | bytearray | Slice") -> "Spliced":  # type: ignore[override, misc]  # a bytearray takes no slices
        if isinstance(value, bytes | bytearray):
            self.extend(value)
        else:
            self._slices.append((len(self), value))
        return self

    def pieces(self) -> tuple[Piece, ...]:
        """All of it, in order."""
        found: list[Piece] = []
        at = 0
        for position, each in self._slices:
            found += [bytes(self[at:position]), each]
            at = position
        return (*found, bytes(self[at:]))


def whole(pieces: Iterable[Piece]) -> bytes | None:
    """Read at once; None: something is not what it was any more."""
    read = [p if isinstance(p, bytes) else p.read(0, len(p)) for p in pieces]
    known = [each for each in read if each is not None]
    return b"".join(known) if len(known) == len(read) else None


def read_all(piece: Slice) -> bytes:
    """In the step that took it."""
    data = piece.read(0, len(piece))
    assert data is not None, "it was cut off since it was taken"
    return data


# What can happen to a node. The shell (or the simulator) feeds these to `Node.step` one by one.
#
# Frames are a request or a response without its 4-byte size: cutting the stream into frames is the
# shell's work, as is refusing one whose size is absurd.


@dataclass(frozen=True, slots=True)
class FrameReceived:
    """A request arrived on a connection that somebody opened to us.

    `listener` is the name of the listener it came in by: addresses in answers depend on it.
    """

    connection: ConnectionId
    listener: str
    frame: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionClosed:
    """An incoming connection is gone; requests parked on it will never be answered."""

    connection: ConnectionId


@dataclass(frozen=True, slots=True)
class PeerFrameReceived:
    """A response arrived over a channel."""

    channel: ChannelId
    frame: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerDisconnected:
    """A channel's connection failed or could not be made: outstanding requests are lost."""

    channel: ChannelId


@dataclass(frozen=True, slots=True)
class LogFlushed:
    """Everything below `end` is durable. The answer to `FlushLog`; one flush may serve many."""

    log: LogId
    end: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutElapsed:
    """`now` has reached `Node.next_deadline_ns()`. Fed only after all input that was ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutdownRequested:
    """Stop in good order: a leader resigns and tells its voters first (EndQuorumEpoch)."""


Event = (
    FrameReceived
    | ConnectionClosed
    | PeerFrameReceived
    | PeerDisconnected
    | LogFlushed
    | TimeoutElapsed
    | ShutdownRequested
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionState:
    """What quorum-state holds: who led, and whom we voted for, in the newest epoch we know of."""

    epoch: Epoch = Epoch(0)
    leader: NodeId = NO_NODE
    voted: ReplicaKey | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PersistElectionState:
    state: ElectionState


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendBatches:
    """Whole batches, base offsets and leader epochs already set, contiguous with the log's end."""

    log: LogId
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncateLog:
    """Make the log end at `end` (batch aligned)."""

    log: LogId
    end: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSnapshot:
    """The next bytes of a snapshot that is not there yet; from position 0 on it is a new one."""

    log: LogId
    snapshot: LogPosition
    position: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishSnapshot:
    """It is whole: from now on it is there."""

    log: LogId
    snapshot: LogPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteBeforeSnapshot:
    """Remove what a snapshot stands for, and older snapshots."""

    log: LogId
    snapshot: LogPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceLog:
    """Drop the whole log for one that begins where a snapshot ends."""

    log: LogId
    snapshot: LogPosition


class OnReplicas:
    """What is done with a broker's logs of replicas, as one thing with whatever stands beside them
    on its disk; durable when it returns."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateLog(OnReplicas):
    """An empty log of a replica, in that log directory, in the place of one of another topic of
    that name."""

    log: LogId
    topic: UUID
    directory: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLimits:
    """A batch begins a new segment that would make the last one larger than `size` bytes, or whose
    timestamp is more than `ms` after that of the segment's first. In each, one batch is in the
    index after more than `index_interval` bytes. Where as many as `flush_messages` records are not
    durable, they are made so with the next one that is appended."""

    size: int
    ms: int
    index_interval: int
    flush_messages: int = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSegments(OnReplicas):
    """When a log of a replica begins a new segment, until this process ends."""

    log: LogId
    limits: SegmentLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveLog(OnReplicas):
    """Of a replica that is no more this broker's."""

    log: LogId


@dataclass(frozen=True, slots=True, kw_only=True)
class RaiseLogStarts(OnReplicas):
    """Where logs of replicas begin from now on; each is in its log, or its end."""

    starts: Mapping[LogId, Offset]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartLog(OnReplicas):
    """Drop the whole log of a replica for one that begins, and ends, at `start`."""

    log: LogId
    start: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveCleanShutdown(OnReplicas):
    """All logs of replicas are durable, in the life of a broker that had this epoch."""

    broker_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveHighWatermarks(OnReplicas):
    """Of all replicas that a broker has."""

    offsets: Mapping[LogId, Offset]


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveRecoveryPoints(OnReplicas):
    """Of all replicas that a broker has: below which each log is durable by now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlushLog:
    """Make all appended bytes durable, then feed `LogFlushed`."""

    log: LogId


@dataclass(frozen=True, slots=True)
class SendResponse:
    connection: ConnectionId
    frame: bytes


@dataclass(frozen=True, slots=True)
class SendPieces:
    """A response, part of which is in files: to be read as it is taken."""

    connection: ConnectionId
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoResponse:
    """The request that came over it is done, and wants no answer (Produce with acks=0)."""

    connection: ConnectionId


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseConnection:
    """Hang up on whoever sent what cannot be answered, as Kafka does."""

    connection: ConnectionId
    reason: str


@dataclass(frozen=True, slots=True)
class SendToPeer:
    """Send a request over a channel: one connection, opened to `endpoint` if there is none."""

    channel: ChannelId
    endpoint: Endpoint
    frame: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DisconnectPeer:
    """Drop a channel's connection with what is outstanding; no `PeerDisconnected` follows."""

    channel: ChannelId


TraceValue = int | str | bool | None | list[dict[str, int | str]]


@dataclass(frozen=True, slots=True)
class Trace:
    """One line of the node's own account (`node.server.output` says which, and with which
    fields)."""

    event: str
    fields: Mapping[str, TraceValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenListeners:
    """From now on whoever comes by them is served; before, nobody listens there, and callers are
    refused by the kernel, as at Kafka's brokers until they have caught up (`SocketServer.
    enableRequestProcessing`): one that is hung up on takes that for a wrong protocol."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The process is done: exit with `code`."""

    code: int
    reason: str


ReplicaLogChange = (
    CreateLog
    | LimitSegments
    | RemoveLog
    | RaiseLogStarts
    | RestartLog
    | SaveCleanShutdown
    | SaveHighWatermarks
    | SaveRecoveryPoints
)
LogChange = (
    AppendBatches | TruncateLog | WriteSnapshot | FinishSnapshot | DeleteBeforeSnapshot | ReplaceLog
)
Effect = (
    PersistElectionState
    | LogChange
    | ReplicaLogChange
    | FlushLog
    | SendResponse
    | SendPieces
    | NoResponse
    | CloseConnection
    | SendToPeer
    | DisconnectPeer
    | OpenListeners
    | Trace
    | Stop
)
