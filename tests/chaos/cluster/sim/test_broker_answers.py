"""What a broker answers of its logs and of leaders: only what is not so is accused."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from chaos.cluster.sim.invariants.broker_watch import Begun
from chaos.cluster.sim.invariants.rules import Broken
from node.errors import ErrorCode
from node.ids import NodeId, Offset
from node.wire.entities import TopicPartition
from node.wire.offsets import (
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    SoughtOffset,
)
from node.wire.partition_fetch import (
    FetchedPartition,
    FetchedRecords,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.produce import (
    ProducedPartition,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from node.wire.topic_metadata import (
    DescribedPartition,
    DescribedTopic,
    MetadataRequest,
    MetadataResponse,
)
from tests.support.answering_broker import (
    KEY,
    LEADER_EPOCH,
    ONE,
    ORDERS,
    STEP,
    THREE,
    TWO,
    AnsweringBroker,
)
from tests.support.batches import batch

AT = TopicPartition(name="orders", index=0)
ALL, LEADER = -1, 1
LATEST, EARLIEST = -1, -2
Error = ErrorCode


@pytest.fixture
def broker() -> AnsweringBroker:
    """It has three records, of which two are published."""
    answering = AnsweringBroker()
    answering.append(batch(0, LEADER_EPOCH))
    answering.append(batch(1, LEADER_EPOCH))
    answering.append(batch(2, LEADER_EPOCH), ONE)
    answering.publish(2)
    return answering


def accused(rule: str) -> "pytest.RaisesExc[Broken]":
    return pytest.raises(Broken, match=f"^{rule}: n1 ")


def produced(
    broker: AnsweringBroker,
    offset: int,
    error: Error = Error.NONE,
    *,
    acks: int = ALL,
    step: int = STEP,
    waited_ms: int = 0,
    leader: int = -1,
) -> None:
    """The batch that stands at that offset was sent."""
    sent = batch(max(offset, 0), LEADER_EPOCH)
    request = ProduceRequest(
        acks=acks, timeout_ms=500, partitions=(ProducedPartition(partition=AT, records=sent),)
    )
    result = ProduceResult(
        partition=AT,
        error=error,
        base_offset=offset,
        leader=NodeId(leader),
        leader_epoch=LEADER_EPOCH if leader >= 0 else -1,
    )
    broker.ask(request, step=step)
    broker.now_ms += waited_ms
    broker.say(ProduceResponse(results=(result,)))


def fetched(
    broker: AnsweringBroker,
    offset: int,
    error: Error = Error.NONE,
    *,
    records: bytes = b"",
    mark: int = 2,
    start: int = 0,
    epoch: int = -1,
    replica: int = -1,
    step: int = STEP,
) -> None:
    request = PartitionsFetchRequest(
        replica=NodeId(replica),
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1000,
        partitions=(FetchedPartition(partition=AT, offset=offset, epoch=epoch, max_bytes=1000),),
    )
    told = FetchedRecords(
        partition=AT, error=error, high_watermark=mark, log_start=start, records=records
    )
    broker.answer(request, PartitionsFetchResponse(partitions=(told,)), step=step)


def listed(broker: AnsweringBroker, time_ms: int, offset: int, error: Error = Error.NONE) -> None:
    request = ListOffsetsRequest(partitions=(SoughtOffset(partition=AT, timestamp_ms=time_ms),))
    told = ListedOffset(partition=AT, offset=offset, error=error)
    broker.answer(request, ListOffsetsResponse(partitions=(told,)))


# --- Produce ---


def test_what_the_isr_has_may_be_acknowledged(broker: AnsweringBroker) -> None:
    produced(broker, 0)
    produced(broker, 1)
    produced(broker, 2, acks=LEADER)
    assert broker.watch.looked["acknowledged-is-in-the-log"] == 3
    assert broker.watch.looked["acknowledged-is-on-the-isr"] == 2


def test_what_is_not_published_is_not_acknowledged(broker: AnsweringBroker) -> None:
    with accused("acknowledged-is-on-the-isr"):
        produced(broker, 2)


def test_what_one_of_the_isr_lacks_is_not_acknowledged(broker: AnsweringBroker) -> None:
    broker.append(batch(2, LEADER_EPOCH), TWO)
    broker.publish(3)
    with accused("acknowledged-is-on-the-isr"):
        produced(broker, 2)
    broker.shrink_isr(1, 2, partition_epoch=6)  # which is not so
    with accused("acknowledged-is-on-the-isr"):
        produced(broker, 2)


def test_an_isr_that_only_its_leader_knows_of_is_gone_by(broker: AnsweringBroker) -> None:
    """Its controller told it, and no broker has replayed that yet."""
    broker.append(batch(2, LEADER_EPOCH), TWO)
    broker.publish(3)
    broker.shrink_isr(1, 2)
    produced(broker, 2)


def test_min_isr_replicas_have_what_is_acknowledged(broker: AnsweringBroker) -> None:
    broker.shrink_isr(1)
    broker.publish(3)
    with accused("acknowledged-is-on-the-isr"):
        produced(broker, 2)


def test_a_record_stands_where_it_is_said_to(broker: AnsweringBroker) -> None:
    broker.append(batch(3, LEADER_EPOCH, 2), ONE)
    with accused("acknowledged-is-in-the-log"):
        produced(broker, 3, acks=LEADER)  # one record, and there are two


def test_of_what_was_before_it_led_nothing_is_judged(broker: AnsweringBroker) -> None:
    produced(broker, 2, step=STEP - 1)
    produced(broker, 0, Error.NOT_LEADER_OR_FOLLOWER, step=STEP - 1)


def test_a_leader_does_not_say_that_it_does_not_lead(broker: AnsweringBroker) -> None:
    with accused("leaders-do-not-deny-it"):
        produced(broker, -1, Error.NOT_LEADER_OR_FOLLOWER)


def test_a_follower_says_that_it_does_not_lead(broker: AnsweringBroker) -> None:
    broker.held.begun[KEY] = Begun(step=1, epoch=LEADER_EPOCH, leads=False, end=0)
    produced(broker, -1, Error.NOT_LEADER_OR_FOLLOWER, leader=1)
    with accused("told-leaders-led"):
        produced(broker, -1, Error.NOT_LEADER_OR_FOLLOWER, leader=2)


def test_what_it_hears_in_that_very_step_may_be_said_or_not(broker: AnsweringBroker) -> None:
    broker.held.has_news = True
    produced(broker, -1, Error.NOT_LEADER_OR_FOLLOWER)
    produced(broker, -1, Error.NOT_ENOUGH_REPLICAS)
    produced(broker, -1, Error.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize(
    "error", [Error.NOT_ENOUGH_REPLICAS, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND]
)
def test_replicas_are_too_few_where_they_are(broker: AnsweringBroker, error: Error) -> None:
    with accused("too-few-replicas-are-too-few"):
        produced(broker, -1, error)
    broker.shrink_isr(1)
    produced(broker, -1, error)


def test_who_asked_is_waited_for(broker: AnsweringBroker) -> None:
    produced(broker, 2, Error.REQUEST_TIMED_OUT, waited_ms=500)
    with accused("timed-out-was-waited-for"):
        produced(broker, 2, Error.REQUEST_TIMED_OUT, waited_ms=499)
    with accused("timed-out-was-waited-for"):
        produced(broker, 1, Error.REQUEST_TIMED_OUT, waited_ms=500)  # all have it


def test_what_is_there_is_not_unknown(broker: AnsweringBroker) -> None:
    with accused("unknown-is-not-there"):
        produced(broker, -1, Error.UNKNOWN_TOPIC_OR_PARTITION)


# --- Fetch ---


def test_what_is_committed_is_given(broker: AnsweringBroker) -> None:
    fetched(broker, 0, records=batch(0, LEADER_EPOCH) + batch(1, LEADER_EPOCH))
    fetched(broker, 2)
    fetched(broker, 2, records=batch(2, LEADER_EPOCH), replica=TWO)
    fetched(broker, 7, Error.OFFSET_OUT_OF_RANGE)
    fetched(broker, 0, Error.FENCED_LEADER_EPOCH, epoch=LEADER_EPOCH - 1)
    fetched(broker, 0, Error.UNKNOWN_LEADER_EPOCH, epoch=LEADER_EPOCH + 1)


Lie = Callable[[AnsweringBroker], None]
LIES: list[tuple[str, Lie]] = [
    ("told-records-are-the-logs", lambda it: fetched(it, 2, records=batch(2, LEADER_EPOCH))),
    ("told-records-are-the-logs", lambda it: fetched(it, 0, records=batch(0, 3))),
    (
        "told-records-are-the-logs",
        lambda it: fetched(it, 0, records=batch(0, LEADER_EPOCH, size=100)),
    ),
    ("told-records-are-the-logs", lambda it: fetched(it, 0, records=batch(1, LEADER_EPOCH))),
    ("told-offsets-are-the-logs", lambda it: fetched(it, 0, mark=3)),
    ("told-offsets-are-the-logs", lambda it: fetched(it, 0, mark=1)),
    ("told-offsets-are-the-logs", lambda it: fetched(it, 0, start=1)),
    ("out-of-range-is-outside", lambda it: fetched(it, 3, Error.OFFSET_OUT_OF_RANGE)),
    ("out-of-range-is-outside", lambda it: fetched(it, 0, Error.OFFSET_OUT_OF_RANGE)),
    ("leaders-do-not-deny-it", lambda it: fetched(it, 0, Error.NOT_LEADER_OR_FOLLOWER)),
    (
        "refused-epochs-are-others",
        lambda it: fetched(it, 0, Error.FENCED_LEADER_EPOCH, epoch=LEADER_EPOCH),
    ),
    (
        "refused-epochs-are-others",
        lambda it: fetched(it, 0, Error.UNKNOWN_LEADER_EPOCH, epoch=LEADER_EPOCH),
    ),
    ("told-offsets-are-the-logs", lambda it: listed(it, LATEST, 3)),
    ("told-offsets-are-the-logs", lambda it: listed(it, EARLIEST, 1)),
    ("told-offsets-are-the-logs", lambda it: listed(it, 1234, 2)),
    ("told-offsets-are-the-logs", lambda it: listed(it, LATEST, -1, Error.OFFSET_NOT_AVAILABLE)),
    ("leaders-do-not-deny-it", lambda it: listed(it, LATEST, -1, Error.NOT_LEADER_OR_FOLLOWER)),
]


@pytest.mark.parametrize(("rule", "lie"), LIES)
def test_what_is_not_so_is_accused(broker: AnsweringBroker, rule: str, lie: Lie) -> None:
    with accused(rule):
        lie(broker)


def test_a_step_that_changes_something_may_tell_of_it_as_it_was(broker: AnsweringBroker) -> None:
    broker.held.marks_before[KEY] = 1
    fetched(broker, 0, mark=1)
    fetched(broker, 0, mark=2)
    broker.held.starts_before[KEY], broker.held.log_starts[KEY] = Offset(0), Offset(1)
    fetched(broker, 1, start=0)
    fetched(broker, 0, Error.OFFSET_OUT_OF_RANGE)
    broker.held.logs_before[KEY] = broker.lives[TWO].logs[KEY]
    fetched(broker, 3, Error.OFFSET_OUT_OF_RANGE)


def test_a_follower_tells_of_no_more_than_was_published(broker: AnsweringBroker) -> None:
    broker.held.begun[KEY] = Begun(step=1, epoch=LEADER_EPOCH, leads=False, end=0)
    fetched(broker, 0, mark=1)
    with accused("told-offsets-are-the-logs"):
        fetched(broker, 0, mark=3)


def test_offsets_that_are_looked_up_are_those_of_the_log(broker: AnsweringBroker) -> None:
    listed(broker, LATEST, 2)
    listed(broker, EARLIEST, 0)
    listed(broker, 1234, 1)
    listed(broker, 1234, -1)
    begun = broker.held.begun[KEY]
    broker.held.begun[KEY] = begun._replace(end=3)  # of a leader that has not published that yet
    listed(broker, LATEST, -1, Error.OFFSET_NOT_AVAILABLE)


# --- Metadata ---

DESCRIBED = DescribedPartition(
    index=0, leader=ONE, leader_epoch=LEADER_EPOCH, replicas=(1, 2, 3), isr=(1, 2, 3)
)


@pytest.mark.parametrize(
    ("told", "is_so"),
    [
        (DESCRIBED, True),
        (replace(DESCRIBED, leader=NodeId(-1)), True),  # it is not up
        (replace(DESCRIBED, leader=THREE), False),
        (replace(DESCRIBED, leader_epoch=LEADER_EPOCH - 1), False),
        (replace(DESCRIBED, isr=(1, 2)), False),
    ],
)
def test_metadata_is_told_as_it_is(
    broker: AnsweringBroker, told: DescribedPartition, is_so: bool
) -> None:
    topic = DescribedTopic(name="orders", id=ORDERS, partitions=(told,))
    response = MetadataResponse(cluster_id="", controller=ONE, brokers=(), topics=(topic,))
    if is_so:
        broker.answer(MetadataRequest(), response)
        return
    with accused("told-metadata-is-so"):
        broker.answer(MetadataRequest(), response)
