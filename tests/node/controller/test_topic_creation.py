"""CreateTopics, DeleteTopics, and where replicas are placed."""

import random
from dataclasses import replace
from time import process_time
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node import limits
from node.controller.decision import RefusedError
from node.controller.partitions.creation import place
from node.errors import ErrorCode
from node.records.metadata import PartitionRecord, RegisterBrokerRecord
from node.wire.topic_changes import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletedTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    NewTopic,
    WantedPartitions,
)
from tests.support.brokers import Brokers


def created(brokers: Brokers, *topics: NewTopic) -> list[ErrorCode]:
    answer = brokers.ask(CreateTopicsRequest(topics=topics))
    assert isinstance(answer, CreateTopicsResponse)
    return [result.error for result in answer.results]


def three() -> Brokers:
    brokers = Brokers()
    brokers.come_up(1, 2, 3)
    return brokers


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic(name=""), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic(name=".."), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic(name="a/b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic(name="x" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic(name="a.b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic(name="a_b"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (NewTopic(name="t", replication=4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic(name="t", replication=0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic(name="t", partitions=0), ErrorCode.INVALID_PARTITIONS),
        (NewTopic(name="t", partitions=limits.MAX_NEW_PARTITIONS), ErrorCode.INVALID_PARTITIONS),
        (NewTopic(name="t", partitions=2**31 - 1), ErrorCode.INVALID_PARTITIONS),
    ],
)
def test_a_topic_that_cannot_be_is_refused_and_no_other_with_it(
    topic: NewTopic, error: ErrorCode
) -> None:
    brokers = three()
    assert created(brokers, NewTopic(name="a_b")) == [ErrorCode.NONE]
    assert created(brokers, topic, NewTopic(name="good")) == [error, ErrorCode.NONE]


@pytest.mark.parametrize(
    "places", [[()], [(1, 1)], [(9,)], [(1, 2), (3,)]], ids=["none", "twice", "unknown", "uneven"]
)
def test_an_assignment_that_cannot_be_is_refused(places: list[tuple[int, ...]]) -> None:
    answer = three().create("t", *places)
    assert answer.results[0].error == ErrorCode.INVALID_REPLICA_ASSIGNMENT


@pytest.mark.parametrize(
    ("configs", "error"),
    [
        ({"retention_ms": "7"}, ErrorCode.NONE),
        ({"retention_ms": "soon"}, ErrorCode.INVALID_CONFIG),
        ({"min_insync_replicas": "0"}, ErrorCode.INVALID_CONFIG),
        ({"cleanup_policy": "delete"}, ErrorCode.NONE),
        ({"cleanup_policy": "compact,delete"}, ErrorCode.INVALID_CONFIG),
        ({"cleanup_policy": "keep"}, ErrorCode.INVALID_CONFIG),
        ({"no_such_thing": "7"}, ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_topic_is_created_with_its_configuration(
    configs: dict[str, str], error: ErrorCode
) -> None:
    brokers = three()
    assert brokers.create("t", (1, 2), **configs).results[0].error == error
    expected = {} if error else {key.replace("_", "."): value for key, value in configs.items()}
    assert brokers.image.config((2, "t")) == expected


def test_only_active_replicas_are_in_the_first_isr() -> None:
    """KIP-841."""
    brokers = three()
    brokers.fence(1)
    brokers.create("t", (1, 2, 3))
    assert brokers.state() == ((2, 3), (), 2)
    brokers.fence(2)
    brokers.fence(3)
    assert brokers.create("u", (1, 2, 3)).results[0].error == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_two_topics_of_one_request_see_each_other() -> None:
    brokers = three()
    pair = (NewTopic(name="a.b"), NewTopic(name="a_b"))
    assert created(brokers, *pair) == [ErrorCode.NONE, ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_validation_creates_nothing() -> None:
    brokers = three()
    request = CreateTopicsRequest(topics=(NewTopic(name="t"),), validate_only=True)
    answer = brokers.ask(request)
    assert isinstance(answer, CreateTopicsResponse)
    assert answer.results[0].error == ErrorCode.NONE
    assert brokers.image.topics.named("t") is None


def test_a_topic_is_deleted_by_name_or_by_id() -> None:
    brokers = three()
    brokers.create("t", (1,))
    brokers.create("u", (1,))
    found = brokers.image.topics.named("u")
    assert found is not None
    asked = (DeletedTopic(name="t"), DeletedTopic(id=found.id), DeletedTopic(name="v"))
    answer = brokers.ask(DeleteTopicsRequest(topics=(*asked, DeletedTopic(id=UUID(int=5)))))
    assert isinstance(answer, DeleteTopicsResponse)
    assert [each.error for each in answer.results] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ]
    assert brokers.image.topics.all() == []


def test_a_topic_that_is_named_and_numbered_at_once_stays() -> None:
    """As in Kafka, whether or not the two agree (`ControllerApis.deleteTopics`)."""
    brokers = three()
    brokers.create("t", (1,))
    brokers.create("u", (1,))
    found = brokers.image.topics.named("u")
    assert found is not None
    asked = (
        DeletedTopic(name="t", id=found.id),
        DeletedTopic(name="u", id=found.id),
        DeletedTopic(),
    )
    answer = brokers.ask(DeleteTopicsRequest(topics=asked))
    assert isinstance(answer, DeleteTopicsResponse)
    assert [each.error for each in answer.results] == [ErrorCode.INVALID_REQUEST] * 3
    assert len(brokers.image.topics.all()) == 2


def test_no_topic_takes_the_name_of_the_metadata_log() -> None:
    """Its partition's log would be that of the quorum, and go with the topic."""
    brokers = three()
    assert created(brokers, NewTopic(name="__cluster_metadata")) == [ErrorCode.INVALID_REQUEST]
    assert brokers.image.topics.all() == []


def test_a_topic_that_is_to_be_created_twice_is_refused_once() -> None:
    brokers = three()
    twice = (NewTopic(name="t"), NewTopic(name="t"))
    assert created(brokers, *twice) == [ErrorCode.INVALID_REQUEST]
    assert brokers.image.topics.all() == []


def test_a_topic_that_is_to_be_deleted_twice_is_refused_once_and_stays() -> None:
    brokers = three()
    brokers.create("t", (1,))
    twice = (DeletedTopic(name="t"), DeletedTopic(name="t"))
    answer = brokers.ask(DeleteTopicsRequest(topics=twice))
    assert isinstance(answer, DeleteTopicsResponse)
    assert [each.error for each in answer.results] == [ErrorCode.INVALID_REQUEST]
    assert [topic.name for topic in brokers.image.topics.all()] == ["t"]


def test_a_partition_is_written_with_the_one_directory_of_each_broker() -> None:
    brokers = three()
    brokers.create("t", (3, 1))
    (record,) = (each for each in brokers.records if isinstance(each, PartitionRecord))
    assert record.directories == (UUID(int=(1 << 91) + 3), UUID(int=(1 << 91) + 1))


# --- placement ---


def broker(number: int, rack: str | None, fenced: bool = False) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=number,
        incarnation_id=UUID(int=number),
        broker_epoch=number,
        end_points=(),
        features=(),
        rack=rack,
        fenced=fenced,
    )


CLUSTERS = st.lists(
    st.tuples(st.sampled_from([None, "a", "b", "c"]), st.booleans()), min_size=1, max_size=9
).map(lambda rows: [broker(number, *row) for number, row in enumerate(rows)])


@given(CLUSTERS, st.integers(1, 9), st.integers(1, 40), st.integers(0, 99))
def test_replicas_are_spread_and_an_unfenced_one_is_first(
    brokers: list[RegisterBrokerRecord], replication: int, partitions: int, seed: int
) -> None:
    unfenced = {each.broker_id for each in brokers if not each.fenced}
    if replication > len(brokers) or not unfenced:
        with pytest.raises(RefusedError):
            place(brokers, partitions, replication, random.Random(seed))
        return
    places = place(brokers, partitions, replication, random.Random(seed))
    assert len(places) == partitions
    racks = {each.broker_id: each.rack for each in brokers}
    for replicas in places:
        assert len(set(replicas)) == len(replicas) == replication
        assert replicas[0] in unfenced
        covered = {racks[each] for each in replicas}
        assert len(covered) == min(replication, len(set(racks.values())))


def test_leaders_take_turns() -> None:
    brokers = [broker(number, None) for number in range(4)]
    leaders = [replicas[0] for replicas in place(brokers, 400, 3, random.Random(1))]
    assert {leaders.count(number) for number in range(4)} == {100}


# --- how much one client may ask for ---

MOST = limits.MAX_NEW_PARTITIONS


def test_topics_that_are_too_large_are_refused_before_anything_is_placed() -> None:
    brokers = three()
    topics = [NewTopic(name=f"t{n}", partitions=9_999, replication=3) for n in range(1990)]
    began = process_time()
    errors = created(brokers, *topics, NewTopic(name="good"))
    assert process_time() - began < 0.5
    assert errors == [ErrorCode.INVALID_PARTITIONS] * 1990 + [ErrorCode.NONE]


def test_topics_count_together_and_each_beside_its_partitions() -> None:
    room = MOST - 2 * limits.NEW_TOPIC_AS_PARTITIONS
    for last, error in ((0, ErrorCode.NONE), (1, ErrorCode.INVALID_PARTITIONS)):
        first = NewTopic(name="t", partitions=room - 10)
        assert created(three(), first, NewTopic(name="u", partitions=10 + last)) == [
            ErrorCode.NONE,
            error,
        ]
    assert created(three(), *(NewTopic(name=f"t{n}") for n in range(MOST))).count(
        ErrorCode.NONE
    ) == MOST // (1 + limits.NEW_TOPIC_AS_PARTITIONS)


def test_with_more_brokers_there_is_room_for_fewer_partitions_at_once() -> None:
    brokers = Brokers()
    brokers.come_up(*range(20))
    least = limits.MAX_PLACES // 20
    assert least < MOST
    wanted = [NewTopic(name="t", partitions=least), NewTopic(name="t", partitions=least - 2)]
    assert [created(brokers, each) for each in wanted] == [
        [ErrorCode.INVALID_PARTITIONS],
        [ErrorCode.NONE],
    ]


def test_the_cluster_has_so_many_partitions_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_PARTITIONS", 10)
    brokers = three()
    assert created(brokers, NewTopic(name="t", partitions=8)) == [ErrorCode.NONE]
    assert created(brokers, NewTopic(name="u")) == [ErrorCode.INVALID_PARTITIONS]
    assert brokers.create("v", (1,)).results[0].error == ErrorCode.INVALID_PARTITIONS
    wanted = WantedPartitions(topic="t", count=11)
    answer = brokers.ask(CreatePartitionsRequest(topics=(wanted, replace(wanted, topic="no"))))
    assert isinstance(answer, CreatePartitionsResponse)
    assert answer.results[0].error == ErrorCode.INVALID_PARTITIONS
    brokers.ask(DeleteTopicsRequest(topics=(DeletedTopic(name="t"),)))
    assert created(brokers, NewTopic(name="u")) == [ErrorCode.NONE]


def test_a_partition_has_so_many_replicas_and_no_more() -> None:
    most = limits.MAX_REPLICATION
    brokers = Brokers()
    brokers.come_up(*range(most + 1))
    assert created(brokers, NewTopic(name="t", replication=most)) == [ErrorCode.NONE]
    more = NewTopic(name="u", replication=most + 1)
    assert created(brokers, more) == [ErrorCode.INVALID_REPLICATION_FACTOR]
    answer = brokers.create("v", tuple(range(most + 1)))
    assert answer.results[0].error == ErrorCode.INVALID_REPLICA_ASSIGNMENT
