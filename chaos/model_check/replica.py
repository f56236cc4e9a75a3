"""A replica that is explored: the node's own quorum (`node.raft`) on a log in memory.

It gets requests and answers, and the time; its own requests wait until the explorer delivers them,
or breaks their connections.
"""

from chaos.model_check.formation import Formation
from chaos.model_check.memory_log import MemoryLog
from chaos.model_check.setting import (
    CLUSTER_ID,
    LISTENER,
    PEERS,
    TIMEOUTS,
    NoChance,
    disk,
    disk_number,
    endpoint,
    node_at,
)
from node.config import SnapshotSettings
from node.effects import (
    AppendBatches,
    DisconnectPeer,
    ElectionState,
    PersistElectionState,
    TruncateLog,
)
from node.ids import NEVER_NS, ConnectionId, NodeId, Now, ReplicaKey
from node.outbox import Outbox, RequestTo, ResponseTo
from node.parking import Parking
from node.raft.raft import QuorumRequest, Raft
from node.raft.roles import Role
from node.raft.voter_forms import VoterChange
from node.records.metadata import NoOpRecord, encode_metadata
from node.wire.apis import Response
from node.wire.raft_voters import VoterChangeResponse


class LiveReplica:
    def __init__(
        self,
        key: ReplicaKey,
        formation: Formation,
        log: MemoryLog | None = None,
        election: ElectionState | None = None,
    ) -> None:
        """Start a life from the contents of its disk."""
        self.key = key
        self.log = log or MemoryLog()
        self.election = election or ElectionState()
        self.asked: list[RequestTo] = []  # and not answered
        self.open: dict[ConnectionId, VoterChange] = {}  # changes with a waiting operator
        self.done: list[VoterChange] = []  # changes acknowledged to operators
        self.answers: dict[ConnectionId, Response] = {}  # of this step
        self._formation = formation
        self._now_ns = 0
        self._outbox = Outbox()
        self.raft = Raft(
            cluster_id=CLUSTER_ID,
            key=key,
            directory=key.directory,
            voters=formation.voters_of(key),
            timeouts=TIMEOUTS,
            advertised=(endpoint(key.id),),
            servers=formation.servers(),
            snapshots=SnapshotSettings(interval_ms=0),
            election=self.election,
            view=self.log,
            rng=NoChance(0),
            outbox=self._outbox,
            parking=Parking(self._outbox, PEERS),
        )
        self.raft.elapse(0)
        self.raft.start(self._now())
        self._perform()
        self.flush()

    @property
    def role(self) -> Role:
        return self.raft.quorum.role

    def restarted(self) -> "LiveReplica":
        """After a power cut: without what was not durable."""
        log = MemoryLog()
        log.batches = self.log.batches[: self.log.durable]
        log.durable = self.log.durable
        return LiveReplica(self.key, self._formation, log, self.election)

    def replaced(self) -> "LiveReplica":
        """With an empty disk in place of the old one."""
        return LiveReplica(disk(self.key.id, disk_number(self.key) + 1), self._formation)

    # --- events ---

    def request(self, request: QuorumRequest, connection: ConnectionId = PEERS) -> Response | None:
        """Handle a request; the answer, if it comes at once."""
        self._begin()
        answer = self.raft.on_request(connection, LISTENER, request, self._now())
        if answer is not None:
            self.answers[connection] = answer
        self._finish()
        return self.answers.get(connection)

    def change(self, request: VoterChange) -> None:
        """An operator sends a request, on its own connection, and waits."""
        connection = ConnectionId(max(self.open, default=0) + 1)
        self.open[connection] = request
        self.request(request, connection)

    def write(self) -> None:
        """Write a record of metadata, as its controller does."""
        self._begin()
        assert self.raft.may_write(), "not all voters are named, or know that"
        self.raft.append([(None, encode_metadata(NoOpRecord()))], self._now())
        self._finish()

    def respond(self, ask: RequestTo, response: Response) -> None:
        self._begin()
        self.asked.remove(ask)
        self.raft.on_response(ask.channel, ask.correlation_id, response, self._now())
        self._finish()

    def reconnect(self) -> None:
        """All its requests are lost, and sent again if they are still needed."""
        for channel in sorted({ask.channel for ask in self.asked}):
            self._begin()
            self.asked = [ask for ask in self.asked if ask.channel != channel]
            self.raft.on_disconnected(channel, self._now())
            self._finish()

    def wait(self) -> None:
        """Advance to the next time-out, if there is one."""
        due_ns = self.raft.deadline_ns()
        self._now_ns = max(self._now_ns, due_ns if due_ns < NEVER_NS else 0)
        self._begin()
        self._finish()

    def flush(self) -> None:
        if self.log.durable < len(self.log.batches):
            self._begin()
            self.raft.on_flushed(self.log.flush())
            self._finish()

    def asks_of(self, node: NodeId) -> list[RequestTo]:
        return [ask for ask in self.asked if node_at(ask.endpoint) == node]

    # --- inner ---

    def _now(self) -> Now:
        return Now(self._now_ns, 0)

    def _begin(self) -> None:
        self.answers = {}
        self.raft.log.begin_step()
        self.raft.elapse(self._now_ns)

    def _finish(self) -> None:
        self.raft.poll(self._now())
        self._perform()

    def _perform(self) -> None:
        for output in self._outbox.drain():
            match output:
                case PersistElectionState(state=state):
                    self.election = state
                case AppendBatches(data=data):
                    self.log.append(data)
                case TruncateLog(end=end):
                    self.log.truncate(end)
                case RequestTo():
                    self.asked.append(output)
                case DisconnectPeer(channel=channel):
                    self.asked = [ask for ask in self.asked if ask.channel != channel]
                case ResponseTo(connection=connection, response=response):
                    self.answers[connection] = response
                case _:
                    pass  # the explorer decides on flushes, and traces are not read
        for connection, response in self.answers.items():
            change = self.open.pop(connection, None)
            if change is not None and response == VoterChangeResponse():
                self.done.append(change)
