"""What can happen to a node. The shell (or the simulator) feeds these to `Node.step` one by one.

Frames are a request or a response without its 4-byte size: cutting the stream into frames is the
shell's work, as is refusing one whose size is absurd.
"""

from node.ids import ChannelId, ConnectionId, LogId, Offset
from node.lazy_dataclass import dataclass


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
