"""FetchSnapshot 0-1 of `__cluster_metadata` (KIP-630): a snapshot's bytes, by position.

Version 1 adds the fetching replica's directory, and the leader's address.
"""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.ids import (
    METADATA_TOPIC,
    NO_NODE,
    Endpoint,
    Epoch,
    LogPosition,
    NodeId,
    Offset,
    ReplicaKey,
)
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import (
    NO_THROTTLE,
    leader_endpoint,
    metadata_partition,
    node_endpoints,
    our_error,
    some_uuid,
    top_error,
)

_NOTHING = LogPosition(Epoch(0), Offset(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotRequest:
    """The bytes of `snapshot` from `position` on; at most `max_bytes`."""

    cluster_id: str | None
    partition_ok: bool = True
    replica: ReplicaKey
    epoch: Epoch
    snapshot: LogPosition
    position: int
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSnapshotResponse:
    """`data` may end anywhere. `size` is that of the whole snapshot."""

    top_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE
    leader: NodeId = NO_NODE
    epoch: Epoch = Epoch(0)
    snapshot: LogPosition = _NOTHING
    size: int = 0
    position: int = 0
    data: bytes = b""
    leader_endpoint: Endpoint | None = None


def _read_request(entity: Any) -> FetchSnapshotRequest:
    partition = metadata_partition(entity.topics)
    replica = NodeId(entity.replica_id)
    if partition is None:
        return FetchSnapshotRequest(
            cluster_id=entity.cluster_id,
            partition_ok=False,
            replica=ReplicaKey(replica),
            epoch=Epoch(0),
            snapshot=_NOTHING,
            position=0,
            max_bytes=0,
        )
    directory = some_uuid(getattr(partition, "replica_directory_id", None))
    return FetchSnapshotRequest(
        cluster_id=entity.cluster_id,
        replica=ReplicaKey(replica, directory),
        epoch=Epoch(partition.current_leader_epoch),
        snapshot=_id(partition),
        position=partition.position,
        max_bytes=entity.max_bytes,
    )


def _write_request(message: FetchSnapshotRequest, kio: SimpleNamespace) -> Any:
    partition = kio.PartitionSnapshot(
        partition=0,
        current_leader_epoch=message.epoch,
        snapshot_id=_kio_id(message.snapshot, kio),
        position=message.position,
        replica_directory_id=message.replica.directory,
    )
    return kio.FetchSnapshotRequest(
        cluster_id=message.cluster_id,
        replica_id=message.replica.id,
        max_bytes=message.max_bytes,
        topics=(kio.TopicSnapshot(name=METADATA_TOPIC, partitions=(partition,)),),
    )


def _read_response(entity: Any) -> FetchSnapshotResponse:
    partition = metadata_partition(entity.topics)
    if partition is None:
        return FetchSnapshotResponse(top_error=top_error(entity))
    leader = NodeId(partition.current_leader.leader_id)
    return FetchSnapshotResponse(
        top_error=our_error(entity.error_code),
        error=our_error(partition.error_code),
        leader=leader,
        epoch=Epoch(partition.current_leader.leader_epoch),
        snapshot=_id(partition),
        size=partition.size,
        position=partition.position,
        data=partition.unaligned_records or b"",
        leader_endpoint=leader_endpoint(entity, leader),
    )


def _write_response(message: FetchSnapshotResponse, kio: SimpleNamespace) -> Any:
    if message.top_error:
        return kio.FetchSnapshotResponse(
            throttle_time=NO_THROTTLE, error_code=message.top_error, topics=()
        )
    partition = kio.PartitionSnapshot(
        index=0,
        error_code=message.error,
        snapshot_id=_kio_id(message.snapshot, kio),
        current_leader=kio.LeaderIdAndEpoch(leader_id=message.leader, leader_epoch=message.epoch),
        size=message.size,
        position=message.position,
        unaligned_records=message.data,
    )
    return kio.FetchSnapshotResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.NONE,
        topics=(kio.TopicSnapshot(name=METADATA_TOPIC, partitions=(partition,)),),
        node_endpoints=node_endpoints(message.leader, message.leader_endpoint, kio),
    )


def _id(partition: Any) -> LogPosition:
    found = partition.snapshot_id
    return LogPosition(Epoch(found.epoch), Offset(found.end_offset))


def _kio_id(id_: LogPosition, kio: SimpleNamespace) -> Any:
    return kio.SnapshotId(end_offset=id_.offset, epoch=id_.epoch)


FETCH_SNAPSHOT = Api(
    key=59,
    name="FetchSnapshot",
    package="fetch_snapshot",
    min_version=0,
    max_version=1,
    request=FetchSnapshotRequest,
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
)
