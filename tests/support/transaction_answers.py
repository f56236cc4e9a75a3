"""What fake brokers answer of transactions, as values of kio: one of them coordinates all.

What a group commits within one is committed with it. An aborted one stays in its log, up to a
marker; of one that is committed there is none.
"""

import datetime
from typing import Any

from kio.schema.describe_transactions.v0 import request as describe_request
from kio.schema.describe_transactions.v0 import response as describe_response
from kio.schema.end_txn.v5 import request as end_request
from kio.schema.end_txn.v5 import response as end_response
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v4 import request as coordinator_request
from kio.schema.find_coordinator.v4 import response as coordinator_response
from kio.schema.init_producer_id.v4 import request as init_request
from kio.schema.init_producer_id.v4 import response as init_response
from kio.schema.txn_offset_commit.v5 import request as offset_request
from kio.schema.txn_offset_commit.v5 import response as offset_response
from kio.schema.types import BrokerId, ProducerId, TransactionalId
from kio.serial import entity_reader
from kio.static.primitive import TZAware, i16, i32, i32Timedelta

from tests.support.fake_log import Ending, FakeLog
from tests.support.group_offsets import GroupOffsets
from tests.support.markers import ABORT, marker

ZERO = i32Timedelta.parse(datetime.timedelta(0))
_COORDINATOR = 2
_SINCE = TZAware.parse(datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC))


class TransactionAnswers:
    """Every transactional id's last transaction, and whose are open."""

    def __init__(self) -> None:
        self.open_transactions: dict[str, int] = {}  # the first offset of each, by its owner
        self.states: dict[str, str] = {}  # of the last of each, once it ended
        self.forgets_transactions = False  # so that nobody ends them
        self.telling = 0  # questions until all partitions were told of a commit
        self.on_commit = ErrorCode.none
        self.on_group_commit = ErrorCode.none
        self.groups = GroupOffsets()
        self.aborted: list[tuple[FakeLog, int, int]] = []  # of whom, from which offset on
        self._sent_to: dict[str, tuple[FakeLog, int]] = {}  # and as whom, by its owner
        self._pending: dict[str, tuple[str, int]] = {}  # of which group, by its owner
        self.describes = True
        self._producers = 0

    def answer_of_transactions(self, node: int, api: int, body: bytes) -> Any:
        match api:
            case 10:
                return _coordinate(read(coordinator_request.FindCoordinatorRequest, body))
            case 22:
                return self._initialize(node, read(init_request.InitProducerIdRequest, body))
            case 28:
                return self._commit_offset(read(offset_request.TxnOffsetCommitRequest, body))
            case 26:
                return self._end(node, read(end_request.EndTxnRequest, body))
            case 65:
                return self._describe(read(describe_request.DescribeTransactionsRequest, body))
        raise AssertionError(f"API {api} is not of transactions")

    def _initialize(self, node: int, request: init_request.InitProducerIdRequest) -> Any:
        owner = request.transactional_id
        wrong = owner is not None and node != _COORDINATOR
        if owner is not None and not wrong and not self.forgets_transactions:
            self._abort(owner)
        self._producers += 1
        return init_response.InitProducerIdResponse(
            throttle_time=ZERO,
            error_code=ErrorCode.not_coordinator if wrong else ErrorCode.none,
            producer_id=ProducerId(self._producers),
            producer_epoch=i16(0),
        )

    def _end(self, node: int, request: end_request.EndTxnRequest) -> Any:
        assert node == _COORDINATOR
        owner = request.transactional_id
        if not request.committed:
            self._abort(owner)
        elif self.on_commit is ErrorCode.none:
            del self.open_transactions[owner]
            self.states[owner] = "PrepareCommit"
            if owner in self._pending:
                group, offset = self._pending.pop(owner)
                self.groups.committed.setdefault(group, []).append(offset)
        self._producers += 1
        return end_response.EndTxnResponse(
            throttle_time=ZERO,
            error_code=self.on_commit if request.committed else ErrorCode.none,
            producer_id=ProducerId(self._producers),
            producer_epoch=i16(0),
        )

    def begin_transaction(self, owner: str, log: FakeLog, producer: int, offset: int) -> None:
        """Or go on with it."""
        self.open_transactions.setdefault(owner, offset)
        self._sent_to[owner] = log, producer

    def _abort(self, owner: str) -> None:
        first = self.open_transactions.pop(owner, None)
        self._pending.pop(owner, None)
        if first is not None:
            log, producer = self._sent_to[owner]
            self.aborted.append((log, producer, first))
            log.batches.append(marker(log.end, producer, ABORT))

    def _commit_offset(self, request: offset_request.TxnOffsetCommitRequest) -> Any:
        (topic,) = request.topics
        (partition,) = topic.partitions
        if self.on_group_commit is ErrorCode.none:
            offset = int(partition.committed_offset)
            self._pending[request.transactional_id] = str(request.group_id), offset
        result = offset_response.TxnOffsetCommitResponsePartition(
            partition_index=partition.partition_index, error_code=self.on_group_commit
        )
        told = offset_response.TxnOffsetCommitResponseTopic(name=topic.name, partitions=(result,))
        return offset_response.TxnOffsetCommitResponse(throttle_time=ZERO, topics=(told,))

    def _describe(self, request: describe_request.DescribeTransactionsRequest) -> Any:
        if not self.describes:
            return Ending.CLOSE
        (owner,) = request.transactional_ids
        self.telling = max(0, self.telling - 1)
        if self.states.get(owner) == "PrepareCommit" and not self.telling:
            self.states[owner] = "CompleteCommit"
        known = owner in self.states
        state = describe_response.TransactionState(
            error_code=ErrorCode.none if known else ErrorCode.transactional_id_not_found,
            transactional_id=TransactionalId(owner),
            transaction_state=self.states.get(owner, ""),
            transaction_timeout=ZERO,
            transaction_start_time=_SINCE,
            producer_id=ProducerId(1),
            producer_epoch=i16(0),
            topics=(),
        )
        return describe_response.DescribeTransactionsResponse(
            throttle_time=ZERO, transaction_states=(state,)
        )


def _coordinate(request: coordinator_request.FindCoordinatorRequest) -> Any:
    (key,) = request.coordinator_keys
    found = coordinator_response.Coordinator(
        key=key,
        node_id=BrokerId(_COORDINATOR),
        host="elsewhere",
        port=i32(1),
        error_code=ErrorCode.none,
        error_message=None,
    )
    return coordinator_response.FindCoordinatorResponse(throttle_time=ZERO, coordinators=(found,))


def read(schema: Any, data: bytes) -> Any:
    """Of a request, and nothing behind it."""
    value, size = entity_reader(schema)(data, 0)
    assert size == len(data), "a request and nothing behind it"
    return value
