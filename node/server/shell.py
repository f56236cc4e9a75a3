"""The loop that gives a sans-IO node a world: sockets, a disk, a clock.

What the sockets bring in one turn of the asyncio loop is drained together: every frame becomes an
event, all events are stepped, then whatever they want is sent, then one fsync serves all their
appends (group commit), then its `LogFlushed` is stepped and what became visible by it is sent. Two
orders matter. Frames go out before the fsync, not after, so that followers sync while the leader
does; the core only emits what may be seen by then. Trace lines go out before frames.

A timer that fires looks at the sockets once more first: after a slow fsync the fetch that would
have calmed the election timer is already there, and must be heard before the timer is.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol, assert_never

from node.effects import (
    AppendBatches,
    CloseConnection,
    DisconnectPeer,
    Effect,
    ElectionState,
    FlushLog,
    PersistElectionState,
    SendReply,
    SendToPeer,
    Stop,
    Trace,
    TruncateLog,
)
from node.events import Event, LogFlushed, TimeoutElapsed
from node.ids import Now, Offset
from node.server.peers import Peers
from node.server.tcp import Connections
from node.server.traces import TraceWriter


class SteppedNode(Protocol):
    """The core, as the shell sees it."""

    def start(self, now: Now) -> list[Effect]: ...

    def step(self, event: Event, now: Now) -> list[Effect]: ...

    def next_deadline_ns(self) -> int: ...


class WritableLog(Protocol):
    def append(self, data: bytes) -> None: ...

    def truncate(self, end: Offset) -> None: ...

    def flush(self) -> Offset: ...


class Elections(Protocol):
    def save(self, state: ElectionState) -> None: ...


Outgoing = SendReply | SendToPeer | CloseConnection | DisconnectPeer


def read_clocks() -> Now:
    return Now(time.monotonic_ns(), time.time_ns())


class Shell:
    """Feeds events in, performs effects in order. `stop` is called once, with the `Stop` effect."""

    def __init__(
        self,
        *,
        node: SteppedNode,
        log: WritableLog,
        elections: Elections,
        traces: TraceWriter,
        stop: Callable[[Stop], None],
    ) -> None:
        self._node = node
        self._log = log
        self._elections = elections
        self._traces = traces
        self._stop = stop
        self._ready: list[Event] = []
        self._outgoing: list[Outgoing] = []
        self._scheduled = True  # `start` takes what sockets bring before it
        self._flush_wanted = False
        self._stopped = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ns = 0

    def start(self, connections: Connections, peers: Peers) -> None:
        self._loop = asyncio.get_running_loop()
        self._connections = connections
        self._peers = peers
        now = read_clocks()
        self._perform(self._node.start(now), now)
        self._process()

    def feed(self, event: Event) -> None:
        """Handled in this turn of the loop, with all else that is ready; not before `start`."""
        self._ready.append(event)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._process)

    def _process(self) -> None:
        self._scheduled = False
        self._drain()
        if not self._stopped:
            self._arm_timer()

    def _drain(self) -> None:
        while not self._stopped:
            self._step_ready()
            self._send()
            if self._flush_wanted:
                self._flush_wanted = False
                self._step(LogFlushed(end=self._log.flush()))
            elif not self._ready:
                return

    def _step_ready(self) -> None:
        while self._ready and not self._stopped:
            events, self._ready = self._ready, []
            for event in events:
                if self._stopped:
                    return
                self._step(event)

    def _step(self, event: Event, now: Now | None = None) -> None:
        clocks = read_clocks()
        self._perform(self._node.step(event, now or clocks), clocks)

    def _perform(self, effects: list[Effect], now: Now) -> None:
        for effect in effects:
            match effect:
                case SendReply() | SendToPeer() | CloseConnection() | DisconnectPeer():
                    self._outgoing.append(effect)
                case Trace():
                    self._traces.add(effect, now)
                case AppendBatches():
                    self._log.append(effect.data)
                case FlushLog():
                    self._flush_wanted = True
                case TruncateLog():
                    self._log.truncate(effect.end)
                case PersistElectionState():
                    self._elections.save(effect.state)
                case Stop():
                    self._finish(effect)
                    return
                case _:
                    assert_never(effect)

    def _finish(self, stop: Stop) -> None:
        self._stopped = True
        self._send()
        self._stop(stop)

    def _send(self) -> None:
        """Traces, then frames: nobody learns of what the account does not tell yet."""
        self._traces.flush()
        outgoing, self._outgoing = self._outgoing, []
        for effect in outgoing:
            match effect:
                case SendReply():
                    self._connections.reply(effect.connection, effect.frame)
                case SendToPeer():
                    self._peers.send(effect.peer, effect.frame)
                case CloseConnection():
                    self._connections.close(effect.connection)
                case DisconnectPeer():
                    self._peers.disconnect(effect.peer)
                case _:
                    assert_never(effect)

    def _arm_timer(self) -> None:
        """A timer that fires too early is armed again: deadlines mostly move away."""
        deadline_ns = self._node.next_deadline_ns()
        if self._timer is not None:
            if self._timer_ns <= deadline_ns:
                return
            self._timer.cancel()
        self._timer_ns = deadline_ns
        self._timer = self._loop.call_at(deadline_ns / 1e9, self._timer_fired)

    def _timer_fired(self) -> None:
        """Look at the sockets once more, and come back when what they had is in `_ready`.

        The next turn of the loop polls them, but queues their callbacks behind this call; so it
        takes two calls to go behind them. However long the turns take (an fsync may be in them),
        all input from before this moment is then heard: that is the time that has elapsed.
        """
        self._loop.call_soon(self._loop.call_soon, self._time_out, read_clocks())

    def _time_out(self, heard: Now) -> None:
        self._timer = None
        self._drain()
        if not self._stopped and heard.mono_ns >= self._node.next_deadline_ns():
            self._step(TimeoutElapsed(), heard)
        self._process()
