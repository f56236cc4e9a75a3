"""Nodes of both roles in one process and in virtual time: whole nodes, on frames and on disks that
forget what was not synced. A message takes a millisecond; a disk takes none."""

import heapq
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from uuid import UUID

from chaos.cluster.interface import PowerCutMode
from node.config import BrokerRole, BrokerSettings, GroupSettings, NodeConfig, SnapshotSettings
from node.effects import (
    CloseConnection,
    ConnectionClosed,
    DisconnectPeer,
    Event,
    FlushLog,
    FrameReceived,
    LogFlushed,
    NoResponse,
    OnReplicas,
    OpenListeners,
    PeerDisconnected,
    PeerFrameReceived,
    PersistElectionState,
    SendPieces,
    SendResponse,
    SendToPeer,
    ShutdownRequested,
    Stop,
    Trace,
    whole,
)
from node.ids import MS, ChannelId, ConnectionId, Endpoint, NodeId, Now
from node.server.directories import log_directories, metadata_directory
from node.server.recovered import (
    AnyNode,
    broker_on,
    combined_on,
    node_on,
    recover,
    recover_replicas,
)
from node.storage.format import format_log_directory
from node.storage.log import perform, perform_on_replicas
from node.turn import Action, Marker, Turn, Turns
from node.wire.apis import Request, Response
from node.wire.frames import decode_response, encode_request
from tests.support.broker_machine import (
    CLUSTER,
    Life,
    Line,
    Machine,
    add_second,
    directory_of,
    key_of,
)

CONTROLLER = NodeId(1)
_LATENCY_NS = MS
_HOUR = 3_600_000 * MS
BROKER_ROLE = BrokerRole(
    controller_listener="CONTROLLER", advertised=(), heartbeat_ms=500, lag_ms=5000
)


class BrokerWorld:
    """`spares`: controllers that have no vote; they observe, as brokers do. `combined`: nodes that
    are both, and all that vote; without them CONTROLLER does, alone. `told`: all that nodes traced,
    in order. `second`: those that have the log directory SECOND as well."""

    def __init__(
        self,
        brokers: tuple[int, ...],
        seed: int = 0,
        groups: GroupSettings | None = None,
        role: BrokerRole = BROKER_ROLE,
        snapshots: SnapshotSettings | None = None,
        spares: tuple[int, ...] = (),
        combined: tuple[int, ...] = (),
        second: tuple[int, ...] = (),
        settings: BrokerSettings | None = None,
    ) -> None:
        self._settings = settings or BrokerSettings()
        self._groups = groups or GroupSettings()
        self._role = role
        self._snapshots = snapshots or SnapshotSettings()
        self.told: list[tuple[NodeId, Trace]] = []
        self.now_ns = 1_000_000_000
        self._rng = random.Random(seed)
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0
        self.cut: set[tuple[int, int]] = set()  # (from, to): no message arrives
        self._voters = tuple(NodeId(id_) for id_ in combined or (CONTROLLER,))
        self.machines = {
            NodeId(id_): Machine(
                NodeId(id_),
                as_controller=None if id_ in brokers else _at("CONTROLLER", 9300 + id_),
                as_broker=_at("INT", 9000 + id_) if id_ in (*brokers, *combined) else None,
            )
            for id_ in (*self._voters, *spares, *brokers)
        }
        voters = tuple((key_of(id_), (self._controller_at(id_),)) for id_ in self._voters)
        for machine in self.machines.values():
            format_log_directory(
                machine.disk,
                cluster_id=CLUSTER,
                node_id=machine.id,
                voters=voters if machine.id in self._voters else (),
                timestamp_ms=0,
                directory_id=directory_of(machine.id),
            )
            if machine.id in second:
                add_second(machine)
        for id_ in self.machines:
            self.start(id_)

    # --- what is done to nodes ---

    def start(self, id_: int) -> None:
        machine = self.machines[NodeId(id_)]
        assert machine.life is None
        machine.lives += 1
        machine.exit_code = None
        votes = machine.id in self._voters
        role = (
            None
            if machine.as_broker is None
            else replace(self._role, advertised=(machine.as_broker,))
        )
        config = NodeConfig(
            node_id=machine.id,
            log_dirs=machine.log_dirs,
            listeners=machine.endpoints,
            advertised=() if machine.as_controller is None else (machine.as_controller,),
            bootstrap_servers=() if votes else (self._controller_at(self._voters[0]),),
            snapshots=self._snapshots,
            # What a snapshot covers can go: the log is let go of by whole segments.
            segment_bytes=self._snapshots.record_bytes,
            role=role,
            brokers=self._settings,
            groups=self._groups,
        )
        disks = machine.disks(config.directories)
        config = replace(config, metadata_log_dir=metadata_directory(config, disks))
        found = recover(config, disks[config.log_dir], UUID(int=1))
        incarnation = UUID(int=machine.id * 1000 + machine.lives)
        rng = random.Random(self._rng.random())
        node: AnyNode
        replicas = None
        if role is None:
            node = node_on(found, config, rng, incarnation)
        else:
            directories = log_directories(
                config,
                found.meta,
                disks,
                lambda: UUID(int=10**6 + machine.id * 1000 + machine.lives),
            )
            replicas = recover_replicas(role, directories)
            begin = combined_on if config.is_controller else broker_on
            node = begin(found, replicas, config, role, rng, incarnation)
        machine.life = Life(
            machine=machine,
            node=node,
            log=found.log,
            replicas=replicas,
            save=lambda deed: found.elections.save(deed.state),
            turns=Turns(node, self._clocks),
        )
        self._run(machine.life, machine.life.turns.start())

    def kill(self, id_: int) -> None:
        """Its page cache stays."""
        machine = self.machines[NodeId(id_)]
        life, machine.life = machine.life, None
        assert life is not None
        for line in life.lines.values():
            line.answer(None)
        machine.filesystem.close_all()

    def power_off(self, id_: int, mode: PowerCutMode) -> None:
        self.kill(id_)
        self.machines[NodeId(id_)].filesystem.power_cut(mode, self._rng)

    def stop(self, id_: int) -> None:
        """In good order."""
        machine = self.machines[NodeId(id_)]
        life = machine.life
        assert life is not None
        self._feed(life, ShutdownRequested())
        self.until(lambda: machine.life is None, "it stopped")

    def ask(
        self, id_: int, request: Request, patience_ms: int = 60_000, listener: str = ""
    ) -> Response | None:
        """The answer; None where the connection broke, or nothing came. A broker is asked as one,
        unless told otherwise."""
        told = self.begin(id_, request, listener)
        deadline_ns = self.now_ns + patience_ms * MS
        while not told and self.now_ns < deadline_ns and self._events:
            self._next()
        return told[0] if told else None

    def begin(self, id_: int, request: Request, listener: str = "") -> list[Response | None]:
        """What is answered will be in there; None where the connection breaks."""
        machine = self.machines[NodeId(id_)]
        life = machine.life
        if life is None:
            return [None]
        header, frame = encode_request(request, correlation_id=1, client_id="client")
        told: list[Response | None] = []

        def answered(frame: bytes | None) -> None:
            told.append(None if frame is None else decode_response(header, frame))

        connection = self._open(life, listener or machine.endpoints[0].name, answered)
        self._at(_LATENCY_NS, lambda: self._arrive(life, connection, frame))
        return told

    def until(self, condition: Callable[[], bool], what: str, patience_s: int = 120) -> None:
        deadline_ns = self.now_ns + patience_s * 1000 * MS
        while not condition():
            assert self.now_ns < deadline_ns, f"waited {patience_s} s in vain: {what}"
            self._next()

    def run_ms(self, milliseconds: int) -> None:
        end_ns = self.now_ns + milliseconds * MS
        self._at(milliseconds * MS, lambda: None)
        while self.now_ns < end_ns:
            self._next()

    # --- the world ---

    def _clocks(self) -> Now:
        return Now(self.now_ns, self.now_ns)

    def _at(self, after_ns: int, act: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (self.now_ns + after_ns, self._count, act))

    def _next(self) -> None:
        at_ns, _, act = heapq.heappop(self._events)
        self.now_ns = max(self.now_ns, at_ns)
        act()

    def _feed(self, life: Life, event: Event) -> None:
        if life.is_alive:
            life.turns.feed(event)
            self._run(life, life.turns.drain())

    def _run(self, life: Life, turn: Turn) -> None:
        for deed in chain.from_iterable(turn):
            self._do(life, deed)
            if not life.is_alive:
                return
        self._arm(life)

    def _arm(self, life: Life) -> None:
        at_ns = min(max(life.node.next_deadline_ns(), self.now_ns + MS // 10), self.now_ns + _HOUR)

        def fire() -> None:
            if life.is_alive and life.node.next_deadline_ns() <= self.now_ns:
                self._run(life, life.turns.time_out())

        self._at(at_ns - self.now_ns, fire)

    def _do(self, life: Life, deed: Action) -> None:
        match deed:
            case Trace():
                self.told.append((life.machine.id, deed))
            case Marker():
                pass
            case FlushLog(log=log):
                life.turns.feed(LogFlushed(log=log, end=life.log_of(log).flush()))
            case PersistElectionState():
                life.save(deed)
            case SendResponse(connection=connection, frame=frame):
                if connection in life.lines:
                    life.lines[connection].answer(frame)
                    self._go_on(life, connection)
            case SendPieces(connection=connection, pieces=pieces):
                if connection in life.lines and (read := whole(pieces)) is None:
                    life.lines.pop(connection).answer(None)
                elif connection in life.lines and read is not None:
                    life.lines[connection].answer(read)
                    self._go_on(life, connection)
            case NoResponse(connection=connection):
                self._go_on(life, connection)
            case CloseConnection(connection=connection):
                life.lines.pop(connection).answer(None)
            case OpenListeners(names=names):
                life.opened |= names  # an earlier client is hung up on, in this world
            case SendToPeer():
                self._send(life, deed)
            case DisconnectPeer(channel=channel):
                self._drop(life, channel)
            case Stop(code=code):
                life.machine.exit_code = code
                self.kill(life.machine.id)
            case OnReplicas():
                assert life.replicas is not None
                perform_on_replicas(deed, life.replicas)
            case _:
                perform(deed, life.log_of(deed.log))

    # --- connections ---

    def _controller_at(self, id_: int) -> Endpoint:
        found = self.machines[NodeId(id_)].as_controller
        assert found is not None
        return found

    def _open(
        self, life: Life, listener: str, answer: Callable[[bytes | None], None]
    ) -> ConnectionId:
        connection = ConnectionId(life.next_connection)
        life.next_connection += 1
        life.lines[connection] = Line(listener, answer)
        return connection

    def _send(self, life: Life, deed: SendToPeer) -> None:
        channel = deed.channel
        if channel not in life.out:
            to, listener = self._listening_at(deed.endpoint.port)
            if to.life is None:
                self._at(_LATENCY_NS, lambda: self._lost(life, channel))
                return
            served = to.life

            def answered(frame: bytes | None) -> None:
                self._at(_LATENCY_NS, lambda: self._heard(life, channel, out, frame))

            out = (served, self._open(served, listener, answered))
            life.out[channel] = out
        served, connection = life.out[channel]
        if (life.machine.id, served.machine.id) not in self.cut:
            self._at(_LATENCY_NS, lambda: self._arrive(served, connection, deed.frame))

    def _listening_at(self, port: int) -> tuple[Machine, str]:
        return next(
            (machine, at.name)
            for machine in self.machines.values()
            for at in machine.endpoints
            if at.port == port
        )

    def _arrive(self, life: Life, connection: ConnectionId, frame: bytes) -> None:
        line = life.lines.get(connection)
        if life.is_alive and line is not None:
            line.waiting.append(frame)
            self._hand_over(life, connection, line)

    def _hand_over(self, life: Life, connection: ConnectionId, line: Line) -> None:
        if line.waiting and not line.is_busy:
            line.is_busy = True
            frame = line.waiting.popleft()
            event = FrameReceived(connection=connection, listener=line.listener, frame=frame)
            self._at(0, lambda: self._feed(life, event) if connection in life.lines else None)

    def _go_on(self, life: Life, connection: ConnectionId) -> None:
        line = life.lines.get(connection)
        if line is not None:
            line.is_busy = False
            self._hand_over(life, connection, line)

    def _heard(
        self, life: Life, channel: ChannelId, out: tuple[Life, ConnectionId], frame: bytes | None
    ) -> None:
        """Over a connection that is still in use."""
        if life.out.get(channel) is not out:
            return
        if frame is None:
            self._lost(life, channel)
        elif (out[0].machine.id, life.machine.id) not in self.cut:
            self._feed(life, PeerFrameReceived(channel=channel, frame=frame))

    def _lost(self, life: Life, channel: ChannelId) -> None:
        life.out.pop(channel, None)
        self._feed(life, PeerDisconnected(channel=channel))

    def _drop(self, life: Life, channel: ChannelId) -> None:
        out = life.out.pop(channel, None)
        if out is not None and out[0].lines.pop(out[1], None) is not None:
            gone = ConnectionClosed(connection=out[1])
            self._at(0, lambda: self._feed(out[0], gone))


def _at(name: str, port: int) -> Endpoint:
    return Endpoint(name=name, host="h", port=port)
