"""The events that a node handles, and the effects that a shell performs in the order listed.

Durable before visible, by construction:

* `PersistElectionState` returns only when the file is durable, so later effects in the list (a
  response that reveals the vote) cannot be seen before.
* `AppendBatches` and `TruncateLog` are written through at once, so a read of the log in the next
  step sees them, but they are durable only after the `LogFlushed` event that answers a `FlushLog`.
  The core emits effects that depend on durable bytes only in the step of that event. So one flush
  may serve all appends of many steps (group commit), and no shell can get the order wrong.
* Snapshot effects are durable when they return, like `PersistElectionState`.
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

# Slices of files that stand for their bytes in a response, until it is sent.


class Slice(Protocol):
    """See `node.storage.partition_segment`."""

    def __len__(self) -> int: ...

    def read(self, position: int, length: int) -> bytes | None:
        """`length` bytes of it; None: the file changed since."""


Piece = bytes | Slice


class Spliced(bytearray):
    """The bytes written of a message; an added slice records only its position."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(data)
        self._slices: list[tuple[int, Slice]] = []  # and the number of bytes before each

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
    """Read at once; None: a file changed since."""
    read = [p if isinstance(p, bytes) else p.read(0, len(p)) for p in pieces]
    known = [each for each in read if each is not None]
    return b"".join(known) if len(known) == len(read) else None


def read_all(piece: Slice) -> bytes:
    """In the step that took it."""
    data = piece.read(0, len(piece))
    assert data is not None, "it was cut off since it was taken"
    return data


# The events of a node. The shell (or the simulator) feeds these to `Node.step` one by one.
#
# Frames are a request or a response without its 4-byte size: the shell cuts the stream into frames,
# and refuses a frame of absurd size.


@dataclass(frozen=True, slots=True)
class FrameReceived:
    """A request arrived on an incoming connection.

    `listener` is the name of the listener it came in by: addresses in responses depend on it.
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
    """Stop in good order: a leader resigns and first sends its voters EndQuorumEpoch."""


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
    """The content of quorum-state: the leader and our vote, in the newest epoch we know of."""

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
    """The next bytes of an unfinished snapshot; position 0 begins a new one."""

    log: LogId
    snapshot: LogPosition
    position: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishSnapshot:
    """The snapshot is complete, and visible from now on."""

    log: LogId
    snapshot: LogPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteBeforeSnapshot:
    """Remove the log covered by a snapshot, and older snapshots."""

    log: LogId
    snapshot: LogPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceLog:
    """Drop the whole log for one that begins where a snapshot ends."""

    log: LogId
    snapshot: LogPosition


class OnReplicas:
    """Effects on replica logs, each atomic with its files on that disk; durable when it returns."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLimits:
    """A batch begins a new segment if it would make the last one larger than `size` bytes, or if
    its timestamp is more than `ms` after that of the segment's first. In each segment, a batch is
    indexed after every `index_interval` bytes. Once `flush_messages` records are not durable, the
    next append flushes them."""

    size: int
    ms: int
    index_interval: int
    flush_messages: int = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLog:
    """An empty log of a replica, in that log directory."""

    log: LogId
    topic: UUID
    directory: UUID
    limits: SegmentLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateLogs(OnReplicas):
    """Each replaces another topic's log of that name. Together they take fewer syncs of the disk
    than one by one."""

    logs: tuple[NewLog, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSegments(OnReplicas):
    """When a replica's log begins a new segment, until this process ends."""

    log: LogId
    limits: SegmentLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveLog(OnReplicas):
    """Removes the log of a replica that this broker no longer has."""

    log: LogId


@dataclass(frozen=True, slots=True, kw_only=True)
class RaiseLogStarts(OnReplicas):
    """New log start offsets of replicas; each is within its log, or its end."""

    starts: Mapping[LogId, Offset]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartLog(OnReplicas):
    """Replaces the whole log of a replica by one that begins, and ends, at `start`."""

    log: LogId
    start: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveCleanShutdown(OnReplicas):
    """All replica logs are durable; the broker had this epoch."""

    broker_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveHighWatermarks(OnReplicas):
    """Of all replicas that a broker has."""

    offsets: Mapping[LogId, Offset]


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveRecoveryPoints(OnReplicas):
    """Of all replicas that a broker has: the offset below which each log is durable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetProducers(OnReplicas):
    """Of these logs, idempotent producers whose last write is `silent_ms` or more before `wall_ms`;
    snapshots of producers have them no more from then on."""

    logs: tuple[LogId, ...]
    wall_ms: int
    silent_ms: int


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
    """A response that is partly in files: read while it is sent."""

    connection: ConnectionId
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoResponse:
    """The request on this connection is done, and gets no response (Produce with acks=0)."""

    connection: ConnectionId


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseConnection:
    """Hang up on a client that sent a request that cannot be answered, as Kafka does."""

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
    """Drop a channel's connection with its outstanding requests; no `PeerDisconnected` follows."""

    channel: ChannelId


TraceValue = int | str | bool | None | list[dict[str, int | str]]


@dataclass(frozen=True, slots=True)
class Trace:
    """One line of the node's trace (`node.server.output` defines lines and fields)."""

    event: str
    fields: Mapping[str, TraceValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenListeners:
    """Listen on these from now on. Before, nothing listens there, and the kernel refuses clients,
    as at Kafka's brokers until they have caught up (`SocketServer.enableRequestProcessing`): a
    client that is hung up on takes that for a wrong protocol."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The process is done: exit with `code`."""

    code: int
    reason: str


ReplicaLogChange = (
    CreateLogs
    | LimitSegments
    | RemoveLog
    | RaiseLogStarts
    | RestartLog
    | SaveCleanShutdown
    | SaveHighWatermarks
    | SaveRecoveryPoints
    | ForgetProducers
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
