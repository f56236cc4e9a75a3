"""An explored replica: the node's own quorum (`node.raft`) on a log in memory.

It gets requests and answers, and the time; its own requests wait until the explorer delivers them,
or breaks their connections.
"""

from bisect import bisect_right
from collections.abc import Sequence

from chaos.labs.model_check.setting import (
    CLUSTER_ID,
    LISTENER,
    PEERS,
    TIMEOUTS,
    Formation,
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
from node.ids import NEVER_NS, ConnectionId, Epoch, LogPosition, NodeId, Now, Offset, ReplicaKey
from node.outbox import Outbox, Parking, RequestTo, ResponseTo
from node.raft.raft import QuorumRequest, Raft
from node.raft.roles import Role
from node.raft.voter_forms import VoterChange
from node.records.batch import Batch, split_batches
from node.records.metadata import NoOpRecord, encode_metadata
from node.storage.snapshots import Snapshot
from node.wire.apis import Response
from node.wire.raft_voters import VoterChangeResponse

# The log of an explored replica: batches, and how many of them would survive a power cut.


_EMPTY = LogPosition(Epoch(0), Offset(0))


class MemoryLog:
    """Implements `node.storage.view.LogView`, and a shell's part of log effects. Without
    snapshots."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.durable = 0  # batches; 0 <= durable <= len(batches)

    # --- LogView ---

    def end(self) -> LogPosition:
        return _behind(self.batches[-1]) if self.batches else _EMPTY

    def start(self) -> Offset:
        return Offset(0)

    def end_of_epoch(self, epoch: Epoch) -> LogPosition:
        count = bisect_right(self.batches, epoch, key=lambda batch: batch.header.leader_epoch)
        return _behind(self.batches[count - 1]) if count else _EMPTY

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        del max_bytes  # logs are tiny
        first = bisect_right(self.batches, offset, key=lambda batch: batch.header.next_offset)
        return b"".join(batch.data for batch in self.batches[first:])

    def size(self) -> int:
        return sum(len(batch.data) for batch in self.batches)

    def snapshots(self) -> Sequence[Snapshot]:
        return ()

    def read_snapshot(self, id_: LogPosition, position: int, max_bytes: int) -> bytes:
        raise AssertionError(f"there is no snapshot {id_} ({position}, {max_bytes})")

    # --- effects and faults ---

    def append(self, data: bytes) -> None:
        self.batches += split_batches(data)

    def truncate(self, end: Offset) -> None:
        while self.end().offset > end:
            self.batches.pop()
        assert self.end().offset == end, f"{end} lies within a batch"
        self.durable = min(self.durable, len(self.batches))

    def flush(self) -> Offset:
        self.durable = len(self.batches)
        return self.end().offset

    def power_off(self) -> None:
        """Drop what was not flushed."""
        del self.batches[self.durable :]


def _behind(batch: Batch) -> LogPosition:
    return LogPosition(batch.header.leader_epoch, batch.header.next_offset)


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
