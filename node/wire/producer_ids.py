"""AllocateProducerIds: a broker asks for a block of producer ids (KIP-730)."""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.ids import NodeId
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateProducerIdsRequest:
    broker: NodeId
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateProducerIdsResponse:
    """The block has `count` ids from `first` on."""

    error: ErrorCode = ErrorCode.NONE
    first: int = 0
    count: int = 0


def _read_request(entity: Any) -> AllocateProducerIdsRequest:
    return AllocateProducerIdsRequest(broker=NodeId(entity.broker_id), epoch=entity.broker_epoch)


def _write_request(message: AllocateProducerIdsRequest, kio: SimpleNamespace) -> Any:
    return kio.AllocateProducerIdsRequest(broker_id=message.broker, broker_epoch=message.epoch)


def _read_response(entity: Any) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(
        error=our_error(entity.error_code),
        first=entity.producer_id_start,
        count=entity.producer_id_len,
    )


def _write_response(message: AllocateProducerIdsResponse, kio: SimpleNamespace) -> Any:
    return kio.AllocateProducerIdsResponse(
        throttle_time=NO_THROTTLE,
        error_code=message.error,
        producer_id_start=message.first,
        producer_id_len=message.count,
    )


ALLOCATE_PRODUCER_IDS = Api(
    key=67,
    name="AllocateProducerIds",
    package="allocate_producer_ids",
    min_version=0,
    max_version=0,
    request=AllocateProducerIdsRequest,
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
)
