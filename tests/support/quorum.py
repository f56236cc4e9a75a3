"""A quorum of node cores in one process: virtual time, seeded latencies, links that can be cut.

Nodes talk in flat messages (`node.core`), over connections that behave as TCP does: in order, and
dead in a direction once something sent that way was swallowed. A power-off loses what was not
flushed. Every trace line goes to the watchers as it is written.
"""

import heapq
import itertools
import random
from collections.abc import Callable
from functools import partial
from uuid import UUID

from chaos.cluster.sim.invariants import CoreView, Watch
from node.config import NodeConfig, QuorumTimeouts, SnapshotSettings
from node.core import Core, Life
from node.effects import (
    CloseConnection,
    DisconnectPeer,
    FlushLog,
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
from node.ids import METADATA_LOG, ConnectionId, Endpoint, NodeId, Now, ReplicaKey
from node.outbox import Output, RequestTo, ResponseTo
from node.process_roles import ControllerRole, controller_core
from node.raft.roles import Leader
from node.raft.voter_forms import DYNAMIC
from node.raft.voter_history import VoterHistory
from node.storage.log import perform
from node.wire.apis import Request, Response
from tests.support.memory_log import BOOTSTRAP
from tests.support.quorum_members import INNER, OUTER, Link, Member, Mischief, OnAnswer, TraceLine

MS = 1_000_000
PORTS = 9100  # and the id of a node
SECOND = 1000 * MS
CLUSTER_ID = "a-cluster-of-tests-0000"
WALL_START_NS = 1_700_000_000 * SECOND

Watcher = Callable[["Quorum", TraceLine], None]


class Quorum:
    def __init__(
        self,
        size: int = 3,
        *,
        observers: int = 0,
        seed: int = 0,
        timeouts: QuorumTimeouts | None = None,
        snapshots: SnapshotSettings | None = None,
        mischief: Mischief | None = None,
        watchers: tuple[Watcher, ...] = (),
        invariants: bool = False,
        listed: bool = False,
    ) -> None:
        """`listed`: the first nodes vote because the configuration lists them (KIP-856)."""
        self.rng = random.Random(f"{seed}:network")
        self._seed = seed
        self._timeouts = timeouts or QuorumTimeouts(append_linger_ms=2)
        self._snapshots = snapshots or SnapshotSettings()
        self._mischief = mischief or Mischief()
        self._watchers = watchers
        self.now_ns = SECOND
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._ids = itertools.count(1)
        self.cut: set[tuple[NodeId, NodeId]] = set()
        self.lines: list[TraceLine] = []
        self._disks = itertools.count(1001)
        self.members = {NodeId(i): self._new_member(i) for i in range(1, size + observers + 1)}
        self._formatted = tuple(self.members[NodeId(i)].key for i in range(1, size + 1))
        self._listed = {NodeId(i): (self.inner(i),) for i in range(1, size + 1)} if listed else None
        first = self._formatted if self._listed is None else map(ReplicaKey, self._listed)
        self._watch = Watch(first) if invariants else None

    @property
    def is_listed(self) -> bool:
        return self._listed is not None

    # --- faults ---

    def start(self, *nodes: int) -> None:
        for node in nodes or tuple(self.members):
            self._boot(NodeId(node))

    def power_off(self, node: NodeId) -> None:
        """Stop at once and lose what was not flushed; the others see their connections break."""
        member = self.members[node]
        member.core = None
        member.log.power_off()
        member.is_flushing = False
        for link in list(member.served.values()):
            self._break(link)
        for link in list(member.out.values()):
            link.is_open = False
            self._after_latency(partial(self._close_at_server, link))
        member.out.clear()
        member.served.clear()

    def wipe(self, node: NodeId) -> None:
        """Another disk for a node that is down, formatted without voters: another replica."""
        assert not self.is_up(node), f"node {node} runs"
        incarnation = self.members[node].incarnation
        self.members[node] = self._new_member(node)
        self.members[node].incarnation = incarnation

    def cut_between(self, one: NodeId, other: NodeId) -> None:
        self.cut |= {(one, other), (other, one)}

    def isolate(self, node: NodeId) -> None:
        for other in self.members:
            if other != node:
                self.cut_between(node, other)

    def heal(self) -> None:
        self.cut.clear()

    # --- looking ---

    def is_up(self, node: NodeId) -> bool:
        return self.members[node].core is not None

    def core(self, node: int) -> Core[ControllerRole]:
        core = self.members[NodeId(node)].core
        assert core is not None, f"node {node} is down"
        return core

    def leaders(self) -> list[NodeId]:
        return [
            node
            for node, member in self.members.items()
            if member.core is not None and isinstance(member.core.raft.quorum.role, Leader)
        ]

    def active(self) -> list[NodeId]:
        """Who takes itself for the active controller."""
        return [
            node
            for node, member in self.members.items()
            if member.core is not None and member.core.role.controller.is_active
        ]

    # --- time ---

    def run_for(self, ns: int) -> None:
        self.run_until(lambda: False, ns)

    def run_until(self, condition: Callable[[], bool], at_most_ns: int) -> bool:
        """Go on until `condition` holds; False if it did not within the time."""
        end = self.now_ns + at_most_ns
        while not condition():
            if not self._heap or self._heap[0][0] > end:
                self.now_ns = end
                return condition()
            self.now_ns, _, action = heapq.heappop(self._heap)
            action()
        return True

    def at(self, at_ns: int, action: Callable[[], None]) -> None:
        heapq.heappush(self._heap, (max(at_ns, self.now_ns), next(self._order), action))

    # --- clients ---

    def ask(
        self, node: NodeId, request: Request, on_answer: OnAnswer, listener: str = OUTER
    ) -> None:
        """A client's request on a connection of its own; answered with None if that breaks."""
        id_ = ConnectionId(next(self._ids))
        link = Link(id_, None, node, on_answer=on_answer, listener=listener)
        self._send_request(link, request, 0)

    # --- inside ---

    def _boot(self, node: NodeId) -> None:
        member = self.members[node]
        assert member.core is None, f"node {node} is up already"
        member.incarnation += 1
        inner = {n: (self.inner(n),) for n in self.members}
        outer = Endpoint(name=OUTER, host="127.0.0.1", port=20000 + node)
        member.core = controller_core(
            NodeConfig(
                node_id=node,
                log_dirs=("",),
                listeners=inner[node],
                advertised=(*inner[node], outer),
                bootstrap_servers=tuple(self.inner(each.id) for each in self._formatted),
                timeouts=self._timeouts,
                snapshots=self._snapshots,
            ),
            Life(
                cluster_id=CLUSTER_ID,
                key=member.key,
                directory=member.key.directory,
                voters=self._first_voters(member.key),
                election=member.election,
                log=member.log,
                rng=random.Random(f"{self._seed}:{node}:{member.incarnation}"),
                incarnation=UUID(int=1 << 64),
            ),
            BOOTSTRAP,
        )
        if self._watch is not None:
            view = CoreView(member.core, member.log, disk=member)
            member.life = self._watch.begin(member.key, view, self.now_ns)
        self._perform(member, member.core.start(self._now()))

    def _first_voters(self, key: ReplicaKey) -> VoterHistory:
        if self._listed is not None:
            return VoterHistory.listed(self._listed, key)
        formatted = self._formatted if key in self._formatted else ()
        return VoterHistory.formatted([(k, (self.inner(k.id),)) for k in formatted], DYNAMIC)

    def _new_member(self, node: int) -> Member:
        return Member(key=ReplicaKey(NodeId(node), UUID(int=next(self._disks))))

    @staticmethod
    def inner(node: int) -> Endpoint:
        return Endpoint(name=INNER, host=f"n{node}", port=PORTS + node)

    def _now(self) -> Now:
        return Now(self.now_ns, WALL_START_NS + self.now_ns)

    def _step(
        self, member: Member, step: Callable[[Core[ControllerRole], Now], list[Output]]
    ) -> None:
        if member.core is not None:
            self._perform(member, step(member.core, self._now()))

    def _perform(self, member: Member, outputs: list[Output]) -> None:
        for output in outputs:
            self._perform_one(member, output)
        if member.life is not None:
            member.life.after_step(outputs, self.now_ns)
        self._arm(member)

    def _perform_one(self, member: Member, output: Output) -> None:
        node = member.key.id
        match output:
            case Trace():
                self._trace(member, output)
            case PersistElectionState(state=state):
                if self._mischief.persists():
                    member.election = state
            case FlushLog():
                self._flush_later(member)
            case RequestTo():
                if output.channel not in member.out:
                    member.out[output.channel] = self._open(node, output)
                link = member.out[output.channel]
                self._send_request(link, output.request, output.correlation_id)
            case ResponseTo(connection=connection, response=response):
                answered = member.served.get(connection)
                if answered is not None:
                    self._send_answer(answered, response)
            case DisconnectPeer(channel=channel):
                dropped = member.out.pop(channel, None)
                if dropped is not None:
                    dropped.is_open = False
                    self._after_latency(lambda: self._close_at_server(dropped))
            case CloseConnection(connection=connection):
                self._break(member.served.pop(connection))
            case Stop():
                member.core = None
            case SendResponse() | SendPieces() | SendToPeer():
                raise AssertionError("the core speaks no frames")
            case OnReplicas() | NoResponse() | OpenListeners():
                raise AssertionError("controllers keep no replicas")
            case _:
                perform(output, member.log)

    def _trace(self, member: Member, trace: Trace) -> None:
        line = TraceLine(
            at_ns=self.now_ns,
            node=member.key.id,
            incarnation=member.incarnation,
            event=trace.event,
            fields=dict(trace.fields),
        )
        self.lines.append(line)
        for watcher in self._watchers:
            watcher(self, line)

    def _arm(self, member: Member) -> None:
        if member.core is None:
            return
        deadline = max(member.core.next_deadline_ns(), self.now_ns)
        if member.armed_ns >= self.now_ns and member.armed_ns <= deadline:
            return
        member.armed_ns = deadline
        self.at(deadline, lambda: self._time_out(member, deadline))

    def _time_out(self, member: Member, deadline: int) -> None:
        if member.armed_ns != deadline:
            return
        member.armed_ns = -1
        self._step(member, lambda core, now: core.on_timeout(now))

    def _flush_later(self, member: Member) -> None:
        if member.is_flushing:
            return  # one flush serves all that was written until it happens
        member.is_flushing = True
        incarnation = member.incarnation

        def flush() -> None:
            if member.incarnation == incarnation and member.core is not None:
                member.is_flushing = False
                end = member.log.flush()
                self._step(member, lambda core, now: core.on_flushed(METADATA_LOG, end, now))

        self.at(self.now_ns + self.rng.randrange(MS // 5, 4 * MS), flush)

    # --- the network ---

    def _open(self, node: NodeId, ask: RequestTo) -> Link:
        server = NodeId(ask.endpoint.port - PORTS)
        return Link(ConnectionId(next(self._ids)), node, server, channel=ask.channel)

    def _latency(self) -> int:
        usual = self.rng.randrange(MS // 10, 2 * MS)
        return usual * 40 if self.rng.random() < 0.01 else usual

    def _after_latency(self, action: Callable[[], None]) -> None:
        self.at(self.now_ns + self._latency(), action)

    def _is_cut(self, sender: NodeId | None, receiver: NodeId | None) -> bool:
        return sender is not None and receiver is not None and (sender, receiver) in self.cut

    def _send_request(self, link: Link, request: Request, correlation_id: int) -> None:
        link.is_dead_there |= self._is_cut(link.client, link.server)
        if link.is_dead_there:
            return
        link.request_ns = max(link.request_ns, self.now_ns + self._latency())
        self.at(link.request_ns, lambda: self._deliver_request(link, request, correlation_id))

    def _deliver_request(self, link: Link, request: Request, correlation_id: int) -> None:
        link.is_dead_there |= self._is_cut(link.client, link.server)
        if link.is_dead_there or not link.is_open:
            return
        member = self.members[link.server]
        if member.core is None:
            self._break(link)
            return
        member.served[link.id] = link
        link.pending.append(correlation_id)
        self._step(member, lambda core, now: core.on_request(link.id, link.listener, request, now))

    def _send_answer(self, link: Link, response: Response) -> None:
        correlation_id = link.pending.pop(0)
        link.is_dead_back |= self._is_cut(link.server, link.client)
        if link.is_dead_back:
            return
        link.answer_ns = max(link.answer_ns, self.now_ns + self._latency())
        self.at(link.answer_ns, lambda: self._deliver_answer(link, response, correlation_id))

    def _deliver_answer(self, link: Link, response: Response, correlation_id: int) -> None:
        link.is_dead_back |= self._is_cut(link.server, link.client)
        if link.is_dead_back or not link.is_open:
            return
        if link.client is None:
            assert link.on_answer is not None
            self._close_at_server(link)
            link.on_answer(response)
            return
        assert link.channel is not None
        channel = link.channel
        self._step(
            self.members[link.client],
            lambda core, now: core.on_response(channel, correlation_id, response, now),
        )

    def _break(self, link: Link) -> None:
        """The server is gone, or hung up: the client learns of it, unless it hung up first."""

        def notice() -> None:
            if not link.is_open:
                return
            link.is_open = False
            if link.client is None:
                assert link.on_answer is not None
                link.on_answer(None)
                return
            client = self.members[link.client]
            assert link.channel is not None
            channel = link.channel
            if client.out.get(channel) is link:
                del client.out[channel]
                self._step(client, lambda core, now: core.on_peer_disconnected(channel, now))

        self._after_latency(notice)

    def _close_at_server(self, link: Link) -> None:
        if self._is_cut(link.client, link.server):
            return  # nobody tells the server
        member = self.members[link.server]
        if member.served.pop(link.id, None) is not None:
            self._step(member, lambda core, now: core.on_connection_closed(link.id, now))
