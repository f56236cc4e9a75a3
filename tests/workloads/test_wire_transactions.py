"""The hand-written frames that commit and describe a transaction are Kafka's, by kio's reading."""

import datetime

import kio.schema.describe_transactions.v0 as describe
import kio.schema.end_txn.v5 as end
import kio.schema.txn_offset_commit.v5.request as offsets
import kio.schema.txn_offset_commit.v5.response as offset_answer
import pytest
from kio.schema.errors import ErrorCode
from kio.schema.types import ProducerId, TopicName, TransactionalId
from kio.static.primitive import TZAware, i16, i32

from tests.workloads.test_wire import NOW, read, write
from workloads.wire.flexible import MalformedResponseError
from workloads.wire.group_members import read_commit
from workloads.wire.header import Api
from workloads.wire.produce import (
    GroupMember,
    commit_in_transaction,
    describe_transaction,
    end_transaction,
    read_described_transaction,
    read_ended,
)


@pytest.mark.parametrize("commits", [True, False])
def test_who_ends_a_transaction_says_whose_and_how(commits: bool) -> None:
    schema = end.EndTxnRequest
    assert (schema.__api_key__, schema.__version__) == (26, Api.END_TXN.version)
    found = read(schema, end_transaction("mine", 4000, 7, commits=commits))
    assert (found.transactional_id, found.producer_id, found.producer_epoch) == ("mine", 4000, 7)
    assert found.committed is commits


def test_an_answer_to_that_is_its_error_and_as_whom_the_owner_goes_on() -> None:
    answer = end.EndTxnResponse(
        throttle_time=NOW,
        error_code=ErrorCode.concurrent_transactions,
        producer_id=ProducerId(4000),
        producer_epoch=i16(8),
    )
    found = read_ended(write(answer))
    assert (found.error, found.producer_id, found.epoch) == (51, 4000, 8)
    with pytest.raises(MalformedResponseError):
        read_ended(write(answer)[:-1])


def test_a_member_commits_an_offset_within_its_transaction() -> None:
    schema = offsets.TxnOffsetCommitRequest
    assert (schema.__api_key__, schema.__version__) == (28, Api.TXN_OFFSET_COMMIT.version)
    member = GroupMember(group="g", generation=3, member="m1")
    found = read(schema, commit_in_transaction("mine", (4000, 7), member, "t", 2, 345))
    assert (found.transactional_id, found.producer_id, found.producer_epoch) == ("mine", 4000, 7)
    assert (found.group_id, found.generation_id, found.member_id) == ("g", 3, "m1")
    assert found.group_instance_id is None
    (topic,) = found.topics
    (partition,) = topic.partitions
    assert (topic.name, partition.partition_index, partition.committed_offset) == ("t", 2, 345)


def test_an_answer_to_that_has_the_form_of_one_to_a_commit() -> None:
    partition = offset_answer.TxnOffsetCommitResponsePartition(
        partition_index=i32(2), error_code=ErrorCode.illegal_generation
    )
    topic = offset_answer.TxnOffsetCommitResponseTopic(name=TopicName("t"), partitions=(partition,))
    body = write(offset_answer.TxnOffsetCommitResponse(throttle_time=NOW, topics=(topic,)))
    assert read_commit(body, "t", 2) == 22


@pytest.mark.parametrize("partitions", [(), (0,), (0, 5)])
def test_a_transaction_is_described_by_its_state(partitions: tuple[int, ...]) -> None:
    schema = describe.DescribeTransactionsRequest
    assert (schema.__api_key__, schema.__version__) == (65, Api.DESCRIBE_TRANSACTIONS.version)
    assert read(schema, describe_transaction("mine")).transactional_ids == ("mine",)
    topic = describe.response.TopicData(
        topic=TopicName("t"), partitions=tuple(i32(each) for each in partitions)
    )
    state = describe.response.TransactionState(
        error_code=ErrorCode.none,
        transactional_id=TransactionalId("mine"),
        transaction_state="CompleteCommit",
        transaction_timeout=NOW,
        transaction_start_time=TZAware.parse(datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)),
        producer_id=ProducerId(1),
        producer_epoch=i16(0),
        topics=(topic,) if partitions else (),
    )
    body = write(
        describe.DescribeTransactionsResponse(throttle_time=NOW, transaction_states=(state,))
    )
    found = read_described_transaction(body)
    assert (found.error, found.state) == (0, "CompleteCommit")
    for size in range(len(body)):
        with pytest.raises(MalformedResponseError):
            read_described_transaction(body[:size])
