"""One node core on a bench: what it is asked, what it asks, and time are the test's."""

import random
from collections.abc import Callable, Sequence
from uuid import UUID

from node.config import BrokerSettings, NodeConfig, QuorumTimeouts, SnapshotSettings
from node.controller.registration import REGISTRY_CHANNEL
from node.core import Life
from node.effects import (
    ElectionState,
    FlushLog,
    LogChange,
    PersistElectionState,
    Stop,
    Trace,
)
from node.ids import (
    METADATA_LOG,
    ChannelId,
    ConnectionId,
    Endpoint,
    Epoch,
    NodeId,
    Now,
    Offset,
    ReplicaKey,
)
from node.outbox import Output, RequestTo, ResponseTo
from node.process_roles import controller_core
from node.raft.roles import Leader, Role
from node.raft.voter_forms import STATIC
from node.raft.voter_history import VoterHistory
from node.records.batch import encode_batch
from node.records.metadata import MetadataRecord, NoOpRecord, encode_metadata
from node.storage.log import perform
from node.wire.apis import Request, Response
from node.wire.fetch import FetchRequest, FetchResponse
from node.wire.vote import BeginQuorumEpochRequest, VoteRequest, VoteResponse
from tests.support.memory_log import BOOTSTRAP, MemoryLog

MS = 1_000_000
PORTS = 9100  # and the id of a node
CLUSTER = "a-cluster"


NO_OP = encode_metadata(NoOpRecord())
# For rules of the quorum alone: the controller's own records wait for ever.
QUIET = QuorumTimeouts(append_linger_ms=10**9)


def key(node: int, directory: int | None = None) -> ReplicaKey:
    return ReplicaKey(NodeId(node), UUID(int=100 + node if directory is None else directory))


ME, OTHER = key(1), key(2)
DISK = UUID(int=1001)  # where the quorum does not ask for it


def batch(base: int, epoch: int, count: int = 1, text: bytes = NO_OP) -> bytes:
    """`count` NoOp records in one batch."""
    return encode_batch(
        [(None, text)] * count, base_offset=Offset(base), leader_epoch=Epoch(epoch), timestamp_ms=0
    )


def log_of(*epochs: int) -> MemoryLog:
    """A durable log with one batch of one record for each of `epochs`."""
    log = MemoryLog()
    for base, epoch in enumerate(epochs):
        log.append(batch(base, epoch))
    log.flush()
    return log


def asked_node(ask: RequestTo) -> NodeId:
    """Whom it is for."""
    return NodeId(ask.endpoint.port - PORTS)


def _ignore(_output: Output) -> None:
    pass


class Rig:
    """Flushes at once unless `flushes` is false; then `flush()` is the test's to call.

    `watch` is told of every output, in order, as it is performed. Whoever moves `now_ns` by hand
    calls `act_on_time` afterwards.
    """

    def __init__(
        self,
        *,
        size: int = 3,
        kraft_version: int = STATIC,
        me: ReplicaKey = ME,
        voters: VoterHistory | None = None,
        log: MemoryLog | None = None,
        election: ElectionState | None = None,
        flushes: bool = True,
        rng: random.Random | None = None,
        timeouts: QuorumTimeouts | None = None,
        snapshots: SnapshotSettings | None = None,
        brokers: BrokerSettings | None = None,
        bootstrap: Sequence[MetadataRecord] = BOOTSTRAP,
        now_ns: int = 1000 * MS,
        watch: Callable[[Output], None] = _ignore,
    ) -> None:
        self.size = size
        self.log = log or MemoryLog()
        self.election = election or ElectionState()
        self.flushes = flushes
        self.now_ns = now_ns
        self._watch = watch
        self.is_stopped = False
        self.outputs: list[Output] = []  # of the last step
        self.asked: list[RequestTo] = []
        self.answers: dict[ConnectionId, list[Response]] = {}
        self.traces: list[Trace] = []
        inner = {
            key(i): (Endpoint(name="CONTROLLER", host=f"node-{i}", port=PORTS + i),)
            for i in range(1, size + 1)
        }
        outer = Endpoint(name="EXTERNAL", host="127.0.0.1", port=20001)
        self.core = controller_core(
            NodeConfig(
                node_id=me.id,
                log_dirs=("",),
                listeners=inner[key(me.id)],
                advertised=(*inner[key(me.id)], outer),
                timeouts=timeouts or QuorumTimeouts(append_linger_ms=0),
                snapshots=snapshots or SnapshotSettings(),
                brokers=brokers or BrokerSettings(),
            ),
            Life(
                cluster_id=CLUSTER,
                key=me,
                directory=DISK if me.known_directory is None else me.directory,
                voters=voters or VoterHistory.formatted(inner.items(), kraft_version),
                election=self.election,
                log=self.log,
                rng=rng or random.Random(0),
                incarnation=UUID(int=1 << 64),
            ),
            bootstrap,
        )
        self._do(self.core.start(self.now()))

    # --- looking ---

    def now(self) -> Now:
        return Now(self.now_ns, self.now_ns)

    @property
    def role(self) -> Role:
        return self.core.raft.quorum.role

    # --- events ---

    def request(self, request: Request, connection: int = 1) -> Response | None:
        """Ask; the answer if it came at once."""
        on = ConnectionId(connection)
        before = len(self.answered(connection))
        self._do(self.core.on_request(on, "CONTROLLER", request, self.now()))
        answers = self.answered(connection)
        return answers[-1] if len(answers) > before else None

    def answered(self, connection: int = 1) -> list[Response]:
        return self.answers.get(ConnectionId(connection), [])

    def reply(self, peer: int, response: Response) -> None:
        """`peer` answers what it was asked last."""
        self.answer(peer, self._asked_of(peer)[-1].correlation_id, response)

    def answer(self, peer: int, correlation_id: int, response: Response) -> None:
        channel = self.channel(peer)
        self._do(self.core.on_response(channel, correlation_id, response, self.now()))

    def lose(self, peer: int) -> None:
        self._do(self.core.on_peer_disconnected(self.channel(peer), self.now()))

    def flush(self) -> None:
        self._do(self.core.on_flushed(METADATA_LOG, self.log.flush(), self.now()))

    def hung_up_on(self, connection: ConnectionId) -> None:
        self._do(self.core.on_connection_closed(connection, self.now()))

    def shut_down(self) -> None:
        self._do(self.core.on_shutdown(self.now()))

    def act_on_time(self) -> None:
        self._do([])

    def pass_ms(self, milliseconds: int) -> None:
        """Let time go by, stopping at every deadline."""
        end = self.now_ns + milliseconds * MS
        while self.core.next_deadline_ns() <= end:
            self.now_ns = max(self.now_ns, self.core.next_deadline_ns())
            self.act_on_time()
        self.now_ns = end

    def _do(self, outputs: list[Output]) -> None:
        """Perform, and go on as a shell would: flush, then time-outs that are due."""
        self.outputs = []
        self._perform(outputs)
        while not self.is_stopped:
            if self.flushes and any(isinstance(output, FlushLog) for output in outputs):
                outputs = self.core.on_flushed(METADATA_LOG, self.log.flush(), self.now())
            elif self.core.next_deadline_ns() <= self.now_ns:
                outputs = self.core.on_timeout(self.now())
            else:
                break
            self._perform(outputs)

    def _perform(self, outputs: list[Output]) -> None:
        self.outputs += outputs
        for output in outputs:
            self._watch(output)
            match output:
                case PersistElectionState(state=state):
                    self.election = state
                case RequestTo():
                    self.asked.append(output)
                case ResponseTo(connection=connection, response=response):
                    self.answers.setdefault(connection, []).append(response)
                case Trace():
                    self.traces.append(output)
                case Stop():
                    self.is_stopped = True
                case _ if isinstance(output, LogChange):
                    perform(output, self.log)
                case _:
                    pass

    # --- short cuts ---

    def become_leader(self) -> None:
        """Be elected by the nodes that make up a majority, over their pre-votes."""
        supporters = range(2, 2 + self.size // 2)
        for _ in range(200):
            asked = [node for node in supporters if self._is_asked_for_vote(node)]
            for node in asked:
                self.reply(node, VoteResponse(epoch=self.role.epoch, granted=True))
            if isinstance(self.role, Leader):
                return
            if not asked:
                self.pass_ms(30)
        raise AssertionError(f"not elected: {self.role}")

    def _is_asked_for_vote(self, node: int) -> bool:
        asked = self._asked_of(node)
        return bool(asked) and isinstance(asked[-1].request, VoteRequest)

    def channel(self, peer: int) -> ChannelId:
        """Over which that one was asked."""
        return self._asked_of(peer)[-1].channel

    def peer(self, channel: ChannelId) -> NodeId:
        """Whom that channel leads to."""
        return next(asked_node(ask) for ask in self.asked if ask.channel == channel)

    def _asked_of(self, node: int) -> list[RequestTo]:
        """As a voter; what controllers tell each other goes over another channel."""
        voters = [ask for ask in self.asked if ask.channel != REGISTRY_CHANNEL]
        return [ask for ask in voters if asked_node(ask) == node]

    def follow(self, leader: int = 2, epoch: int = 1) -> None:
        """Be told who leads; the first Fetch is then out."""
        told = BeginQuorumEpochRequest(
            cluster_id=CLUSTER,
            voter=ME.id,
            voter_directory=ME.directory,
            leader=NodeId(leader),
            epoch=Epoch(epoch),
        )
        self.request(told, connection=90)

    def feed(self, records: bytes = b"", *, hwm: int = -1, epoch: int = 1, leader: int = 2) -> None:
        """The leader answers the Fetch that is out."""
        self.reply(
            leader,
            FetchResponse(
                leader=NodeId(leader), epoch=Epoch(epoch), high_watermark=hwm, records=records
            ),
        )


def fetch(
    *,
    epoch: int = 1,
    offset: int = 0,
    last_epoch: int = 0,
    replica: ReplicaKey = OTHER,
    max_wait_ms: int = 500,
    max_bytes: int = 1024 * 1024,
) -> FetchRequest:
    return FetchRequest(
        cluster_id=CLUSTER,
        replica=replica,
        epoch=Epoch(epoch),
        fetch_offset=offset,
        last_epoch=last_epoch,
        max_wait_ms=max_wait_ms,
        max_bytes=max_bytes,
    )
