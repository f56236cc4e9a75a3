"""What a controller answers: what is so is not accused, what is not so is."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from chaos.cluster.sim.invariants import ControllerAnswers, InvariantViolated
from chaos.cluster.sim.invariants.rules import Looked
from node.controller.image import Image
from node.effects import Trace
from node.errors import ErrorCode
from node.ids import ZERO_UUID, ConnectionId, Epoch, NodeId, Offset
from node.outbox import Output, ResponseTo
from node.raft.roles import Role
from node.records.batch import encode_batch
from node.records.metadata import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    encode_metadata,
)
from node.wire.alter_partition import (
    AlteredPartition,
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrMember,
    PartitionResult,
)
from node.wire.api_versions import (
    FeatureUpdate,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from node.wire.apis import Response
from node.wire.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigChange,
    ResourceChange,
    ResourceResult,
)
from node.wire.fetch import FetchRequest, FetchResponse
from node.wire.produce import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from node.wire.raft_voters import DescribeQuorumRequest, DescribeQuorumResponse
from node.wire.reassignments import (
    AlterReassignmentsRequest,
    AlterReassignmentsResponse,
    NamedPartition,
    Reassignment,
    ReassignmentResult,
)
from node.wire.registration import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from node.wire.topic_changes import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeletionResult,
    NewPartitionsResult,
    NewTopic,
    TopicResult,
    WantedPartitions,
)
from tests.support.doctored import leader, unattached
from tests.support.memory_log import MemoryLog
from tests.support.rig import key

EPOCH = Epoch(3)
METRICS, NAME = 16, "interval.ms"
TOPIC = UUID(int=9)
_CONNECTION = ConnectionId(1)
Error = ErrorCode


class Answering:
    """n1, which leads the quorum, and is the active controller, since its step 1."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.view = SimpleNamespace(
            role=leader(1, EPOCH),
            committed=Offset(0),
            applied=Offset(0),
            image=Image(),
            decided=Image(),
            log=self.log,
            log_end=Offset(0),
        )
        self.looked = Looked()
        view: Any = self.view
        self.answers = ControllerAnswers(NodeId(1), 1, view, self.looked)
        self.step(Trace("c.active", {"epoch": EPOCH, "offset": 1}))

    def step(self, *outputs: Output, role: Role | None = None) -> None:
        """Raises InvariantViolated."""
        self.view.role = role or self.view.role
        self.answers.after_step(outputs, 0)

    def write(self, record: MetadataRecord, *, commits: bool = True) -> None:
        base = self.log.end().offset
        data = encode_batch(
            [(None, encode_metadata(record))], base_offset=base, leader_epoch=EPOCH, timestamp_ms=0
        )
        self.log.append(data)
        self.view.log_end = self.log.end().offset
        self.view.decided.replay(record)
        if commits:
            self.view.committed = self.view.applied = self.view.log_end
            self.view.image.replay(record)

    def hear(self, request: object) -> None:
        self.answers.hear(_CONNECTION, request)

    def say(self, response: Response, *others: Output, role: Role | None = None) -> None:
        """Raises InvariantViolated."""
        self.step(ResponseTo(_CONNECTION, response), *others, role=role)


@pytest.fixture
def controller() -> Answering:
    return Answering()


def accused(rule: str) -> "pytest.RaisesExc[InvariantViolated]":
    return pytest.raises(InvariantViolated, match=f"^{rule}: n1 ")


def config(value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=METRICS, resource_name="r", name=NAME, value=value)


def altering(value: str | None, *, only: bool = False) -> AlterConfigsRequest:
    change = ConfigChange(name=NAME, operation=1 if value is None else 0, value=value)
    resource = ResourceChange(type=METRICS, name="r", changes=(change,))
    return AlterConfigsRequest(resources=(resource,), validate_only=only)


def altered(error: Error = Error.NONE) -> AlterConfigsResponse:
    return AlterConfigsResponse(results=(ResourceResult(type=METRICS, name="r", error=error),))


# --- who it is ---


def test_an_active_controller_does_not_deny_it(controller: Answering) -> None:
    controller.hear(altering("5"))
    with accused("controllers-do-not-deny-it"):
        controller.say(altered(Error.NOT_CONTROLLER))


def test_who_resigns_or_begins_meanwhile_may_say_so(controller: Answering) -> None:
    controller.hear(altering("5"))
    resigned = Trace("c.resign", {"epoch": EPOCH})
    controller.say(altered(Error.NOT_CONTROLLER), resigned, role=unattached(EPOCH + 1))
    controller.hear(altering("5"))
    again = Trace("c.active", {"epoch": EPOCH + 2, "offset": 2})
    controller.say(altered(Error.NOT_CONTROLLER), again, role=leader(1, EPOCH + 2))


def fetch(epoch: int) -> FetchRequest:
    return FetchRequest(
        cluster_id=None,
        replica=key(2),
        epoch=Epoch(epoch),
        fetch_offset=0,
        last_epoch=0,
        max_wait_ms=0,
        max_bytes=0,
    )


@pytest.mark.parametrize(
    ("epoch", "error", "is_so"),
    [
        (EPOCH, Error.NONE, True),
        (EPOCH - 1, Error.FENCED_LEADER_EPOCH, True),
        (EPOCH, Error.FENCED_LEADER_EPOCH, False),
        (EPOCH + 1, Error.UNKNOWN_LEADER_EPOCH, True),
        (EPOCH, Error.UNKNOWN_LEADER_EPOCH, False),
    ],
)
def test_epochs_are_refused_that_are_others(
    controller: Answering, epoch: int, error: Error, is_so: bool
) -> None:
    controller.hear(fetch(epoch))
    if is_so:
        controller.say(FetchResponse(error=error))
        return
    with accused("refused-epochs-are-others"):
        controller.say(FetchResponse(error=error))


def test_the_leader_of_the_quorum_does_not_deny_it(controller: Answering) -> None:
    refusal = FetchResponse(error=Error.NOT_LEADER_OR_FOLLOWER)
    controller.hear(fetch(EPOCH))
    controller.say(refusal, role=unattached(EPOCH + 1))
    controller.hear(fetch(EPOCH + 2))
    controller.say(refusal, role=leader(1, EPOCH + 2))  # it was elected in that step
    controller.hear(fetch(EPOCH + 2))
    with accused("controllers-do-not-deny-it"):
        controller.say(refusal)


@pytest.mark.parametrize(
    ("told", "is_so"),
    [
        (DescribeQuorumResponse(leader=NodeId(1), epoch=EPOCH, high_watermark=1), True),
        (DescribeQuorumResponse(leader=NodeId(1), epoch=EPOCH, high_watermark=2), False),
        (DescribeQuorumResponse(leader=NodeId(2), epoch=EPOCH, high_watermark=1), False),
        (DescribeQuorumResponse(leader=NodeId(1), epoch=Epoch(2), high_watermark=1), False),
    ],
)
def test_the_quorum_is_told_as_it_is(
    controller: Answering, told: DescribeQuorumResponse, is_so: bool
) -> None:
    controller.write(config("1"))
    controller.hear(DescribeQuorumRequest())
    if is_so:
        controller.say(told)
        return
    with accused("told-quorum-is-so"):
        controller.say(told)


# --- what it wrote ---


@pytest.mark.parametrize("value", ["5", None])
def test_what_is_committed_may_be_acknowledged(controller: Answering, value: str | None) -> None:
    controller.write(config("1"))
    controller.hear(altering(value))
    controller.write(config(value))
    controller.write(config("6"))  # in the same step
    controller.say(altered())
    assert controller.looked["acknowledged-writes-are-committed"] == 1


def test_what_is_not_committed_is_not_acknowledged(controller: Answering) -> None:
    controller.write(config("5"))
    controller.write(config("6"))
    controller.hear(altering("5"))
    controller.write(config("5"), commits=False)
    with accused("acknowledged-writes-are-committed"):
        controller.say(altered())


def test_what_was_only_to_be_validated_is_not_looked_for(controller: Answering) -> None:
    controller.hear(altering("5", only=True))
    controller.say(altered())


def test_a_topic_that_is_acknowledged_is_committed(controller: Answering) -> None:
    told = CreateTopicsResponse(results=(TopicResult(name="t", id=TOPIC),))
    controller.hear(CreateTopicsRequest(topics=(NewTopic(name="t"),)))
    controller.write(TopicRecord(name="t", topic_id=TOPIC))
    controller.say(told)
    deleted = DeleteTopicsResponse(results=(DeletionResult(name="t", id=TOPIC),))
    controller.hear(DeleteTopicsRequest(topics=()))
    with accused("acknowledged-writes-are-committed"):
        controller.say(deleted)
    other = CreateTopicsResponse(results=(TopicResult(name="t", id=UUID(int=8)),))
    controller.hear(CreateTopicsRequest(topics=(NewTopic(name="t"),)))
    with accused("acknowledged-writes-are-committed"):
        controller.say(other)


def test_a_block_of_producer_ids_that_is_given_is_committed(controller: Answering) -> None:
    request = AllocateProducerIdsRequest(broker=NodeId(4), epoch=1)
    controller.write(ProducerIdsRecord(broker_id=4, broker_epoch=1, next_producer_id=1000))
    controller.hear(request)
    controller.say(AllocateProducerIdsResponse(first=0, count=1000))
    controller.hear(request)
    with accused("acknowledged-writes-are-committed"):
        controller.say(AllocateProducerIdsResponse(first=1000, count=1000))


def partition(index: int = 0) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=TOPIC,
        replicas=(1, 2),
        isr=(1, 2),
        removing_replicas=(),
        adding_replicas=(),
        leader=1,
        leader_recovery_state=0,
        leader_epoch=5,
        partition_epoch=8,
        directories=(ZERO_UUID,) * 2,
        eligible_leader_replicas=None,
        last_known_elr=None,
    )


def test_partitions_that_are_acknowledged_are_committed(controller: Answering) -> None:
    controller.write(TopicRecord(name="t", topic_id=TOPIC))
    controller.write(partition())
    request = CreatePartitionsRequest(topics=(WantedPartitions(topic="t", count=2),))
    told = CreatePartitionsResponse(results=(NewPartitionsResult(topic="t"),))
    controller.hear(request)
    controller.write(partition(1))
    controller.say(told)
    controller.hear(CreatePartitionsRequest(topics=(WantedPartitions(topic="t", count=3),)))
    with accused("acknowledged-writes-are-committed"):
        controller.say(told)
    controller.hear(request)
    controller.write(RemoveTopicRecord(topic_id=TOPIC))
    controller.say(told)  # it was deleted in the same step


def moving(replicas: tuple[int, ...] | None) -> AlterReassignmentsRequest:
    nodes = None if replicas is None else tuple(map(NodeId, replicas))
    at = NamedPartition(topic="t", index=0)
    return AlterReassignmentsRequest(reassignments=(Reassignment(partition=at, replicas=nodes),))


def moved(*replicas: int, removing: tuple[int, ...], adding: tuple[int, ...]) -> MetadataRecord:
    return PartitionChangeRecord(
        partition_id=0,
        topic_id=TOPIC,
        replicas=replicas,
        removing_replicas=removing,
        adding_replicas=adding,
    )


def test_a_reassignment_that_is_acknowledged_is_committed(controller: Answering) -> None:
    controller.write(TopicRecord(name="t", topic_id=TOPIC))
    controller.write(partition())
    at = NamedPartition(topic="t", index=0)
    told = AlterReassignmentsResponse(results=(ReassignmentResult(partition=at),))
    controller.hear(moving((1, 2)))
    controller.say(told)  # it is there already
    controller.hear(moving((2, 3)))
    controller.write(moved(2, 3, 1, removing=(1,), adding=(3,)))
    controller.say(told)
    controller.hear(moving((2, 3)))
    controller.write(moved(2, 3, removing=(), adding=()))  # it came to its end
    controller.say(told)
    controller.hear(moving(None))
    controller.say(told)
    controller.hear(moving((3, 1)))
    with accused("acknowledged-writes-are-committed"):
        controller.say(told)
    controller.write(moved(3, 1, 2, removing=(2,), adding=(1,)))
    controller.hear(moving(None))
    with accused("acknowledged-writes-are-committed"):
        controller.say(told)


def test_a_level_that_is_acknowledged_is_committed(controller: Answering) -> None:
    request = UpdateFeaturesRequest(updates=(FeatureUpdate(name="f", level=1),))
    controller.hear(request)
    controller.write(FeatureLevelRecord(name="f", feature_level=1))
    controller.write(FeatureLevelRecord(name="f", feature_level=0))
    controller.say(UpdateFeaturesResponse())
    controller.hear(request)
    with accused("acknowledged-writes-are-committed"):
        controller.say(UpdateFeaturesResponse())


# --- what it refuses to brokers ---


def registered(broker: int, *, epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker,
        incarnation_id=UUID(int=broker),
        broker_epoch=epoch,
        end_points=(),
        features=(),
        rack=None,
        fenced=False,
    )


def beat(epoch: int) -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(
        broker=NodeId(1), epoch=epoch, metadata_offset=1, want_fence=False, want_shutdown=False
    )


@pytest.mark.parametrize(
    ("epoch", "error", "is_so"),
    [
        (6, Error.STALE_BROKER_EPOCH, True),
        (7, Error.STALE_BROKER_EPOCH, False),
        (7, Error.BROKER_ID_NOT_REGISTERED, False),
        (7, Error.NONE, True),
    ],
)
def test_a_broker_is_no_stranger_in_its_epoch(
    controller: Answering, epoch: int, error: Error, is_so: bool
) -> None:
    controller.write(registered(1, epoch=7), commits=False)
    controller.hear(beat(epoch))
    if is_so:
        controller.say(BrokerHeartbeatResponse(error=error))
        return
    with accused("strangers-are-strangers"):
        controller.say(BrokerHeartbeatResponse(error=error))


def test_who_is_not_registered_may_be_told_so(controller: Answering) -> None:
    controller.hear(beat(1))
    controller.say(BrokerHeartbeatResponse(error=Error.BROKER_ID_NOT_REGISTERED))


def proposal(*isr: int, leader_epoch: int = 5, partition_epoch: int = 8) -> AlteredPartition:
    return AlteredPartition(
        topic=TOPIC,
        index=0,
        leader_epoch=leader_epoch,
        partition_epoch=partition_epoch,
        isr=tuple(IsrMember(broker=NodeId(each), epoch=10 + each) for each in isr),
    )


@pytest.mark.parametrize(
    ("proposed", "error", "is_so"),
    [
        (proposal(1, leader_epoch=4), Error.FENCED_LEADER_EPOCH, True),
        (proposal(1), Error.FENCED_LEADER_EPOCH, False),
        (proposal(1, partition_epoch=7), Error.INVALID_UPDATE_VERSION, True),
        (proposal(1), Error.INVALID_UPDATE_VERSION, False),
        (proposal(1, partition_epoch=9), Error.NOT_CONTROLLER, True),
        (proposal(1), Error.NOT_CONTROLLER, False),
        (proposal(1, 2), Error.INELIGIBLE_REPLICA, True),
        (proposal(1), Error.INELIGIBLE_REPLICA, False),
        (proposal(2), Error.INVALID_REQUEST, True),
        (proposal(1), Error.INVALID_REQUEST, False),
        (proposal(1), Error.UNKNOWN_TOPIC_ID, False),
        (proposal(1), Error.NEW_LEADER_ELECTED, False),
    ],
)
def test_another_isr_is_refused_for_what_is_wrong_with_it(
    controller: Answering, proposed: AlteredPartition, error: Error, is_so: bool
) -> None:
    controller.write(registered(1, epoch=11))
    controller.write(registered(2, epoch=12))
    controller.write(
        BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=12, fenced=1), commits=False
    )
    controller.write(TopicRecord(name="t", topic_id=TOPIC))
    controller.write(partition())
    request = AlterPartitionRequest(broker=NodeId(1), epoch=11, partitions=(proposed,))
    controller.hear(request)
    told = AlterPartitionResponse(results=(PartitionResult(topic=TOPIC, index=0, error=error),))
    if is_so:
        controller.say(told)
        assert controller.looked["refused-proposals-are-wrong"] == 1
        return
    with accused("refused-proposals-are-wrong"):
        controller.say(told)


def test_what_is_refused_later_is_not_judged_by_what_is_so_by_then(controller: Answering) -> None:
    controller.write(registered(1, epoch=7))
    controller.hear(beat(7))
    controller.step()
    controller.say(BrokerHeartbeatResponse(error=Error.STALE_BROKER_EPOCH))
