"""Where a producer has its id from: any broker, or the coordinator of its transactions."""

from workloads.broker_connections import Brokers
from workloads.wire.coordinator import find_coordinator, read_coordinator
from workloads.wire.header import Api
from workloads.wire.produce import ProducerId, init_producer_id, read_producer_id


async def initialize(brokers: Brokers, node: int, transactional_id: str | None) -> ProducerId:
    """A producer id from `node`, or, of a transactional id, from the coordinator that it names.

    An error of either answer is one of the result. Raises NotSentError or LostError.
    """
    if transactional_id is None:
        return await _ask(brokers, node, None)
    found = await brokers.ask(
        node, Api.FIND_COORDINATOR, find_coordinator(transactional_id), read_coordinator
    )
    if found.error:
        return ProducerId(error=found.error, producer_id=-1, epoch=-1)
    return await _ask(brokers, found.node, transactional_id)


async def _ask(brokers: Brokers, node: int, transactional_id: str | None) -> ProducerId:
    body = init_producer_id(transactional_id)
    return await brokers.ask(node, Api.INIT_PRODUCER_ID, body, read_producer_id)
