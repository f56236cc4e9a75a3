"""AllocateProducerIds: each block of producer ids is given away once (KIP-730)."""

from node.controller.broker_registration import at_epoch
from node.controller.decision import Decision, Situation
from node.records.metadata import ProducerIdsRecord
from node.wire.producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

_BLOCK = 1000


def allocate(situation: Situation, request: AllocateProducerIdsRequest) -> Decision:
    """Raises RefusedError."""
    at_epoch(situation.image, request.broker, request.epoch)
    first = situation.image.next_producer_id or 0
    record = ProducerIdsRecord(
        broker_id=request.broker, broker_epoch=request.epoch, next_producer_id=first + _BLOCK
    )
    return Decision(
        records=[record], response=AllocateProducerIdsResponse(first=first, count=_BLOCK)
    )
