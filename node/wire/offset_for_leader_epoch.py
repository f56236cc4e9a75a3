"""OffsetForLeaderEpoch 2-4: where an epoch ends in the leader's log, for consumers (KIP-320)."""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.ids import NodeId
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error
from node.wire.topic_partitions import TopicPartition, by_topic, read_partition

_NOT_SAID = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtEpoch:
    """The end of `sought`; `epoch` is the leader's as whoever asks knows it."""

    partition: TopicPartition
    epoch: int = _NOT_SAID
    sought: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochRequest:
    replica: NodeId = NodeId(-1)
    partitions: tuple[SoughtEpoch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEnd:
    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    epoch: int = _NOT_SAID
    end: int = _NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochResponse:
    partitions: tuple[EpochEnd, ...]


def _read_request(entity: Any) -> OffsetForLeaderEpochRequest:
    return OffsetForLeaderEpochRequest(
        replica=NodeId(getattr(entity, "replica_id", _NOT_SAID)),
        partitions=tuple(
            SoughtEpoch(
                partition=read_partition(topic, each.partition),
                epoch=each.current_leader_epoch,
                sought=each.leader_epoch,
            )
            for topic in entity.topics
            for each in topic.partitions
        ),
    )


def _write_request(message: OffsetForLeaderEpochRequest, kio: SimpleNamespace) -> Any:
    return kio.OffsetForLeaderEpochRequest(
        replica_id=message.replica,
        topics=tuple(
            kio.OffsetForLeaderTopic(
                topic=at.name,
                partitions=tuple(
                    kio.OffsetForLeaderPartition(
                        partition=each.partition.index,
                        current_leader_epoch=each.epoch,
                        leader_epoch=each.sought,
                    )
                    for each in partitions
                ),
            )
            for at, partitions in by_topic(message.partitions, lambda each: each.partition)
        ),
    )


def _read_response(entity: Any) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        partitions=tuple(
            EpochEnd(
                partition=read_partition(topic, each.partition),
                error=our_error(each.error_code),
                epoch=each.leader_epoch,
                end=each.end_offset,
            )
            for topic in entity.topics
            for each in topic.partitions
        )
    )


def _write_response(message: OffsetForLeaderEpochResponse, kio: SimpleNamespace) -> Any:
    return kio.OffsetForLeaderEpochResponse(
        throttle_time=NO_THROTTLE,
        topics=tuple(
            kio.OffsetForLeaderTopicResult(
                topic=at.name,
                partitions=tuple(
                    kio.EpochEndOffset(
                        error_code=each.error,
                        partition=each.partition.index,
                        leader_epoch=each.epoch,
                        end_offset=each.end,
                    )
                    for each in partitions
                ),
            )
            for at, partitions in by_topic(message.partitions, lambda each: each.partition)
        ),
    )


OFFSET_FOR_LEADER_EPOCH = Api(
    key=23,
    name="OffsetForLeaderEpoch",
    package="offset_for_leader_epoch",
    min_version=2,
    max_version=4,
    request=OffsetForLeaderEpochRequest,
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
