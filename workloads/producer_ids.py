"""Where a producer has its id from: any broker, or the coordinator of its transactions; which also
ends them, and tells of them.

An error in either answer is part of the result. All functions raise NotSentError or LostError.
"""

from collections.abc import Callable

from workloads.broker_connections import Brokers
from workloads.connection import Response
from workloads.wire.coordinator import find_coordinator, read_coordinator
from workloads.wire.header import Api
from workloads.wire.produce import ProducerId, init_producer_id, read_producer_id
from workloads.wire.transactions import (
    DescribedTransaction,
    Ended,
    describe_transaction,
    end_transaction,
    read_described_transaction,
    read_ended,
)


async def initialize(brokers: Brokers, node: int, transactional_id: str | None) -> ProducerId:
    """A producer id from `node`, or, for a transactional id, from the coordinator that it names."""
    body = init_producer_id(transactional_id)
    if transactional_id is None:
        return await brokers.send(node, Api.INIT_PRODUCER_ID, body, read_producer_id)
    found = await _send_to_coordinator(
        brokers, node, transactional_id, Api.INIT_PRODUCER_ID, body, read_producer_id
    )
    if isinstance(found, int):
        return ProducerId(error=found, producer_id=-1, epoch=-1)
    return found


async def end(
    brokers: Brokers, node: int, transactional_id: str, producer: ProducerId, *, commits: bool
) -> Ended:
    """By the coordinator that `node` names; it commits, or aborts."""
    body = end_transaction(transactional_id, producer.producer_id, producer.epoch, commits=commits)
    found = await _send_to_coordinator(
        brokers, node, transactional_id, Api.END_TXN, body, read_ended
    )
    return Ended(error=found, producer_id=-1, epoch=-1) if isinstance(found, int) else found


async def describe(brokers: Brokers, node: int, transactional_id: str) -> DescribedTransaction:
    """Described by the coordinator that `node` names."""
    found = await _send_to_coordinator(
        brokers,
        node,
        transactional_id,
        Api.DESCRIBE_TRANSACTIONS,
        describe_transaction(transactional_id),
        read_described_transaction,
    )
    return DescribedTransaction(error=found, state="") if isinstance(found, int) else found


async def _send_to_coordinator(
    brokers: Brokers,
    node: int,
    transactional_id: str,
    api: Api,
    body: bytes,
    read: Callable[[bytes], Response],
) -> Response | int:
    """The error code in the answer that was to name it, if there is one."""
    found = await brokers.send(
        node, Api.FIND_COORDINATOR, find_coordinator(transactional_id), read_coordinator
    )
    if found.error:
        return found.error
    return await brokers.send(found.node, api, body, read)
