"""Fetch 12-18 of `__cluster_metadata`: how a replica follows, and how it tells what it has.

What changes between the versions: topics have ids from 13 on, the replica's id moves into the
tagged ReplicaState at 15 (KIP-903), answers tell the leader's address from 16 on, the directory id
comes with 17 (KIP-853) and the follower's high watermark with 18.
"""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.ids import (
    METADATA_TOPIC,
    METADATA_TOPIC_ID,
    NO_NODE,
    Epoch,
    LogPosition,
    NodeId,
    Offset,
    ReplicaKey,
)
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
from node.wire.fetch_messages import NO_HIGH_WATERMARK as NO_HIGH_WATERMARK
from node.wire.fetch_messages import FetchRequest as FetchRequest
from node.wire.fetch_messages import FetchResponse as FetchResponse
from node.wire.packed_fetch import pack_request, pack_response, unpack_request, unpack_response

_MILLISECOND = timedelta(milliseconds=1)


def _read_request(entity: Any) -> FetchRequest:
    partition = metadata_partition(entity.topics)
    state = getattr(entity, "replica_state", entity)
    replica = NodeId(state.replica_id)
    max_wait_ms = entity.max_wait // _MILLISECOND
    if partition is None:
        return FetchRequest(
            cluster_id=entity.cluster_id,
            partition_ok=False,
            replica=ReplicaKey(replica),
            epoch=Epoch(0),
            fetch_offset=0,
            last_epoch=0,
            max_wait_ms=max_wait_ms,
            max_bytes=0,
        )
    directory = some_uuid(getattr(partition, "replica_directory_id", None))
    return FetchRequest(
        cluster_id=entity.cluster_id,
        replica=ReplicaKey(replica, directory),
        epoch=Epoch(partition.current_leader_epoch),
        fetch_offset=partition.fetch_offset,
        last_epoch=partition.last_fetched_epoch,
        max_wait_ms=max_wait_ms,
        max_bytes=min(entity.max_bytes, partition.partition_max_bytes),
        high_watermark=getattr(partition, "high_watermark", NO_HIGH_WATERMARK),
    )


def _write_request(message: FetchRequest, kio: SimpleNamespace) -> Any:
    partition = kio.FetchPartition(
        partition=0,
        current_leader_epoch=message.epoch,
        fetch_offset=message.fetch_offset,
        last_fetched_epoch=message.last_epoch,
        log_start_offset=0,
        partition_max_bytes=message.max_bytes,
        replica_directory_id=message.replica.directory,
        high_watermark=message.high_watermark,
    )
    return kio.FetchRequest(
        cluster_id=message.cluster_id,
        max_wait=timedelta(milliseconds=message.max_wait_ms),
        min_bytes=0,
        max_bytes=message.max_bytes,
        topics=(
            kio.FetchTopic(
                topic=METADATA_TOPIC,
                topic_id=METADATA_TOPIC_ID,
                partitions=(partition,),
            ),
        ),
        forgotten_topics_data=(),
        replica_id=message.replica.id,
        replica_state=kio.ReplicaState(replica_id=message.replica.id),
    )


def _read_response(entity: Any) -> FetchResponse:
    partition = metadata_partition(entity.responses)
    if partition is None:
        return FetchResponse(top_error=top_error(entity))
    diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
    return FetchResponse(
        top_error=our_error(entity.error_code),
        error=our_error(partition.error_code),
        leader=NodeId(partition.current_leader.leader_id),
        epoch=Epoch(partition.current_leader.leader_epoch),
        high_watermark=partition.high_watermark,
        log_start=Offset(partition.log_start_offset),
        diverging=_position(diverging) if diverging.epoch >= 0 else None,
        snapshot=_position(snapshot) if min(snapshot.epoch, snapshot.end_offset) >= 0 else None,
        records=partition.records or b"",
        leader_endpoint=leader_endpoint(entity, NodeId(partition.current_leader.leader_id)),
    )


def _position(epoch_end: Any) -> LogPosition:
    return LogPosition(Epoch(epoch_end.epoch), Offset(epoch_end.end_offset))


def _write_response(message: FetchResponse, kio: SimpleNamespace) -> Any:
    if message.top_error:
        return kio.FetchResponse(
            throttle_time=NO_THROTTLE, error_code=message.top_error, responses=()
        )
    topic = kio.FetchableTopicResponse(
        topic=METADATA_TOPIC,
        topic_id=METADATA_TOPIC_ID,
        partitions=(_partition(message, kio),),
    )
    return kio.FetchResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.NONE,
        responses=(topic,),
        node_endpoints=node_endpoints(message.leader, message.leader_endpoint, kio),
    )


def _partition(message: FetchResponse, kio: SimpleNamespace) -> Any:
    optional: dict[str, Any] = {}
    if message.diverging is not None:
        optional["diverging_epoch"] = kio.EpochEndOffset(
            epoch=message.diverging.epoch, end_offset=message.diverging.offset
        )
    if message.snapshot is not None:
        optional["snapshot_id"] = kio.SnapshotId(
            epoch=message.snapshot.epoch, end_offset=message.snapshot.offset
        )
    return kio.PartitionData(
        partition_index=0,
        error_code=message.error,
        high_watermark=message.high_watermark,
        log_start_offset=message.log_start,
        current_leader=kio.LeaderIdAndEpoch(leader_id=message.leader, leader_epoch=message.epoch),
        aborted_transactions=None,
        preferred_read_replica=NO_NODE,
        records=message.records,
        **optional,
    )


FETCH = Api(
    key=1,
    name="Fetch",
    package="fetch",
    min_version=12,
    max_version=18,
    request=FetchRequest,
    read_request=_read_request,
    unpack_request=unpack_request,
    write_request=_write_request,
    pack_request=pack_request,
    read_response=_read_response,
    unpack_response=unpack_response,
    write_response=_write_response,
    pack_response=pack_response,
)
