"""A broker that is stepped alone, without sockets: a thousand partitions that it leads, and no
controller that answers."""

import random
import time
from collections import deque
from collections.abc import Iterable, Iterator
from uuid import UUID

from chaos.cluster.sim.disk.disk import SimDisk
from chaos.cluster.sim.disk.filesystem import FileSystem
from node.broker.broker import BrokerPart
from node.broker.lifecycle import LifeState
from node.config import BrokerRole, GroupSettings, NodeConfig
from node.core import Life
from node.effects import (
    AppendBatches,
    CloseConnection,
    Effect,
    ElectionState,
    Event,
    FlushLog,
    FrameReceived,
    LogFlushed,
    NoResponse,
    OnReplicas,
    SendPieces,
    SendResponse,
    ShutdownRequested,
    Stop,
    TimeoutElapsed,
    whole,
)
from node.ids import ConnectionId, Endpoint, LogId, NodeId, Now, ReplicaKey
from node.process_roles import broker_node
from node.raft.voter_forms import DYNAMIC
from node.raft.voter_history import VoterHistory
from node.records.metadata import (
    MetadataRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from node.records.schemas import BrokerEndpoint
from node.storage.disk import Disk
from node.storage.log import perform, perform_on_replicas
from node.storage.log_directories import LogDirectories, LogDirectory
from tests.support.memory_log import MemoryLog
from tests.support.segments import by_size

TOPICS, PARTITIONS = 10, 100  # of each
FIRST_TOPIC = UUID(int=1000)
OFFSETS_TOPIC_ID = UUID(int=999)
ME = NodeId(4)
LISTENER = "INT"
_CLIENT = ConnectionId(1)
_AT = Endpoint(name=LISTENER, host="node-4", port=9104)
_SEGMENT_BYTES = 1 << 30

Done = SendResponse | CloseConnection | NoResponse


class SteppedBroker:
    """`longest_s` is the longest step that its last request took. It leads what `told` says, and if
    that says nothing `partitions` of each topic; its logs are on `disk`."""

    def __init__(
        self,
        partitions: int = PARTITIONS,
        told: Iterable[MetadataRecord] = (),
        disk: Disk | None = None,
        groups: GroupSettings | None = None,
    ) -> None:
        role = BrokerRole(controller_listener="CONTROLLER", advertised=(_AT,))
        self.disk: Disk = disk or SimDisk(FileSystem())
        only = LogDirectory(path="data", id=UUID(int=ME), disk=self.disk)
        self.replicas = LogDirectories.open([only], by_size(_SEGMENT_BYTES))
        self.node = broker_node(
            NodeConfig(
                node_id=ME,
                log_dirs=("",),
                listeners=(_AT,),
                advertised=(),
                role=role,
                groups=groups or GroupSettings(),
            ),
            role,
            Life(
                cluster_id="worst",
                key=ReplicaKey(ME, UUID(int=4)),
                directory=UUID(int=4),
                voters=VoterHistory.formatted((), DYNAMIC),
                election=ElectionState(),
                log=MemoryLog(),
                rng=random.Random(1),
                incarnation=UUID(int=1 << 64),
            ),
            replicas=self.replicas,
        )
        self.now_ns = 0
        self.longest_s = 0.0
        self.effects: list[Effect] = []  # of the last step
        for record in told or led_topics(partitions):
            self.node.core.role.follower.image.replay(record)  # as if the metadata log had it
        self._perform(self.node.start(self._now()))
        self._lead()

    def serve(self, frame: bytes) -> Done:
        """What became of the request in the end; all that follows from it was done as well."""
        self.longest_s = 0.0
        done = self.ask(_CLIENT, frame)
        while not done:
            done = self.elapse()
        (only,) = done
        return only

    def ask(self, connection: ConnectionId, frame: bytes) -> list[Done]:
        """What became of requests by that step, on any connection."""
        return self.step(FrameReceived(connection=connection, listener=LISTENER, frame=frame))

    def elapse(self) -> list[Done]:
        """Likewise of the next time-out."""
        self.now_ns = max(self.now_ns, self.node.next_deadline_ns())
        return self.step(TimeoutElapsed())

    def shut_down(self) -> list[Effect]:
        """All that it does until its end, to which no controller lets it go."""
        self.longest_s = 0.0
        self.step(ShutdownRequested())
        done, flushes = [*self.effects], deque[LogId]()
        while not any(isinstance(each, Stop) for each in self.effects):
            flushes += [each.log for each in self.effects if isinstance(each, FlushLog)]
            if flushes:
                log = flushes.popleft()
                self.step(LogFlushed(log=log, end=self.replicas[log].flush()))
            else:
                self.elapse()
            done += self.effects
        return done

    def step(self, event: Event) -> list[Done]:
        began = time.process_time()
        effects = self.node.step(event, self._now())
        self.longest_s = max(self.longest_s, time.process_time() - began)
        self.effects = effects
        return self._perform(effects)

    def tell(self, *records: MetadataRecord, groups: bool = True) -> None:
        """As if the metadata log had told it; of its groups, unless they are to be told later."""
        broker = self.node.core.role
        image = broker.follower.image
        for record in records:
            image.replay(record)
        broker.replicas.follow(image, self.now_ns)
        if groups:
            broker.groups.follow(image, self._now())
        broker.dirty.mark(BrokerPart.LIFE)

    def _lead(self) -> None:
        """As if it had replayed its registration."""
        broker = self.node.core.role
        image = broker.follower.image
        broker.lifecycle.state = LifeState.RUNNING
        broker.lifecycle.is_caught_up = True
        broker.replicas.follow(image, self.now_ns)
        while broker.replicas.go_on(self.now_ns):
            self.step(TimeoutElapsed())
        broker.groups.follow(image, self._now())
        self.step(TimeoutElapsed())

    def _now(self) -> Now:
        return Now(self.now_ns, self.now_ns)

    def _perform(self, effects: list[Effect]) -> list[Done]:
        for effect in effects:
            if isinstance(effect, OnReplicas):
                perform_on_replicas(effect, self.replicas)
            elif isinstance(effect, AppendBatches):
                perform(effect, self.replicas[effect.log])
        return [done for done in map(_as_read, effects) if isinstance(done, Done)]


def _as_read(effect: Effect) -> Effect:
    """An answer with what is in files, at once."""
    if isinstance(effect, SendPieces):
        frame = whole(effect.pieces)
        assert frame is not None, "it was cut off in the step that answers with it"
        return SendResponse(effect.connection, frame)
    return effect


def led_topics(partitions: int) -> Iterator[MetadataRecord]:
    yield registered(ME)
    for number in range(TOPICS):
        topic = UUID(int=FIRST_TOPIC.int + number)
        yield TopicRecord(name=f"topic-{number}", topic_id=topic)
        for index in range(partitions):
            yield partition_of(topic, index)
    yield TopicRecord(name="__consumer_offsets", topic_id=OFFSETS_TOPIC_ID)
    yield partition_of(OFFSETS_TOPIC_ID, 0)


def registered(broker: NodeId) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker,
        incarnation_id=UUID(int=1 << 64),
        broker_epoch=7,
        end_points=(
            BrokerEndpoint(
                name=LISTENER, host=f"node-{broker}", port=9100 + broker, security_protocol=0
            ),
        ),
        features=(),
        rack=None,
        fenced=False,
        log_dirs=(UUID(int=broker),),
    )


def partition_of(topic: UUID, index: int, replicas: tuple[NodeId, ...] = (ME,)) -> PartitionRecord:
    """The first of them leads."""
    return PartitionRecord(
        partition_id=index,
        topic_id=topic,
        replicas=replicas,
        isr=replicas,
        removing_replicas=(),
        adding_replicas=(),
        leader=replicas[0],
        leader_recovery_state=0,
        leader_epoch=0,
        partition_epoch=0,
        directories=tuple(UUID(int=each) for each in replicas),
        eligible_leader_replicas=None,
        last_known_elr=None,
    )
