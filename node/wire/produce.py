"""InitProducerId, AllocateProducerIds and Produce: what producers send, and their ids."""

from datetime import timedelta
from struct import Struct
from typing import Annotated, Any

from node.codec.varint import write_unsigned
from node.errors import ErrorCode
from node.ids import NO_NODE, NO_OFFSET, NodeId
from node.lazy_dataclass import dataclass
from node.wire.api import NAMES, Api
from node.wire.declared import Error, Functions, Tagged
from node.wire.entities import PartitionFields, by_topic, in_topics, pack_topic

# InitProducerId 0-5: an id for an idempotent producer (KIP-98).


_RESULTS = in_topics("responses", "partition_responses")


def _write_leader(result: "ProduceResult", _version: int) -> dict[str, Any]:
    if result.leader == NO_NODE:
        return {}
    at = Tagged(leader_id=result.leader, leader_epoch=result.leader_epoch)
    return {"current_leader": at}


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerIdRequest:
    """`producer_id` and `producer_epoch` of one that continues, both or neither (KIP-360)."""

    transactional_id: str | None = None
    producer_id: int = -1
    producer_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class InitProducerIdResponse:
    error: Error = ErrorCode.NONE
    producer_id: int = -1
    producer_epoch: int = -1


INIT_PRODUCER_ID = Api(
    22,
    "InitProducerId",
    0,
    5,
    InitProducerIdRequest,
    InitProducerIdResponse,
    always=(("transaction_timeout", timedelta(0)),),
)


# AllocateProducerIds: a broker asks for a block of producer ids (KIP-730).


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateProducerIdsRequest:
    broker: Annotated[NodeId, "broker_id"]
    epoch: Annotated[int, "broker_epoch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocateProducerIdsResponse:
    """The block has `count` ids from `first` on."""

    error: Error = ErrorCode.NONE
    first: Annotated[int, "producer_id_start"] = 0
    count: Annotated[int, "producer_id_len"] = 0


ALLOCATE_PRODUCER_IDS = Api(
    67, "AllocateProducerIds", 0, 0, AllocateProducerIdsRequest, AllocateProducerIdsResponse
)


_NO_TIME = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducedPartition:
    partition: PartitionFields
    records: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceRequest:
    """`acks`: 0 no answer, 1 when the leader has the records, -1 when all of the ISR have."""

    acks: int
    timeout_ms: Annotated[int, "timeout"]
    partitions: Annotated[tuple[ProducedPartition, ...], in_topics("topic_data", "partition_data")]
    transactional_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceResult:
    """`base_offset` is that of the first record. The leader, if it is another broker. `append_ms`:
    the timestamp given to the records; -1: they keep their own.
    """

    partition: PartitionFields
    error: Error = ErrorCode.NONE
    base_offset: int = NO_OFFSET
    log_start: Annotated[int, "log_start_offset"] = NO_OFFSET
    leader: Annotated[NodeId, Functions(write=_write_leader)] = NO_NODE
    leader_epoch: Annotated[int, Functions()] = -1
    append_ms: Annotated[int, "log_append_time"] = _NO_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceResponse:
    results: Annotated[tuple[ProduceResult, ...], _RESULTS]


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
    0, "Produce", 3, 13, ProduceRequest, ProduceResponse, pack_response=_pack_response, size=NAMES
)
