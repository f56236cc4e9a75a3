"""What fake brokers answer of transactions, as values of kio: one of them coordinates all."""

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
from kio.schema.types import BrokerId, ProducerId, TransactionalId
from kio.serial import entity_reader
from kio.static.primitive import TZAware, i16, i32, i32Timedelta

from tests.support.fake_log import Ending

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
        self.describes = True
        self._producers = 0

    def answer_of_transactions(self, node: int, api: int, body: bytes) -> Any:
        match api:
            case 10:
                return _coordinate(read(coordinator_request.FindCoordinatorRequest, body))
            case 22:
                return self._initialize(node, read(init_request.InitProducerIdRequest, body))
            case 26:
                return self._end(node, read(end_request.EndTxnRequest, body))
            case 65:
                return self._describe(read(describe_request.DescribeTransactionsRequest, body))
        raise AssertionError(f"API {api} is not of transactions")

    def _initialize(self, node: int, request: init_request.InitProducerIdRequest) -> Any:
        owner = request.transactional_id
        wrong = owner is not None and node != _COORDINATOR
        if owner is not None and not wrong and not self.forgets_transactions:
            self.open_transactions.pop(owner, None)
        self._producers += 1
        return init_response.InitProducerIdResponse(
            throttle_time=ZERO,
            error_code=ErrorCode.not_coordinator if wrong else ErrorCode.none,
            producer_id=ProducerId(self._producers),
            producer_epoch=i16(0),
        )

    def _end(self, node: int, request: end_request.EndTxnRequest) -> Any:
        assert (node, request.committed) == (_COORDINATOR, True)
        if self.on_commit is ErrorCode.none:
            del self.open_transactions[request.transactional_id]
            self.states[request.transactional_id] = "PrepareCommit"
        return end_response.EndTxnResponse(
            throttle_time=ZERO,
            error_code=self.on_commit,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
        )

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
