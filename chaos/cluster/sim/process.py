"""One life of one node: the counterpart of `node.server.shell`, on virtual time.

`node.turn` decides on effects and their order, as there. A step takes no time. A sync takes the
time that the disk asks for, and meanwhile the process does nothing: what arrives waits, as in a
kernel's buffers. The same holds while the process is paused. `between` is called before every
effect, so that a fault can strike between any two of them.

Some flushes are late (`chaos.conditions`): the process goes on meanwhile, unlike any shell of ours.
This shows that the node's promises rest on the reported end of durable records, and on no order.
"""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from chaos.cluster.interface import Address, NodeId
from chaos.cluster.sim.disk.disk import LateFlush
from chaos.cluster.sim.network import ConnectAttempt
from chaos.cluster.sim.surroundings import StruckError, Surroundings, WatchedNode
from chaos.cluster.sim.watchdog import Going, StepHalted
from node import ids
from node.config import NodeConfig
from node.effects import (
    AppendBatches,
    CloseConnection,
    DeleteBeforeSnapshot,
    DisconnectPeer,
    Event,
    FinishSnapshot,
    FlushLog,
    ForgetProducers,
    LogFlushed,
    NoResponse,
    OnReplicas,
    OpenListeners,
    PersistElectionState,
    ReplaceLog,
    ReplicaLogChange,
    SendPieces,
    SendResponse,
    SendToPeer,
    ShutdownRequested,
    Stop,
    Trace,
    TruncateLog,
    WriteSnapshot,
)
from node.ids import METADATA_LOG, Endpoint, LogId
from node.server.outcome import FAILED, describe_failure, last_stop
from node.server.output import Notices, TraceWriter
from node.server.peer_links import PeerLink, PeerLinks
from node.server.recovered import AnyNode, Recovered, stop_line
from node.server.tcp import Connections
from node.storage.election_store import ElectionStore
from node.storage.log import BatchLog, Log, perform, perform_on_replicas
from node.storage.log_directories import LogDirectories
from node.turn import Action, Marker, Turn, Turns

# The open logs of a process: the metadata log, and on a broker those of its replicas.


class ProcessLogs:
    def __init__(self, metadata: Log, replicas: LogDirectories | None) -> None:
        self._metadata = metadata
        self._replicas = replicas

    def __getitem__(self, log: LogId) -> BatchLog:
        if log == METADATA_LOG:
            return self._metadata
        return self._of_replicas[log]

    def change(self, change: ReplicaLogChange) -> None:
        perform_on_replicas(change, self._of_replicas)

    @property
    def _of_replicas(self) -> LogDirectories:
        assert self._replicas is not None, "controllers keep no replicas"
        return self._replicas


# Performs the effects of a process's turns, with simulated sockets and a simulated disk.


class EffectPerformer:
    """`at_once`: those that take no time, by their type; while it does one of the others, a process
    waits for the disk."""

    def __init__(
        self,
        *,
        elections: ElectionStore,
        logs: ProcessLogs,
        traces: TraceWriter,
        connections: Connections,
        peers: PeerLinks,
        feed: Callable[[Event], None],
        stop: Callable[[Stop], None],
        open_listeners: Callable[[OpenListeners], None],
        around: Surroundings,
    ) -> None:
        self._elections = elections
        self._logs = logs
        self._traces = traces
        self._connections = connections
        self._peers = peers
        self._feed = feed
        self._around = around
        self.at_once: dict[type[Action], Callable[[Any], None]] = {
            Trace: self._trace,
            SendResponse: self._send_response,
            SendPieces: self._send_pieces,
            SendToPeer: self._send_to_peer,
            AppendBatches: self._append,
            ForgetProducers: logs.change,
            NoResponse: self._send_nothing,
            CloseConnection: self._close,
            DisconnectPeer: self._disconnect,
            OpenListeners: open_listeners,
            Stop: stop,
        }

    def on_disk(self, action: Action) -> None:
        """The disk was waited for."""
        match action:
            case FlushLog():
                self._around.between()
                self._feed(LogFlushed(action.log, self._logs[action.log].flush()))
            case TruncateLog():
                if action.log == METADATA_LOG:
                    self._around.post.before_truncation(action.end)
                self._logs[action.log].truncate(action.end)
            case PersistElectionState():
                self._elections.save(action.state)
            case ReplaceLog():
                self._around.post.before_replacement()
                perform(action, self._logs[action.log])
            case WriteSnapshot() | FinishSnapshot() | DeleteBeforeSnapshot():
                perform(action, self._logs[action.log])
            case OnReplicas():
                self._logs.change(action)
            case _:
                raise AssertionError(f"{action} takes no time")

    # --- at once ---

    def _trace(self, action: Trace) -> None:
        self._traces.add(action, self._around.clock.true())

    def _send_response(self, action: SendResponse) -> None:
        self._connections.send_frame(action.connection, action.frame)

    def _send_pieces(self, action: SendPieces) -> None:
        self._connections.send_pieces(action.connection, action.pieces)

    def _send_to_peer(self, action: SendToPeer) -> None:
        self._peers.send(action.channel, action.endpoint, action.frame)

    def _append(self, action: AppendBatches) -> None:
        self._logs[action.log].append(action.data)

    def _send_nothing(self, action: NoResponse) -> None:
        self._connections.go_on(action.connection)

    def _close(self, action: CloseConnection) -> None:
        self._connections.close(action.connection)

    def _disconnect(self, action: DisconnectPeer) -> None:
        self._peers.disconnect(action.channel)


SIGKILLED = 137  # 128 + SIGKILL, as an engine reports it

# Members by name: an enum takes longer to find a member than to compare one.
_STEPPED, _TRACES_LEAVE, _LISTEN = Marker.STEPPED, Marker.TRACES_LEAVE, Marker.LISTEN
_SPIN_NS = 100_000  # a deadline that stays due makes a real process spin, and its time passes


class SimProcess:
    """Runs `node` until it stops, fails or is killed; `exit_code` is None until then."""

    def __init__(
        self,
        *,
        node: AnyNode,
        found: Recovered,
        replicas: LogDirectories | None,
        config: NodeConfig,
        traces: TraceWriter,
        around: Surroundings,
    ) -> None:
        self.exit_code: int | None = None
        self.is_paused = False
        self.node = node
        self._logs = ProcessLogs(found.log, replicas)
        self._config = config
        self._traces = traces
        self._around = around
        self._id = NodeId(config.node_id)
        self._inbox: deque[Callable[[], None]] = deque()
        self._going = Going(self._id, around.life)
        self._watched = WatchedNode(node, self._going, around.ear, around.post)
        self._turns = Turns(self._watched, around.clock.now)
        self._attempts: list[ConnectAttempt] = []
        self._connections = Connections(
            self._turns.feed,
            around.clock.mono_ns,
            self._inbox.append,
            config.limits,
            config.inner_listeners,
            Notices(self._tell, around.clock.mono_ns),
        )
        self._peers = PeerLinks(self._turns.feed, self._dial)
        self._performer = EffectPerformer(
            elections=found.elections,
            logs=self._logs,
            traces=traces,
            connections=self._connections,
            peers=self._peers,
            feed=self._turns.feed,
            stop=self._stop,
            open_listeners=lambda opened: self._open(opened.names),
            around=around,
        )
        self._work: Iterator[int] | None = None  # what goes on when the disk is done
        self._is_scheduled = False
        self._is_told_to_stop = False
        self._deadline_ns = 0  # when the node has something to do, as of the last look
        # When it fires, for which deadline it was set, and how often the clock had changed by then.
        self._timer_at, self._timer_ns, self._timer_changes = 0.0, 0, 0
        self._timer_number = 0

    @property
    def name(self) -> str:
        return f"kraft-node {self._id}"

    def start(self) -> None:
        """Open the listeners, and let the node begin."""
        self._open(frozenset(at.name for at in self._config.listeners) - self._config.opened_later)
        self._work = self._live(self._turns.start())
        self._wake()

    def _open(self, names: frozenset[str]) -> None:
        opened = [each for each in self._config.listeners if each.name in names]
        for endpoint in opened:
            self._around.network.listen(
                self._id,
                endpoint.port,
                partial(self._connections.accept, endpoint.name),
                self.hear,
            )
        if opened:
            listeners = ", ".join(f"{e.name}://{e.host}:{e.port}" for e in opened)
            self._around.err(f"{self.name}: serving on {listeners}\n")

    def hear(self, callback: Callable[[], None]) -> None:
        """Something came in from outside; it is looked at when the process next looks."""
        if self.exit_code is None:
            self._inbox.append(callback)
            if not (self._is_scheduled or self.is_paused):  # as `_wake`, without a call
                self._is_scheduled = True
                self._around.loop.soon(self._turn)

    def pause(self) -> None:
        """Every thread stands still; sockets stay open, and fill."""
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False
        self._wake()

    def terminate(self) -> None:
        """SIGTERM: shut down in good order, within a bounded time."""
        self._is_told_to_stop = True

        def request() -> None:
            self._around.err("kraft-node: SIGTERM, shutting down\n")
            self._turns.feed(ShutdownRequested())
            within_s, last = last_stop(self._config)
            self._around.loop.call_later(within_s, self.hear, partial(self._stop, last))

        self.hear(request)

    def kill(self) -> None:
        """SIGKILL, at once. From within its own work, StruckError must unwind that."""
        self._end(SIGKILLED)

    # --- turns ---

    def _wake(self) -> None:
        if not self._is_scheduled and not self.is_paused:
            self._is_scheduled = True
            self._around.loop.soon(self._turn)

    def _turn(self) -> None:
        """Work until there is nothing to do, or the disk has to be waited for."""
        self._is_scheduled = False
        if self.exit_code is not None or self.is_paused:
            return
        if self._work is None:
            self._work = self._live(self._turns.drain())
        self._around.watchdog.begin(self._going, self._around.loop.now)
        try:
            wait_ns = next(self._work, None)
        except StruckError:
            assert self.exit_code is not None, "struck, and still alive"
            return
        except (StepHalted, MemoryError) as error:
            self._halt(error)
            return
        except Exception as error:  # noqa: BLE001 - any unexpected error ends the node
            self._die(error)
            return
        finally:
            self._around.watchdog.end()
        if self.exit_code is not None:
            return
        if wait_ns is None:
            self._work = None
            self._arm_timer()
        else:
            self._is_scheduled = True
            loop = self._around.loop
            loop.at(loop.now + wait_ns / 1e9, self._turn)

    def _live(self, turn: Turn) -> Iterator[int]:
        """That turn, and others while there is something to do."""
        self._look()
        yield from self._take(turn)
        while self.exit_code is None:
            if self._connections.next_turn() or self._inbox:
                self._look()
                yield from self._take(self._turns.drain())
            elif self._is_due():
                yield from self._take(self._turns.time_out())
                if self._is_due():
                    yield _SPIN_NS
            else:
                return

    def _take(self, turn: Turn) -> Iterator[int]:
        at_once, between = self._performer.at_once, self._around.between
        for action in chain.from_iterable(turn):
            do = at_once.get(type(action))
            if do is not None:
                between()
                do(action)
            elif action is _STEPPED:
                self._going.is_looked_at = True
                self._around.post.after_step(self._watched.outputs)
                self._going.is_looked_at = False
            elif action is _TRACES_LEAVE:
                self._traces.flush()
            elif action is _LISTEN:
                self._look()
            else:
                between()
                if not self._begin_late(action):
                    yield self._around.drive.sync_ns()
                    self._performer.on_disk(action)
            if self.exit_code is not None:
                return

    def _tell(self, line: str) -> None:
        self._around.err(f"{self.name}: {line}\n")

    def _is_due(self) -> bool:
        self._deadline_ns = self.node.core.next_deadline_ns()
        return self._around.clock.mono_ns() >= self._deadline_ns

    def _look(self) -> None:
        """Take what came in, as a look at the sockets does."""
        while self._inbox and self.exit_code is None:
            self._inbox.popleft()()

    def _begin_late(self, action: Action) -> bool:
        """Begin a flush during which the process goes on, if it is to be one."""
        if not isinstance(action, FlushLog):
            return False
        late = self._around.drive.late_flush()
        if late is not None:
            self._flush_late(action.log, late)
        return late is not None

    def _flush_late(self, log: ids.LogId, late: LateFlush) -> None:
        """At some moment of it what is written by then is durable; what the node hears of it at the
        end does not speak of what was written since, which is not."""
        loop, began = self._around.loop, self._around.loop.now

        def sync() -> None:
            end = self._logs[log].flush()
            self._around.post.after_sync()
            told = LogFlushed(log, end)
            loop.at(began + late.told_ns / 1e9, self.hear, lambda: self._turns.feed(told))

        loop.at(began + late.synced_ns / 1e9, self.hear, sync)

    def _arm_timer(self) -> None:
        """One timer is enough while it fires no later than the deadline: it looks again then."""
        now, clock = self._around.loop.now, self._around.clock
        is_set = now < self._timer_at and self._timer_changes == clock.changes
        if is_set and self._timer_ns <= self._deadline_ns:
            return
        when = clock.when(self._deadline_ns)
        if now < self._timer_at <= when:
            return
        self._timer_at, self._timer_ns = when, self._deadline_ns
        self._timer_changes = clock.changes
        self._timer_number += 1
        self._around.loop.at(when, self._time_out, self._timer_number)

    def _time_out(self, number: int) -> None:
        """The deadline may have moved since it was set: then there is nothing to wake up for."""
        if number != self._timer_number or self.exit_code is not None:
            return
        self._timer_at = 0.0
        if self._is_scheduled or self._around.clock.mono_ns() >= self._deadline_ns:
            self._wake()
        elif not self.is_paused:
            self._arm_timer()

    # --- connections ---

    def _dial(self, endpoint: Endpoint, link: PeerLink) -> ConnectAttempt:
        network = self._around.network
        attempt = network.connect(
            network.resolve(self._id, Address(endpoint.host, endpoint.port)),
            link,
            self.hear,
            lambda end: link.failed() if end is None else None,
        )
        self._attempts = [each for each in self._attempts if not each.is_over]
        self._attempts.append(attempt)
        return attempt

    # --- the end ---

    def _stop(self, stop: Stop) -> None:
        self._traces.add(stop_line(stop), self._around.clock.true())
        self._traces.flush()
        self._around.err(f"{self.name}: stopped, {stop.reason}\n")
        self._end(stop.code)
        if stop.code or not self._is_told_to_stop:
            self._end_unasked(stop.code)

    def _die(self, error: Exception) -> None:
        """Of its disk, or of a broken invariant: at once, without a farewell."""
        self._around.err(f"{self.name}: {describe_failure(error)}\n")
        self._end(FAILED)
        self._end_unasked(FAILED)

    def _halt(self, error: StepHalted | MemoryError) -> None:
        """The harness ends what would never end by itself."""
        self._end(SIGKILLED)
        if isinstance(error, StepHalted) and error.of_node:
            self._end_unasked(SIGKILLED, halted=str(error))
        self._around.watchdog.fail(self._id, error, self._around.clock.true().mono_ns)

    def _end_unasked(self, exit_code: int, *, halted: str = "") -> None:
        self._around.end_unasked(exit_code, told_to_stop=self._is_told_to_stop, halted=halted)

    def _end(self, exit_code: int) -> None:
        if self.exit_code is not None:
            return
        self.exit_code = exit_code
        self._inbox.clear()
        for attempt in self._attempts:
            attempt.cancel()
        self._around.network.leave(self._id)
        self._around.close_files()
