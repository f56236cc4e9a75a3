"""What a broker makes of the metadata log for a partition that it leads."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from node.broker.broker import Broker
from node.broker.image_follower import ImageFollower
from node.broker.replicas.isr import Proposal
from node.broker.replicas.manager import HostedPartition, ReplicaManager
from node.config import BrokerRole, BrokerSettings
from node.controller.image import Image
from node.errors import ErrorCode
from node.ids import MS, ZERO_UUID, Epoch, LogId, NodeId, Offset
from node.outbox import Outbox
from node.records.metadata import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from node.storage.partition_segment import Reindexed
from node.wire.alter_partition import PartitionResult

ME, OTHER = NodeId(1), NodeId(2)
TOPIC = UUID(int=9)
LAG_MS = 1000


class NoLogs:
    """A disk that holds none."""

    high_watermarks: Mapping[LogId, Offset] = {}
    previous_epoch = -1
    directories = (UUID(int=100 + ME),)

    def directory_of(self, log: LogId) -> UUID:
        raise KeyError(log)

    def find(self, log: LogId) -> None:
        del log

    def take_reindexed(self) -> list[Reindexed]:
        return []

    def __iter__(self) -> Iterator[LogId]:
        return iter(())


class Led:
    """A partition of two replicas with min ISR 1, whose leader is alone in the ISR."""

    def __init__(self) -> None:
        self.image = Image()
        broker = Broker.__new__(Broker)
        broker.follower = ImageFollower.__new__(ImageFollower)
        broker.follower.image = self.image
        role = BrokerRole(controller_listener="C", advertised=(), lag_ms=LAG_MS)
        self.replicas = ReplicaManager(
            ME, NoLogs(), BrokerSettings(), role, broker.may_join, Outbox()
        )
        self.tell(0, *map(registration, (ME, OTHER)), TopicRecord(name="t", topic_id=TOPIC), LED)

    def tell(self, at_ms: int, *records: MetadataRecord) -> None:
        for record in records:
            self.image.replay(record)
        self.replicas.moved.clear()
        self.replicas.follow(self.image, at_ms * MS)
        while self.replicas.go_on(at_ms * MS):
            pass

    @property
    def held(self) -> HostedPartition:
        (held,) = self.replicas.all()
        return held

    def lagging_follower(self) -> None:
        """It was caught up, is proposed, and is refused when there is one record more."""
        replica = self.held.replica
        proposal = replica.fetched_by(OTHER, Offset(0), 7, 1 * MS)
        assert proposal is not None
        replica.appended(Epoch(0), Offset(0), Offset(1), 2 * MS)
        replica.on_response(proposal, refusal(proposal), 3 * MS)
        assert replica.high_watermark == 0, "it may be back at once"


def registration(broker: NodeId) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker,
        incarnation_id=UUID(int=broker),
        broker_epoch=7,
        end_points=(),
        features=(),
        rack=None,
        fenced=False,
        log_dirs=(UUID(int=100 + broker),),
    )


def refusal(proposal: Proposal) -> PartitionResult:
    del proposal
    return PartitionResult(topic=TOPIC, index=0, error=ErrorCode.INELIGIBLE_REPLICA)


LED = PartitionRecord(
    partition_id=0,
    topic_id=TOPIC,
    replicas=(ME, OTHER),
    isr=(ME,),
    removing_replicas=(),
    adding_replicas=(),
    leader=ME,
    leader_recovery_state=0,
    leader_epoch=0,
    partition_epoch=0,
    directories=(ZERO_UUID, ZERO_UUID),
)


def test_who_is_fenced_outside_the_isr_holds_nobody_up() -> None:
    """The partition is as it was: nothing else would move its high watermark (KAFKA-15021)."""
    led = Led()
    led.lagging_follower()
    led.tell(4, BrokerRegistrationChangeRecord(broker_id=OTHER, broker_epoch=7, fenced=1))
    assert led.held.replica.high_watermark == 1
    assert led.held.log in led.replicas.moved, "whoever waits for that looks again"


def test_what_leaves_the_partition_as_it_was_moves_nothing() -> None:
    led = Led()
    led.lagging_follower()
    led.tell(4, TopicRecord(name="other", topic_id=UUID(int=10)))
    assert led.held.replica.high_watermark == 0
    assert not led.replicas.moved
