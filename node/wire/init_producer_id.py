"""InitProducerId 0-5: an id of its own for an idempotent producer (KIP-98)."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerIdRequest:
    """`producer_id` and `producer_epoch` of one that goes on, both or neither (KIP-360)."""

    transactional_id: str | None = None
    producer_id: int = -1
    producer_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerIdResponse:
    error: ErrorCode = ErrorCode.NONE
    producer_id: int = -1
    producer_epoch: int = -1


def _read_request(entity: Any) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=entity.transactional_id,
        producer_id=getattr(entity, "producer_id", -1),
        producer_epoch=getattr(entity, "producer_epoch", -1),
    )


def _write_request(message: InitProducerIdRequest, kio: SimpleNamespace) -> Any:
    return kio.InitProducerIdRequest(
        transactional_id=message.transactional_id,
        transaction_timeout=timedelta(0),
        producer_id=message.producer_id,
        producer_epoch=message.producer_epoch,
    )


def _read_response(entity: Any) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error=our_error(entity.error_code),
        producer_id=entity.producer_id,
        producer_epoch=entity.producer_epoch,
    )


def _write_response(message: InitProducerIdResponse, kio: SimpleNamespace) -> Any:
    return kio.InitProducerIdResponse(
        throttle_time=NO_THROTTLE,
        error_code=message.error,
        producer_id=message.producer_id,
        producer_epoch=message.producer_epoch,
    )


INIT_PRODUCER_ID = Api(
    key=22,
    name="InitProducerId",
    package="init_producer_id",
    min_version=0,
    max_version=5,
    request=InitProducerIdRequest,
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
)
