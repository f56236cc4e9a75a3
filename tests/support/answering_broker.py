"""A broker as those see it who judge its answers: logs and metadata are real, and it decides
nothing itself."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from chaos.cluster.sim.invariants.broker_answers import BrokerAnswers
from chaos.cluster.sim.invariants.broker_watch import (
    OFFSETS_TOPIC,
    Begun,
    BrokerWatch,
    KeptReplicas,
    LedByIsr,
)
from chaos.cluster.sim.invariants.known_batches import NOTHING, KnownBatch
from chaos.cluster.sim.invariants.rules import Heard
from node.controller.image import Image
from node.ids import MS, ZERO_UUID, ConnectionId, NodeId, Offset
from node.outbox import ResponseTo
from node.records.batch import read_header
from node.records.metadata import PartitionRecord, RegisterBrokerRecord, TopicRecord
from node.wire.apis import Response

ONE, TWO, THREE = (NodeId(node) for node in (1, 2, 3))
ORDERS, OFFSETS = UUID(int=77), UUID(int=78)
KEY, GROUPS = (ORDERS, 0), (OFFSETS, 0)
LEADER_EPOCH = 4
STEP = 10  # in which it is asked; it leads since the one before
_CONNECTION = ConnectionId(1)


class AnsweringBroker:
    """n1 leads `orders-0` and the groups' only partition, with n2 and n3 in both ISRs."""

    def __init__(self) -> None:
        self.watch = BrokerWatch(min_isr=2)
        self.now_ms = 0
        image = self.watch.changes.image
        for topic, name in ((ORDERS, "orders"), (OFFSETS, OFFSETS_TOPIC)):
            image.replay(TopicRecord(name=name, topic_id=topic))
            image.replay(
                PartitionRecord(
                    partition_id=0,
                    topic_id=topic,
                    replicas=(1, 2, 3),
                    isr=(1, 2, 3),
                    removing_replicas=(),
                    adding_replicas=(),
                    leader=1,
                    leader_recovery_state=0,
                    leader_epoch=LEADER_EPOCH,
                    partition_epoch=6,
                    directories=(ZERO_UUID,) * 3,
                    eligible_leader_replicas=None,
                    last_known_elr=None,
                )
            )
        for node in (ONE, TWO, THREE):
            image.replay(
                RegisterBrokerRecord(
                    broker_id=node,
                    incarnation_id=UUID(int=node),
                    broker_epoch=node,
                    end_points=(),
                    features=(),
                    rack=None,
                    fenced=False,
                )
            )
        self.lives = {node: self._life(node, image) for node in (ONE, TWO, THREE)}
        self.held = self.lives[ONE]
        self.answers = BrokerAnswers(self.watch, self.held, lambda: self.now_ms * MS)
        for key in (KEY, GROUPS):
            self.held.begun[key] = Begun(step=STEP - 1, epoch=LEADER_EPOCH, leads=True, end=0)
            self.held.isrs[key] = LedByIsr(6, frozenset((1, 2, 3)), frozenset((1, 2, 3)))
            self.held.marks[key] = 0
            self.held.log_starts[key] = Offset(0)
            for life in self.lives.values():
                life.logs[key] = NOTHING

    def _life(self, node: NodeId, image: Image) -> KeptReplicas:
        broker: Any = SimpleNamespace(
            follower=SimpleNamespace(image=image),
            applied=Offset(100),
            lifecycle=SimpleNamespace(epoch=node),
        )
        view: Any = None
        return self.watch.begin(node, broker, view)

    def append(self, data: bytes, *nodes: NodeId, key: tuple[UUID, int] = KEY) -> KnownBatch:
        """To the logs of these; of all where none is named."""
        header = read_header(data)
        for node in nodes or self.lives:
            log = self.watch.partition(key).batches.append(self.lives[node].logs[key], header)
            self.lives[node].logs[key] = log
            if self.watch.is_of_groups(key):
                self.watch.commits.note(key, log, data)
        return log

    def publish(self, mark: int, key: tuple[UUID, int] = KEY) -> None:
        """The high watermark, as its leader moves it."""
        self.held.marks[key] = mark
        partition = self.watch.partition(key)
        partition.show(ONE, LEADER_EPOCH, self.held.logs[key], Offset(mark))

    def shrink_isr(self, *isr: int, partition_epoch: int = 7) -> None:
        """As its controller told it: the metadata log has partition epoch 6 so far."""
        self.held.isrs[KEY] = LedByIsr(partition_epoch, frozenset(isr), frozenset(isr))

    def answer(self, request: object, response: Response, *, step: int = STEP) -> None:
        """It is asked that, and says that. Raises Broken where it is not so."""
        self.ask(request, step=step)
        self.say(response)

    def ask(self, request: object, *, step: int = STEP) -> None:
        self.answers.hear(_CONNECTION, Heard(request, step, self.now_ms * MS))

    def say(self, response: Response) -> None:
        """To what it was asked last. Raises Broken."""
        self.answers.judge(ResponseTo(_CONNECTION, response))
