"""What a controller answers: what is so is not accused, what is not so is."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from chaos.cluster.sim.invariants import ControllerAnswers, InvariantViolated
from chaos.cluster.sim.invariants.answer_rules import Looked
from node.controller.image import Image
from node.effects import Trace
from node.errors import ErrorCode
from node.ids import ConnectionId, Epoch, NodeId, Offset
from node.outbox import Output, ResponseTo
from node.raft.roles import Role
from node.records.batch import encode_batch
from node.records.metadata import (
    ConfigRecord,
    MetadataRecord,
    ProducerIdsRecord,
    TopicRecord,
    encode_metadata,
)
from node.wire.apis import Response
from node.wire.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigChange,
    ResourceChange,
    ResourceResult,
)
from node.wire.create_topics import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    NewTopic,
    TopicResult,
)
from node.wire.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeletionResult
from node.wire.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse
from node.wire.fetch import FetchRequest, FetchResponse
from node.wire.producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
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
