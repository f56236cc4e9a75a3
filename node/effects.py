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

from collections.abc import Mapping
from uuid import UUID

from node.endpoint import Endpoint
from node.ids import (
    NO_NODE,
    ChannelId,
    ConnectionId,
    Epoch,
    LogId,
    LogPosition,
    NodeId,
    Offset,
    ReplicaKey,
)
from node.lazy_dataclass import dataclass
from node.slices import Piece


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
    """One line of the node's own account (`node.trace` says which, and with which fields)."""

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
