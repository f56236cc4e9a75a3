"""InitProducerId, AllocateProducerIds and Produce: what producers send, and their ids."""

from datetime import timedelta
from struct import Struct
from types import SimpleNamespace
from typing import Any

from node.codec.varint import write_unsigned
from node.errors import ErrorCode
from node.ids import NO_NODE, NO_OFFSET, NodeId
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import (
    NO_THROTTLE,
    TopicPartition,
    by_topic,
    our_error,
    pack_topic,
    read_partition,
)

# InitProducerId 0-5: an id for an idempotent producer (KIP-98).


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerIdRequest:
    """`producer_id` and `producer_epoch` of one that continues, both or neither (KIP-360)."""

    transactional_id: str | None = None
    producer_id: int = -1
    producer_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerIdResponse:
    error: ErrorCode = ErrorCode.NONE
    producer_id: int = -1
    producer_epoch: int = -1


def _read_init_producer_id_request(entity: Any) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=entity.transactional_id,
        producer_id=getattr(entity, "producer_id", -1),
        producer_epoch=getattr(entity, "producer_epoch", -1),
    )


def _write_init_producer_id_request(message: InitProducerIdRequest, kio: SimpleNamespace) -> Any:
    return kio.InitProducerIdRequest(
        transactional_id=message.transactional_id,
        transaction_timeout=timedelta(0),
        producer_id=message.producer_id,
        producer_epoch=message.producer_epoch,
    )


def _read_init_producer_id_response(entity: Any) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error=our_error(entity.error_code),
        producer_id=entity.producer_id,
        producer_epoch=entity.producer_epoch,
    )


def _write_init_producer_id_response(message: InitProducerIdResponse, kio: SimpleNamespace) -> Any:
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
    read_request=_read_init_producer_id_request,
    write_request=_write_init_producer_id_request,
    read_response=_read_init_producer_id_response,
    write_response=_write_init_producer_id_response,
)


# AllocateProducerIds: a broker asks for a block of producer ids (KIP-730).


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


def _read_producer_ids_request(entity: Any) -> AllocateProducerIdsRequest:
    return AllocateProducerIdsRequest(broker=NodeId(entity.broker_id), epoch=entity.broker_epoch)


def _write_producer_ids_request(message: AllocateProducerIdsRequest, kio: SimpleNamespace) -> Any:
    return kio.AllocateProducerIdsRequest(broker_id=message.broker, broker_epoch=message.epoch)


def _read_producer_ids_response(entity: Any) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(
        error=our_error(entity.error_code),
        first=entity.producer_id_start,
        count=entity.producer_id_len,
    )


def _write_producer_ids_response(message: AllocateProducerIdsResponse, kio: SimpleNamespace) -> Any:
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
    read_request=_read_producer_ids_request,
    write_request=_write_producer_ids_request,
    read_response=_read_producer_ids_response,
    write_response=_write_producer_ids_response,
)


_NO_TIME = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducedPartition:
    partition: TopicPartition
    records: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceRequest:
    """`acks`: 0 no answer, 1 when the leader has the records, -1 when all of the ISR have."""

    acks: int
    timeout_ms: int
    partitions: tuple[ProducedPartition, ...]
    transactional_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceResult:
    """`base_offset` is that of the first record. The leader, if it is another broker. `append_ms`:
    the timestamp given to the records; -1: they keep their own.
    """

    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    base_offset: int = NO_OFFSET
    log_start: int = NO_OFFSET
    leader: NodeId = NO_NODE
    leader_epoch: int = -1
    append_ms: int = _NO_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceResponse:
    results: tuple[ProduceResult, ...]


def _read_produce_request(entity: Any) -> ProduceRequest:
    return ProduceRequest(
        acks=entity.acks,
        timeout_ms=entity.timeout // timedelta(milliseconds=1),
        transactional_id=entity.transactional_id,
        partitions=tuple(
            ProducedPartition(
                partition=read_partition(topic, each.index), records=each.records or b""
            )
            for topic in entity.topic_data
            for each in topic.partition_data
        ),
    )


def _write_produce_request(message: ProduceRequest, kio: SimpleNamespace) -> Any:
    return kio.ProduceRequest(
        transactional_id=message.transactional_id,
        acks=message.acks,
        timeout=timedelta(milliseconds=message.timeout_ms),
        topic_data=tuple(
            kio.TopicProduceData(
                name=at.name,
                topic_id=at.id,
                partition_data=tuple(
                    kio.PartitionProduceData(index=each.partition.index, records=each.records)
                    for each in partitions
                ),
            )
            for at, partitions in by_topic(message.partitions, lambda each: each.partition)
        ),
    )


def _read_produce_response(entity: Any) -> ProduceResponse:
    return ProduceResponse(
        results=tuple(
            ProduceResult(
                partition=read_partition(topic, each.index),
                error=our_error(each.error_code),
                base_offset=each.base_offset,
                log_start=getattr(each, "log_start_offset", NO_OFFSET),
                append_ms=_NO_TIME if each.log_append_time is None else each.log_append_time,
            )
            for topic in entity.responses
            for each in topic.partition_responses
        )
    )


def _write_produce_response(message: ProduceResponse, kio: SimpleNamespace) -> Any:
    return kio.ProduceResponse(
        responses=tuple(
            kio.TopicProduceResponse(
                name=at.name,
                topic_id=at.id,
                partition_responses=tuple(_result(each, kio) for each in results),
            )
            for at, results in by_topic(message.results, lambda each: each.partition)
        ),
        throttle_time=NO_THROTTLE,
    )


def _result(result: ProduceResult, kio: SimpleNamespace) -> Any:
    optional = {}
    if result.leader != NO_NODE and kio.version >= 10:
        optional["current_leader"] = kio.LeaderIdAndEpoch(
            leader_id=result.leader, leader_epoch=result.leader_epoch
        )
    return kio.PartitionProduceResponse(
        index=result.partition.index,
        error_code=result.error,
        base_offset=result.base_offset,
        log_append_time=result.append_ms,
        log_start_offset=result.log_start,
        record_errors=(),
        **optional,
    )


def _pack_response(message: ProduceResponse, version: int) -> bytes | None:
    """Packs any number of partitions that the broker asked leads."""
    if version < _FIRST_FLEXIBLE:
        return None
    topics = by_topic(message.results, lambda each: each.partition)
    out = bytearray()
    write_unsigned(out, len(topics) + 1)
    for at, results in topics:
        pack_topic(out, at, len(results), by_id=version >= _FIRST_WITH_IDS)
        for each in results:
            if each.leader != NO_NODE:
                return None
            row = (
                each.partition.index,
                each.error,
                each.base_offset,
                each.append_ms,
                each.log_start,
            )
            out += _RESULT.pack(*row, 1, 0, 0)  # no record errors, no error message
        out.append(0)
    return bytes(out + _NOT_THROTTLED)


# The format of `_pack_response`, with sizes and tags (KIP-482).
_RESULT = Struct(">ihqqqBBB")
_NOT_THROTTLED = bytes(5)
_FIRST_FLEXIBLE, _FIRST_WITH_IDS = 9, 13  # KIP-482, KIP-516


PRODUCE = Api(
    key=0,
    name="Produce",
    package="produce",
    min_version=3,
    max_version=13,
    request=ProduceRequest,
    read_request=_read_produce_request,
    write_request=_write_produce_request,
    read_response=_read_produce_response,
    write_response=_write_produce_response,
    pack_response=_pack_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
