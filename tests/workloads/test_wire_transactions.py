"""The hand-written frames that commit and describe a transaction are Kafka's, by kio's reading."""

import datetime

import kio.schema.describe_transactions.v0 as describe
import kio.schema.end_txn.v5 as end
import pytest
from kio.schema.errors import ErrorCode
from kio.schema.types import ProducerId, TopicName, TransactionalId
from kio.static.primitive import TZAware, i16, i32

from tests.workloads.test_wire import NOW, read, write
from workloads.wire.flexible import MalformedResponseError
from workloads.wire.header import Api
from workloads.wire.transactions import (
    commit_transaction,
    describe_transaction,
    read_described_transaction,
    read_ended,
)


def test_a_commit_names_who_sent_and_as_whom() -> None:
    schema = end.EndTxnRequest
    assert (schema.__api_key__, schema.__version__) == (26, Api.END_TXN.version)
    found = read(schema, commit_transaction("mine", 4000, 7))
    assert (found.transactional_id, found.producer_id, found.producer_epoch) == ("mine", 4000, 7)
    assert found.committed


def test_an_answer_to_a_commit_is_its_error() -> None:
    answer = end.EndTxnResponse(throttle_time=NOW, error_code=ErrorCode.concurrent_transactions)
    assert read_ended(write(answer)) == 51
    with pytest.raises(MalformedResponseError):
        read_ended(write(answer)[:-1])


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
