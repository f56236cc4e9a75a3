"""A node that is stepped without sockets or a disk, and what its log must be like afterwards."""

import random
from collections import Counter, deque
from dataclasses import dataclass, field
from uuid import UUID

from checkers.disk.batches import read_batches, read_records
from checkers.disk.records import decode_control, decode_metadata
from node import limits
from node.config import NodeConfig
from node.core import Life
from node.effects import (
    AppendBatches,
    CloseConnection,
    ConnectionClosed,
    DeleteBeforeSnapshot,
    DisconnectPeer,
    Effect,
    ElectionState,
    Event,
    FinishSnapshot,
    FlushLog,
    FrameReceived,
    LogFlushed,
    PersistElectionState,
    ReplaceLog,
    SendResponse,
    SendToPeer,
    Stop,
    TimeoutElapsed,
    Trace,
    TruncateLog,
    WriteSnapshot,
)
from node.ids import METADATA_LOG, ChannelId, ConnectionId, Endpoint, NodeId, Now, ReplicaKey
from node.process_roles import controller_node
from node.raft.voter_forms import DYNAMIC
from node.raft.voter_history import VoterHistory
from node.records import metadata
from node.records.metadata import strings
from node.storage.log import perform
from tests.fuzz.drawing import CLUSTER, DIRECTORY
from tests.fuzz.sessions import Surprise
from tests.support.memory_log import BOOTSTRAP, MemoryLog

# Steps until a request is answered, or a node leads again.
PATIENCE = 200
PORTS = 9100  # and the id of a node
LONGEST_STRING = 2**15 - 1  # in versions that are not flexible
Resource = tuple[int, str]  # type, name


def endpoint(node: NodeId) -> Endpoint:
    return Endpoint(name="CONTROLLER", host=f"node-{node}", port=PORTS + node)


ENDPOINT = endpoint(NodeId(1))


class Bench:
    """Node 1 of `size` voters, and the least that a shell does for it."""

    def __init__(
        self,
        log: MemoryLog,
        election: ElectionState,
        rng: random.Random,
        size: int = 1,
        kraft_version: int = DYNAMIC,
    ) -> None:
        self.now_ns = 0
        self.log = log
        self.election = election
        self.answers: dict[ConnectionId, list[bytes]] = {}
        self.closed: set[ConnectionId] = set()
        self.unanswered: list[Trace] = []
        self.asked: dict[ChannelId, list[bytes]] = {}
        self.peers: dict[ChannelId, NodeId] = {}  # whom each channel leads to
        keys = [ReplicaKey(NodeId(1 + n), UUID(int=DIRECTORY.int + n)) for n in range(size)]
        key = keys[0]
        self.node = controller_node(
            NodeConfig(
                node_id=key.id, log_dirs=("",), listeners=(ENDPOINT,), advertised=(ENDPOINT,)
            ),
            Life(
                cluster_id=CLUSTER,
                key=key,
                directory=key.directory,
                voters=VoterHistory.formatted(
                    ((each, (endpoint(each.id),)) for each in keys), kraft_version
                ),
                election=election,
                log=log,
                rng=rng,
                incarnation=UUID(int=1 << 64),
            ),
            BOOTSTRAP,
        )
        self._ready: deque[Event] = deque()
        self._perform(self.node.start(self._now()))

    @property
    def is_active(self) -> bool:
        return self.node.core.role.controller.is_active

    def step(self, event: Event) -> None:
        self._perform(self.node.step(event, self._now()))

    def turn(self) -> None:
        """What is ready; if nothing is, the next time-out."""
        if self._ready:
            self.step(self._ready.popleft())
            return
        self.now_ns = max(self.now_ns, self.node.next_deadline_ns())
        self.step(TimeoutElapsed())

    def lead(self) -> None:
        for _ in range(PATIENCE):
            if self.is_active and not self._ready:
                return
            self.turn()
        raise Surprise(f"does not lead again: {self.node.core.raft.quorum.role}")

    def ask(self, frame: bytes, connection: ConnectionId) -> bytes | None:
        """The answer, or None after a hang-up."""
        before = len(self.answers.get(connection, []))
        self.step(FrameReceived(connection=connection, listener=ENDPOINT.name, frame=frame))
        for _ in range(PATIENCE):
            if connection in self.closed:
                self.closed.remove(connection)
                self.step(ConnectionClosed(connection=connection))
                return None
            if len(answers := self.answers.get(connection, [])) > before:
                return answers[-1]
            self.turn()
        raise Surprise("neither an answer nor a hang-up")

    def _now(self) -> Now:
        return Now(self.now_ns, self.now_ns)

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case AppendBatches(data=data):
                    if len(data) > limits.MAX_BATCH_BYTES:
                        raise Surprise(f"a batch of {len(data)} bytes")
                    self.log.append(data)
                case (
                    TruncateLog()
                    | WriteSnapshot()
                    | FinishSnapshot()
                    | DeleteBeforeSnapshot()
                    | ReplaceLog()
                ):
                    perform(effect, self.log)
                case FlushLog():
                    self._ready.append(LogFlushed(log=METADATA_LOG, end=self.log.flush()))
                case PersistElectionState(state=state):
                    self.election = state
                case SendResponse(connection=connection, frame=frame):
                    self.answers.setdefault(connection, []).append(frame)
                case CloseConnection(connection=connection):
                    self.closed.add(connection)
                case Trace() if effect.event == "n.unanswered":
                    self.unanswered.append(effect)
                case Stop():
                    raise Surprise(f"stops: {effect.reason}")
                case SendToPeer(channel=channel, endpoint=at, frame=frame):
                    self.peers[channel] = NodeId(at.port - PORTS)
                    self.asked.setdefault(channel, []).append(frame)
                case DisconnectPeer(channel=channel):
                    self.asked.pop(channel, None)
                case Trace():
                    pass


@dataclass
class Written:
    """What a log holds: the resources that have configs, or had some, and records by type."""

    resources: set[Resource] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)


def check_log(log: MemoryLog) -> Written:
    """The judge reads what was written."""
    written = Written()
    batches = list(read_batches(log.read(log.start(), 1 << 40)))
    for batch in batches:
        for record in read_records(batch):
            found = decode_control(record) if batch.control else decode_metadata(record)
            written.kinds[found.type] += 1
            if found.type == "Config":
                assert found.resource_type is not None
                written.resources.add((found.resource_type, str(found.resource)))
    assert len(batches) == len(log.batches)
    return written


def check_strings(log: MemoryLog) -> None:
    """None is longer than every version can carry."""
    for batch in read_batches(log.read(log.start(), 1 << 40)):
        for record in () if batch.control else read_records(batch):
            known = metadata.decode_metadata(record.value)
            assert not isinstance(known, metadata.UnknownRecord), known
            longest = max((len(text.encode()) for text in strings(known)), default=0)
            if longest > LONGEST_STRING:
                raise Surprise(f"a {type(known).__name__} with a string of {longest} bytes")
