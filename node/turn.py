"""The order of perform, send and flush, which every shell of a node keeps.

A turn is a generator of actions, a few at a time. A shell performs them one after the other, each
completely, before it asks for more, and feeds the resulting events (`LogFlushed`, and input that
arrives). The server performs them with sockets and an fsync, the simulator on virtual time: so the
simulated order is the real one.

All input that is ready is stepped first. The writes of a step are performed before the next step;
then trace lines leave, then frames, then one flush of each log serves all its appends (group
commit), and output that depends on the flush leaves after it. Frames go out before the flush, not
after, so that followers sync while their leader does; the core only emits what may be seen by then.
If no frame leaves, trace lines wait for those of the flush: handing them over is a system call, and
a follower does not report its appends before they are durable.

A shell that waits for a flush feeds its `LogFlushed` before the next action. A shell that continues
meanwhile feeds it when the flush is done: until then no other flush of that log is requested.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from typing import Protocol, assert_never

from node.effects import (
    AppendBatches,
    CloseConnection,
    DeleteBeforeSnapshot,
    DisconnectPeer,
    Effect,
    Event,
    FinishSnapshot,
    FlushLog,
    LogFlushed,
    NoResponse,
    OnReplicas,
    OpenListeners,
    PeerDisconnected,
    PeerFrameReceived,
    PersistElectionState,
    ReplaceLog,
    SendPieces,
    SendResponse,
    SendToPeer,
    Stop,
    TimeoutElapsed,
    Trace,
    TruncateLog,
    WriteSnapshot,
)
from node.ids import ChannelId, LogId, Now, Offset


class Marker(Enum):
    """An action that no step requested."""

    LISTEN = "listen"  # take in all input that has arrived
    STEPPED = "stepped"  # all effects of a step were performed, except flushes and frames
    TRACES_LEAVE = "traces leave"  # nothing is visible outside before its trace line


_STEPPED, _TRACES_LEAVE = (
    Marker.STEPPED,
    Marker.TRACES_LEAVE,
)  # looked up once: they are used often

Action = Effect | Marker
Turn = Iterator[Sequence[Action]]


class SteppedNode(Protocol):
    """The part of `node.node.Node` that turns use."""

    def start(self, now: Now) -> list[Effect]: ...

    def step(self, event: Event, now: Now) -> list[Effect]: ...

    def next_deadline_ns(self) -> int: ...


class Turns:
    """The turns of one life of a node; one at a time. After the action `Stop` there are no more."""

    def __init__(self, node: SteppedNode, read_clocks: Callable[[], Now]) -> None:
        self._node = node
        self._read_clocks = read_clocks
        # When the latest step was taken: the time of the trace lines that it leaves. They may be
        # performed much later, behind a slow fsync of the election state.
        self.stepped = Now(0, 0)
        self._ready: deque[Event] = deque()
        # Stepped in this turn if one is under way, else in the next.
        self.feed: Callable[[Event], None] = self._ready.append
        self._outgoing: list[
            SendResponse
            | SendPieces
            | NoResponse
            | SendToPeer
            | CloseConnection
            | DisconnectPeer
            | OpenListeners
        ] = []
        self._wanted: dict[LogId, None] = {}  # requested flushes, in order
        # Flushes under way, each with the offset of a truncation meanwhile, if any.
        self._flushing: dict[LogId, Offset | None] = {}
        self._is_stopped = False

    def start(self) -> Turn:
        """Once, before all others; also handles events fed before."""
        self.stepped = self._read_clocks()
        yield self._actions(self._node.start(self.stepped))
        yield from self.drain()

    def drain(self) -> Turn:
        """Handles all that is ready, and everything that results."""
        while not self._is_stopped:
            actions: list[Action] = []
            if self._ready:
                actions = self._step(self._ready.popleft(), self._read_clocks())
            if self._ready or self._is_stopped:
                yield actions
                continue
            flushes = self._flushes() if self._wanted else []
            may_wait = bool(flushes) and not self._outgoing
            if not may_wait:
                actions += self._leaving()
            yield actions + flushes
            if not self._ready:
                if (
                    may_wait
                ):  # the shell continues during the flush, and trace lines do not wait for it
                    yield self._leaving()
                return

    def time_out(self) -> Turn:
        """A timer fired. All earlier input is handled first, however long that takes: after a slow
        fsync the Fetch that resets an election timer is already there. What counts as due is what
        was due when this turn began."""
        heard = self._read_clocks()
        yield [Marker.LISTEN]
        yield from self.drain()
        if not self._is_stopped and heard.mono_ns >= self._node.next_deadline_ns():
            yield self._step(TimeoutElapsed(), heard)
            yield from self.drain()

    def _step(self, event: Event, now: Now) -> list[Action]:
        if isinstance(event, LogFlushed):
            event = self._flushed(event)
        if now.mono_ns > self.stepped.mono_ns:  # a time-out may be due since before other input
            self.stepped = now
        return self._actions(self._node.step(event, now))

    def _flushed(self, event: LogFlushed) -> LogFlushed:
        """Bytes truncated since the flush began may have been written anew, and not flushed."""
        cut = self._flushing.pop(event.log)
        return event if cut is None else replace(event, end=min(event.end, cut))

    def _truncate(self, log: LogId, end: Offset) -> None:
        if log in self._flushing:
            known = self._flushing[log]
            self._flushing[log] = end if known is None else min(known, end)

    def _unhear(self, channel: ChannelId) -> None:
        """Input of a connection dropped since does not belong to the channel's next one."""
        kept = [
            event
            for event in self._ready
            if not (isinstance(event, PeerFrameReceived | PeerDisconnected))
            or event.channel != channel
        ]
        self._ready.clear()
        self._ready.extend(kept)

    def _actions(self, effects: list[Effect]) -> list[Action]:
        """The actions to perform before the next step; the rest is kept until no step is left."""
        if not effects:
            return [_STEPPED]
        actions: list[Action] = []
        stop = None
        for effect in effects:
            match effect:
                case Trace():  # the most frequent, and so on
                    actions.append(effect)
                case SendResponse() | SendToPeer():
                    self._outgoing.append(effect)
                case AppendBatches() | PersistElectionState():
                    actions.append(effect)
                case FlushLog():
                    self._wanted[effect.log] = None
                case SendPieces() | NoResponse() | CloseConnection() | OpenListeners():
                    self._outgoing.append(effect)
                case DisconnectPeer():
                    self._outgoing.append(effect)
                    self._unhear(effect.channel)
                case TruncateLog():
                    self._truncate(effect.log, effect.end)
                    actions.append(effect)
                case ReplaceLog():
                    self._truncate(effect.log, effect.snapshot.offset)
                    actions.append(effect)
                case WriteSnapshot() | FinishSnapshot() | DeleteBeforeSnapshot():
                    actions.append(effect)
                case OnReplicas():
                    actions.append(effect)
                case Stop():
                    stop = effect
                    break
                case _:
                    assert_never(effect)
        actions.append(_STEPPED)
        if stop is not None:
            self._is_stopped = True
            actions += [*self._leaving(), stop]  # its last responses
        return actions

    def _leaving(self) -> list[Action]:
        outgoing, self._outgoing = self._outgoing, []
        return [_TRACES_LEAVE, *outgoing]

    def _flushes(self) -> list[Action]:
        logs = [log for log in self._wanted if log not in self._flushing]
        for log in logs:
            del self._wanted[log]
            self._flushing[log] = None
        return [FlushLog(log=log) for log in logs]
