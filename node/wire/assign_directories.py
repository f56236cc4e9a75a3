"""AssignReplicasToDirs: a broker says on which of its disks replicas are (KIP-858)."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from node.errors import ErrorCode
from node.ids import NodeId
from node.lazy_dataclass import dataclass
from node.limits import MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error, some_uuid


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


def _read_request(entity: Any) -> AssignDirectoriesRequest:
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


def _write_request(message: AssignDirectoriesRequest, kio: SimpleNamespace) -> Any:
    """A directory for each replica: nobody asks for them to be joined."""
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


def _read_response(entity: Any) -> AssignDirectoriesResponse:
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


def _write_response(message: AssignDirectoriesResponse, kio: SimpleNamespace) -> Any:
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
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
    most=MAX_PARTITION_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
