"""The loop that connects a sans-IO node to the world: sockets, a disk, a clock.

What the sockets bring in one turn of the asyncio loop is drained together, in the order that
`node.turn` keeps. The process waits for its disk: during a flush nothing else is done, and input
waits in the kernel.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Protocol

from node.effects import (
    AppendBatches,
    CloseConnection,
    DisconnectPeer,
    ElectionState,
    Event,
    FlushLog,
    LogFlushed,
    NoResponse,
    OnReplicas,
    OpenListeners,
    PersistElectionState,
    SendPieces,
    SendResponse,
    SendToPeer,
    Stop,
    Trace,
)
from node.ids import LogId, Now
from node.server.metrics import Meter
from node.server.output import TraceWriter
from node.server.peer_links import PeerLinks
from node.server.tcp import Connections
from node.storage.log import BatchLog, ChangeableLogs, perform, perform_on_replicas
from node.turn import Action, Marker, SteppedNode, Turn, Turns

# Bound once: looking up an enum's member takes longer than comparing one.
_STEPPED, _TRACES_LEAVE, _LISTEN = Marker.STEPPED, Marker.TRACES_LEAVE, Marker.LISTEN


class Elections(Protocol):
    def save(self, state: ElectionState) -> None: ...


def read_clocks() -> Now:
    return Now(time.monotonic_ns(), time.time_ns())


class Shell:
    """Feeds events in, and performs what turns ask for. `stop` is called once, with the `Stop`."""

    def __init__(
        self,
        *,
        node: SteppedNode,
        logs: Mapping[LogId, BatchLog],
        elections: Elections,
        traces: TraceWriter,
        meter: Meter,
        stop: Callable[[Stop], None],
        replicas: ChangeableLogs | None = None,
        open_listeners: Callable[[OpenListeners], None] | None = None,
    ) -> None:
        """For a broker: `replicas`, the logs that come and go, and how its listeners are opened."""
        self._node = node
        self._logs = logs
        self._replicas = replicas
        self._elections = elections
        self._traces = traces
        self._meter = meter
        self._stop = stop
        self._open_listeners = open_listeners
        self._turns = Turns(node, read_clocks)
        self._turn: Turn | None = None  # the current one; it may be waiting for sockets
        self._scheduled = True  # `start` takes what sockets bring before it
        self._stopped = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ns = 0

    def start(self, connections: Connections, peers: PeerLinks) -> None:
        self._loop = asyncio.get_running_loop()
        self._connections = connections
        self._peers = peers
        self._begin(self._turns.start())

    def feed(self, event: Event) -> None:
        """Handled in this turn of the loop, with all other ready input; not before `start`."""
        self._turns.feed(event)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._drain)

    def _drain(self) -> None:
        if self._turn is None:
            self._begin(self._turns.drain())

    def _timer_fired(self) -> None:
        self._timer = None
        self._begin(self._turns.time_out())

    def _begin(self, turn: Turn) -> None:
        assert self._turn is None, "a turn is under way"
        self._scheduled = True  # events from now on belong to it
        self._turn = turn
        self._go_on()

    def _go_on(self) -> None:
        """Run to the end of the turn, or to where it listens.

        The next turn of the loop polls the sockets, and runs their callbacks before those of timers
        that are due by then, and after those of earlier `call_soon` calls.
        """
        assert self._turn is not None, "no turn is under way"
        began_ns = time.monotonic_ns()
        is_listening = self._work(self._turn)
        self._meter.on_turn(began_ns, time.monotonic_ns())
        if is_listening:
            self._loop.call_at(0, self._go_on)
            return
        self._turn = None
        self._scheduled = False
        if not self._stopped:
            self._connections.next_turn()
            self._arm_timer()

    def _work(self, turn: Turn) -> bool:
        """True: it runs to where it listens; False: to its end."""
        for action in chain.from_iterable(turn):
            if action is _TRACES_LEAVE:
                self._traces.flush()
            elif action is _LISTEN:
                return True
            elif action is not _STEPPED:
                self._do(action)
        return False

    def _do(self, action: Action) -> None:
        match action:
            case Trace():
                self._traces.add(action, self._turns.stepped)
            case SendResponse():
                self._connections.send_frame(action.connection, action.frame)
            case SendToPeer():
                self._peers.send(action.channel, action.endpoint, action.frame)
            case AppendBatches():
                self._log(action.log).append(action.data)
            case FlushLog():
                self._turns.feed(LogFlushed(action.log, self._log(action.log).flush()))
            case PersistElectionState():
                self._elections.save(action.state)
            case SendPieces():
                self._connections.send_pieces(action.connection, action.pieces)
            case NoResponse():
                self._connections.go_on(action.connection)
            case CloseConnection():
                self._connections.close(action.connection)
            case DisconnectPeer():
                self._peers.disconnect(action.channel)
            case OpenListeners():
                assert self._open_listeners is not None, "controllers' are open"
                self._open_listeners(action)
            case Stop():
                self._stopped = True
                self._stop(action)
            case OnReplicas():
                assert self._replicas is not None, "controllers keep no replicas"
                perform_on_replicas(action, self._replicas)
            case Marker():
                raise AssertionError(f"{action} is no effect")
            case _:
                perform(action, self._log(action.log))

    def _log(self, log: LogId) -> BatchLog:
        if self._replicas is None or log in self._logs:
            return self._logs[log]
        return self._replicas[log]

    def _arm_timer(self) -> None:
        """A timer that fires too early is armed again: most deadlines move later."""
        deadline_ns = self._node.next_deadline_ns()
        if self._timer is not None:
            if self._timer_ns <= deadline_ns:
                return
            self._timer.cancel()
        if deadline_ns <= read_clocks().mono_ns:
            self._timer = None
            self._begin(self._turns.time_out())
            return
        self._timer_ns = deadline_ns
        self._timer = self._loop.call_at(deadline_ns / 1e9, self._timer_fired)
