"""AlterPartition and AssignReplicasToDirs: what brokers report to the controller of their replicas.

AlterPartition: the leader of a partition proposes another ISR (KIP-497, KIP-841, KIP-903).
"""

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
    """A replica, and the broker epoch in which it was caught up; -1: in any (before version 3)."""

    broker: NodeId
    epoch: int = ANY_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredPartition:
    """`recovery` 1: it is recovering from an unclean election, 0: it is not."""

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
    """The partition as it is now; with an error, nothing else."""

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


def _read_alter_partition_request(entity: Any) -> AlterPartitionRequest:
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
    """The ISR; from version 3 on it has broker epochs."""
    if hasattr(partition, "new_isr"):
        return tuple(IsrMember(broker=NodeId(broker)) for broker in partition.new_isr)
    return tuple(
        IsrMember(broker=NodeId(member.broker_id), epoch=member.broker_epoch)
        for member in partition.new_isr_with_epochs
    )


def _write_alter_partition_request(message: AlterPartitionRequest, kio: SimpleNamespace) -> Any:
    """Each partition gets a topic entry: the protocol does not ask for them to be joined."""
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


def _read_alter_partition_response(entity: Any) -> AlterPartitionResponse:
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


def _write_alter_partition_response(message: AlterPartitionResponse, kio: SimpleNamespace) -> Any:
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
    read_request=_read_alter_partition_request,
    write_request=_write_alter_partition_request,
    read_response=_read_alter_partition_response,
    write_response=_write_alter_partition_response,
    most=MAX_PARTITION_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)


# AssignReplicasToDirs: the log directories of a broker's replicas (KIP-858).


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedReplica:
    directory: UUID
    topic: UUID
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignDirectoriesRequest:
    broker: NodeId
    epoch: int
    replicas: tuple[AssignedReplica, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentResult:
    replica: AssignedReplica
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignDirectoriesResponse:
    error: ErrorCode = ErrorCode.NONE
    results: tuple[AssignmentResult, ...] = ()


def _read_assign_directories_request(entity: Any) -> AssignDirectoriesRequest:
    return AssignDirectoriesRequest(
        broker=NodeId(entity.broker_id),
        epoch=entity.broker_epoch,
        replicas=tuple(
            AssignedReplica(
                directory=some_uuid(directory.id_),
                topic=some_uuid(topic.topic_id),
                index=each.partition_index,
            )
            for directory in entity.directories
            for topic in directory.topics
            for each in topic.partitions
        ),
    )


def _write_assign_directories_request(
    message: AssignDirectoriesRequest, kio: SimpleNamespace
) -> Any:
    """Each replica gets a directory entry: the protocol does not ask for them to be joined."""
    directories = tuple(
        kio.DirectoryData(
            id_=each.directory,
            topics=(
                kio.TopicData(
                    topic_id=each.topic,
                    partitions=(kio.PartitionData(partition_index=each.index),),
                ),
            ),
        )
        for each in message.replicas
    )
    return kio.AssignReplicasToDirsRequest(
        broker_id=message.broker, broker_epoch=message.epoch, directories=directories
    )


def _read_assign_directories_response(entity: Any) -> AssignDirectoriesResponse:
    return AssignDirectoriesResponse(
        error=our_error(entity.error_code),
        results=tuple(
            AssignmentResult(
                replica=AssignedReplica(
                    directory=some_uuid(directory.id_),
                    topic=some_uuid(topic.topic_id),
                    index=each.partition_index,
                ),
                error=our_error(each.error_code),
            )
            for directory in entity.directories
            for topic in directory.topics
            for each in topic.partitions
        ),
    )


def _write_assign_directories_response(
    message: AssignDirectoriesResponse, kio: SimpleNamespace
) -> Any:
    """Directories and topics in the order in which they first appear, each once."""
    by_directory: dict[UUID, dict[UUID, list[Any]]] = {}
    for each in message.results:
        topics = by_directory.setdefault(each.replica.directory, {})
        topics.setdefault(each.replica.topic, []).append(
            kio.PartitionData(partition_index=each.replica.index, error_code=each.error)
        )
    directories = tuple(
        kio.DirectoryData(
            id_=directory,
            topics=tuple(
                kio.TopicData(topic_id=topic, partitions=tuple(partitions))
                for topic, partitions in topics.items()
            ),
        )
        for directory, topics in by_directory.items()
    )
    return kio.AssignReplicasToDirsResponse(
        throttle_time=NO_THROTTLE, error_code=message.error, directories=directories
    )


ASSIGN_DIRECTORIES = Api(
    key=73,
    name="AssignReplicasToDirs",
    package="assign_replicas_to_dirs",
    min_version=0,
    max_version=0,
    request=AssignDirectoriesRequest,
    read_request=_read_assign_directories_request,
    write_request=_write_assign_directories_request,
    read_response=_read_assign_directories_response,
    write_response=_write_assign_directories_response,
    most=MAX_PARTITION_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
