"""A broker that is stepped alone, without sockets: a thousand partitions that it leads, and no
controller that answers."""

import random
import time
from uuid import UUID

from chaos.cluster.sim.filesystem import FileSystem
from chaos.cluster.sim.sim_disk import SimDisk
from node.broker.lifecycle import LifeState
from node.broker_node import BrokerNode
from node.config import BrokerRole, NodeConfig
from node.effects import (
    AppendBatches,
    CloseConnection,
    Effect,
    ElectionState,
    NoReply,
    OnReplicas,
    SendReply,
)
from node.endpoint import Endpoint
from node.events import FrameReceived, TimeoutElapsed
from node.ids import ConnectionId, NodeId, Now, ReplicaKey
from node.raft.voter_forms import DYNAMIC
from node.raft.voter_history import VoterHistory
from node.records.broker_schemas import BrokerEndpoint
from node.records.metadata import PartitionRecord, RegisterBrokerRecord, TopicRecord
from node.storage.log_changes import perform, perform_on_replicas
from node.storage.partition_logs import PartitionLogs
from tests.support.memory_log import MemoryLog
from tests.support.segments import by_size

TOPICS, PARTITIONS = 10, 100  # of each
FIRST_TOPIC = UUID(int=1000)
_ME = NodeId(4)
_CLIENT = ConnectionId(1)
_AT = Endpoint(name="INT", host="node-4", port=9104)
_SEGMENT_BYTES = 1 << 30

Done = SendReply | CloseConnection | NoReply


class SteppedBroker:
    """`longest_s` is the longest step that its last request took. It leads `partitions` of each
    topic."""

    def __init__(self, partitions: int = PARTITIONS) -> None:
        self._partitions = partitions
        role = BrokerRole(controller_listener="CONTROLLER")
        self.replicas = PartitionLogs.open(SimDisk(FileSystem()), by_size(_SEGMENT_BYTES))
        self.node = BrokerNode(
            config=NodeConfig(
                node_id=_ME, log_dir="", listeners=(_AT,), advertised=(_AT,), role=role
            ),
            role=role,
            cluster_id="worst",
            key=ReplicaKey(_ME, UUID(int=4)),
            voters=VoterHistory.formatted((), DYNAMIC),
            election=ElectionState(),
            log=MemoryLog(),
            rng=random.Random(1),
            incarnation=UUID(int=1 << 64),
            directory=UUID(int=4),
            previous_epoch=-1,
            replicas=self.replicas,
        )
        self.now_ns = 0
        self.longest_s = 0.0
        self._perform(self.node.start(self._now()))
        self._lead()

    def serve(self, frame: bytes) -> Done:
        """What became of the request in the end; all that follows from it was done as well."""
        self.longest_s = 0.0
        done = self._step(FrameReceived(connection=_CLIENT, listener=_AT.name, frame=frame))
        while not done:
            self.now_ns = max(self.now_ns, self.node.next_deadline_ns())
            done = self._step(TimeoutElapsed())
        (only,) = done
        return only

    def _lead(self) -> None:
        """As if the metadata log had told it."""
        broker = self.node.core.broker
        image = broker.follower.image
        image.replay(_registration())
        for number in range(TOPICS):
            topic = UUID(int=FIRST_TOPIC.int + number)
            image.replay(TopicRecord(name=f"topic-{number}", topic_id=topic))
            for index in range(self._partitions):
                image.replay(_partition(topic, index))
        offsets = UUID(int=999)
        image.replay(TopicRecord(name="__consumer_offsets", topic_id=offsets))
        image.replay(_partition(offsets, 0))
        broker.lifecycle.state = LifeState.RUNNING
        broker.lifecycle.is_caught_up = True
        broker.replicas.follow(image, self.now_ns)
        broker.groups.follow(self._now())
        self._step(TimeoutElapsed())

    def _now(self) -> Now:
        return Now(self.now_ns, self.now_ns)

    def _step(self, event: FrameReceived | TimeoutElapsed) -> list[Done]:
        began = time.process_time()
        effects = self.node.step(event, self._now())
        self.longest_s = max(self.longest_s, time.process_time() - began)
        return self._perform(effects)

    def _perform(self, effects: list[Effect]) -> list[Done]:
        for effect in effects:
            if isinstance(effect, OnReplicas):
                perform_on_replicas(effect, self.replicas)
            elif isinstance(effect, AppendBatches):
                perform(effect, self.replicas[effect.log])
        return [effect for effect in effects if isinstance(effect, Done)]


def _registration() -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=_ME,
        incarnation_id=UUID(int=1 << 64),
        broker_epoch=7,
        end_points=(
            BrokerEndpoint(name=_AT.name, host=_AT.host, port=_AT.port, security_protocol=0),
        ),
        features=(),
        rack=None,
        fenced=False,
        log_dirs=(UUID(int=4),),
    )


def _partition(topic: UUID, index: int) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=topic,
        replicas=(_ME,),
        isr=(_ME,),
        removing_replicas=(),
        adding_replicas=(),
        leader=_ME,
        leader_recovery_state=0,
        leader_epoch=0,
        partition_epoch=0,
        directories=(UUID(int=4),),
        eligible_leader_replicas=None,
        last_known_elr=None,
    )
