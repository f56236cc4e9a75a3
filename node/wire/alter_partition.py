"""AlterPartition: the leader of a partition proposes another ISR (KIP-497, KIP-841, KIP-903)."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from node.errors import ErrorCode
from node.ids import NodeId
from node.lazy_dataclass import dataclass
from node.limits import MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error, some_uuid

ANY_EPOCH = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrMember:
    """A replica, and the broker epoch in which it was seen to be caught up; -1: in any (before
    version 3)."""

    broker: NodeId
    epoch: int = ANY_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredPartition:
    """`recovery` 1: it is recovering from an unclean election, 0: it is not, or not any more."""

    topic: UUID
    index: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[IsrMember, ...]
    recovery: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitionRequest:
    broker: NodeId
    epoch: int
    partitions: tuple[AlteredPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionResult:
    """The partition as it is now; without an error alone."""

    topic: UUID
    index: int
    error: ErrorCode = ErrorCode.NONE
    leader: NodeId = NodeId(0)
    leader_epoch: int = 0
    partition_epoch: int = 0
    isr: tuple[int, ...] = ()
    recovery: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitionResponse:
    error: ErrorCode = ErrorCode.NONE
    results: tuple[PartitionResult, ...] = ()


def _read_request(entity: Any) -> AlterPartitionRequest:
    return AlterPartitionRequest(
        broker=NodeId(entity.broker_id),
        epoch=entity.broker_epoch,
        partitions=tuple(
            AlteredPartition(
                topic=some_uuid(topic.topic_id),
                index=each.partition_index,
                leader_epoch=each.leader_epoch,
                partition_epoch=each.partition_epoch,
                isr=_read_isr(each),
                recovery=each.leader_recovery_state,
            )
            for topic in entity.topics
            for each in topic.partitions
        ),
    )


def _read_isr(partition: Any) -> tuple[IsrMember, ...]:
    """From version 3 on with broker epochs."""
    if hasattr(partition, "new_isr"):
        return tuple(IsrMember(broker=NodeId(broker)) for broker in partition.new_isr)
    return tuple(
        IsrMember(broker=NodeId(member.broker_id), epoch=member.broker_epoch)
        for member in partition.new_isr_with_epochs
    )


def _write_request(message: AlterPartitionRequest, kio: SimpleNamespace) -> Any:
    """A topic for each partition: nobody asks for them to be joined."""
    topics = tuple(
        kio.TopicData(
            topic_id=each.topic,
            partitions=(
                kio.PartitionData(
                    partition_index=each.index,
                    leader_epoch=each.leader_epoch,
                    new_isr=tuple(member.broker for member in each.isr),
                    new_isr_with_epochs=tuple(
                        kio.BrokerState(broker_id=member.broker, broker_epoch=member.epoch)
                        for member in (each.isr if kio.version >= 3 else ())
                    ),
                    leader_recovery_state=each.recovery,
                    partition_epoch=each.partition_epoch,
                ),
            ),
        )
        for each in message.partitions
    )
    return kio.AlterPartitionRequest(
        broker_id=message.broker, broker_epoch=message.epoch, topics=topics
    )


def _read_response(entity: Any) -> AlterPartitionResponse:
    return AlterPartitionResponse(
        error=our_error(entity.error_code),
        results=tuple(
            PartitionResult(
                topic=some_uuid(topic.topic_id),
                index=each.partition_index,
                error=our_error(each.error_code),
                leader=NodeId(each.leader_id),
                leader_epoch=each.leader_epoch,
                partition_epoch=each.partition_epoch,
                isr=each.isr,
                recovery=each.leader_recovery_state,
            )
            for topic in entity.topics
            for each in topic.partitions
        ),
    )


def _write_response(message: AlterPartitionResponse, kio: SimpleNamespace) -> Any:
    """Topics in the order in which they first appear, each once: Kafka's brokers look them up."""
    by_topic: dict[UUID, list[Any]] = {}
    for each in message.results:
        by_topic.setdefault(each.topic, []).append(
            kio.PartitionData(
                partition_index=each.index,
                error_code=each.error,
                leader_id=each.leader,
                leader_epoch=each.leader_epoch,
                isr=each.isr,
                leader_recovery_state=each.recovery,
                partition_epoch=each.partition_epoch,
            )
        )
    topics = tuple(
        kio.TopicData(topic_id=topic, partitions=tuple(partitions))
        for topic, partitions in by_topic.items()
    )
    return kio.AlterPartitionResponse(
        throttle_time=NO_THROTTLE, error_code=message.error, topics=topics
    )


ALTER_PARTITION = Api(
    key=56,
    name="AlterPartition",
    package="alter_partition",
    min_version=2,
    max_version=3,
    request=AlterPartitionRequest,
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
    most=MAX_PARTITION_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
