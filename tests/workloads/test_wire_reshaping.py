"""The hand-written frames of CreatePartitions, reassignments and ends of epochs are Kafka's, by
kio's reading."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from kio.schema.alter_partition_reassignments.v0 import request as reassign_request
from kio.schema.create_partitions.v3 import request as partitions_request
from kio.schema.offset_for_leader_epoch.v4 import request as epoch_request
from kio.serial import entity_reader, entity_writer

from tests.support.broker_answers import BrokerAnswers
from workloads.wire.fetch import EpochEnd, end_of_epoch, read_end_of_epoch
from workloads.wire.flexible import MalformedResponseError
from workloads.wire.header import Api
from workloads.wire.topic_requests import (
    create_partitions,
    list_reassignments,
    read_created_partitions,
    read_reassigned,
    read_reassignments,
    reassign,
)

GROW = create_partitions("t", 3, timeout_ms=5000)
MOVE = reassign("t", 0, (3, 1), timeout_ms=5000)
END = end_of_epoch("t", 0, 1)


@pytest.fixture
def brokers() -> BrokerAnswers:
    answers = BrokerAnswers(3)
    answers.add_topic("t", 1)
    return answers


def read(schema: Any, data: bytes) -> Any:
    value, size = entity_reader(schema)(data, 0)
    assert size == len(data)
    return value


def answered(brokers: BrokerAnswers, api: Api, body: bytes) -> bytes:
    value = brokers.answer(1, api, body)
    buffer = io.BytesIO()
    entity_writer(type(value))(buffer, value)
    return buffer.getvalue()


def refuses_shorter(answer: bytes, read_answer: Callable[[bytes], object]) -> None:
    for size in range(len(answer)):
        with pytest.raises(MalformedResponseError):
            read_answer(answer[:size])


def test_a_topic_is_to_have_more_partitions(brokers: BrokerAnswers) -> None:
    request = read(partitions_request.CreatePartitionsRequest, GROW)
    assert (request.__api_key__, request.__version__) == (37, Api.CREATE_PARTITIONS.version)
    (topic,) = request.topics
    assert (topic.name, topic.count, topic.assignments) == ("t", 3, None)
    assert (request.timeout.total_seconds(), request.validate_only) == (5, False)
    answer = answered(brokers, Api.CREATE_PARTITIONS, GROW)
    assert read_created_partitions(answer, "t") == 0
    assert brokers.topics == {"t": 3}
    refuses_shorter(answer, lambda body: read_created_partitions(body, "t"))
    with pytest.raises(MalformedResponseError, match="answers t, not other"):
        read_created_partitions(answer, "other")


def test_a_partition_is_to_move(brokers: BrokerAnswers) -> None:
    request = read(reassign_request.AlterPartitionReassignmentsRequest, MOVE)
    api = Api.ALTER_PARTITION_REASSIGNMENTS
    assert (request.__api_key__, request.__version__) == (45, api.version)
    assert request.timeout.total_seconds() == 5
    answer = answered(brokers, api, MOVE)
    assert read_reassigned(answer, "t", 0) == 0
    assert brokers.moves == [("t-0", (3, 1))]
    refuses_shorter(answer, lambda body: read_reassigned(body, "t", 0))
    with pytest.raises(MalformedResponseError, match="answers t-0, not t-1"):
        read_reassigned(answer, "t", 1)


def test_a_move_is_to_be_cancelled() -> None:
    cancel = reassign("t", 0, None, timeout_ms=5000)
    request = read(reassign_request.AlterPartitionReassignmentsRequest, cancel)
    (partition,) = request.topics[0].partitions
    assert partition.replicas is None


def test_whether_a_move_goes_on_is_read(brokers: BrokerAnswers) -> None:
    brokers.still_moving = 1
    api, body = Api.LIST_PARTITION_REASSIGNMENTS, list_reassignments("t", 0, timeout_ms=5000)
    answer = answered(brokers, api, body)
    assert read_reassignments(answer, "t", 0) == (0, True)
    refuses_shorter(answer, lambda body: read_reassignments(body, "t", 0))
    with pytest.raises(MalformedResponseError, match="answers t-0, not t-1"):
        read_reassignments(answer, "t", 1)
    assert read_reassignments(answered(brokers, api, body), "t", 0) == (0, False)


def test_an_epoch_ends_somewhere(brokers: BrokerAnswers) -> None:
    request = read(epoch_request.OffsetForLeaderEpochRequest, END)
    api = Api.OFFSET_FOR_LEADER_EPOCH
    assert (request.__api_key__, request.__version__, request.replica_id) == (23, api.version, -1)
    (partition,) = request.topics[0].partitions
    assert (partition.partition, partition.current_leader_epoch, partition.leader_epoch) == (
        0,
        -1,
        1,
    )
    known = brokers.logs["t", 0].epoch
    answer = answered(brokers, api, end_of_epoch("t", 0, known))
    assert read_end_of_epoch(answer, "t", 0) == EpochEnd(error=0, epoch=known, end=0)
    refuses_shorter(answer, lambda body: read_end_of_epoch(body, "t", 0))
    answer = answered(brokers, api, end_of_epoch("t", 0, known + 1))
    assert read_end_of_epoch(answer, "t", 0) == EpochEnd(error=0, epoch=-1, end=-1)
    with pytest.raises(MalformedResponseError, match="answers t-0, not t-1"):
        read_end_of_epoch(answer, "t", 1)
