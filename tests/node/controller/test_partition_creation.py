"""Topics get more partitions (KIP-195)."""

import pytest

from node import limits
from node.errors import ErrorCode
from node.ids import NodeId
from node.wire.topic_changes import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    WantedPartitions,
)
from tests.support.brokers import Brokers


def three() -> Brokers:
    brokers = Brokers()
    brokers.come_up(1, 2, 3)
    brokers.create("t", (1, 2), (2, 3))
    return brokers


def asked(
    brokers: Brokers, *topics: WantedPartitions, validate_only: bool = False
) -> list[ErrorCode]:
    answer = brokers.ask(CreatePartitionsRequest(topics=topics, validate_only=validate_only))
    assert isinstance(answer, CreatePartitionsResponse)
    return [each.error for each in answer.results]


def wanted(count: int, *assignments: tuple[int, ...], topic: str = "t") -> WantedPartitions:
    replicas = tuple(tuple(map(NodeId, each)) for each in assignments) or None
    return WantedPartitions(topic=topic, count=count, assignments=replicas)


def test_new_ones_follow_and_are_as_replicated_as_the_others() -> None:
    brokers = three()
    assert asked(brokers, wanted(5)) == [ErrorCode.NONE]
    assert len(brokers.records) == 3
    for index in range(2, 5):
        found = brokers.partition(index=index)
        assert len(found.replicas) == 2
        assert (found.isr, found.leader) == (found.replicas, found.replicas[0])


def test_they_are_where_somebody_says_and_only_active_replicas_are_in_sync() -> None:
    brokers = three()
    brokers.fence(3)
    assert asked(brokers, wanted(4, (3, 1), (2, 1))) == [ErrorCode.NONE]
    assert brokers.partition(index=2).replicas == (3, 1)
    assert (brokers.partition(index=2).isr, brokers.partition(index=2).leader) == ((1,), 1)
    assert brokers.partition(index=3).isr == (2, 1)


@pytest.mark.parametrize(
    ("one", "error"),
    [
        (wanted(3, topic="u"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (wanted(2), ErrorCode.INVALID_PARTITIONS),
        (wanted(1), ErrorCode.INVALID_PARTITIONS),
        (wanted(2 + limits.MAX_NEW_PARTITIONS + 1), ErrorCode.INVALID_PARTITIONS),
        (wanted(4, (1, 2)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wanted(3, (1, 2, 3)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wanted(3, (1, 1)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wanted(3, (1, 9)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (wanted(3, (3, 4)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_what_cannot_be_is_refused_and_no_other_with_it(
    one: WantedPartitions, error: ErrorCode
) -> None:
    brokers = three()
    brokers.create("v", (1, 2))
    brokers.come_up(4)
    brokers.fence(3)
    brokers.fence(4)
    assert asked(brokers, one, wanted(2, topic="v")) == [error, ErrorCode.NONE]
    assert len(brokers.records) == 1


def test_a_topic_stands_once_in_a_request() -> None:
    brokers = three()
    assert asked(brokers, wanted(3), wanted(4)) == [ErrorCode.INVALID_REQUEST]
    assert brokers.records == []


def test_what_is_only_validated_is_not_written() -> None:
    brokers = three()
    assert asked(brokers, wanted(3), validate_only=True) == [ErrorCode.NONE]
    assert brokers.records == []


def test_where_nobody_is_active_none_is_created() -> None:
    brokers = three()
    for broker in (1, 2, 3):
        brokers.fence(broker)
    assert asked(brokers, wanted(3)) == [ErrorCode.INVALID_REPLICATION_FACTOR]
