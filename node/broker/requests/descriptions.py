"""What a broker says about partitions, brokers and log directories.

This section is DescribeLogDirs: the size of each replica's log, by directory.
"""

from collections.abc import Iterable, Mapping, Set
from uuid import UUID

from node.broker.replicas.manager import HostedPartition, ReplicaManager
from node.controller.image import Image, Partition
from node.controller.image.topics import INTERNAL, Topic, is_legal
from node.errors import ErrorCode
from node.ids import NO_NODE, ZERO_UUID, Endpoint, NodeId
from node.wire.entities import TopicPartition
from node.wire.topic_metadata import (
    BROKERS,
    CONTROLLERS,
    ClusterMember,
    Cursor,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribedLog,
    DescribedLogDir,
    DescribedPartition,
    DescribedTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
    MetadataResponse,
    PartitionDescription,
    SoughtTopic,
    TopicDescription,
)


def describe_log_dirs(
    replicas: ReplicaManager, paths: Mapping[UUID, str], request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    """Every directory is listed, also one without any requested replica (`ReplicaManager`)."""
    logs: dict[UUID, list[DescribedLog]] = {directory: [] for directory in paths}
    for held in _sought_logs(replicas, request):
        logs[held.directory].append(_described_directory(replicas, held))
    return DescribeLogDirsResponse(
        results=tuple(
            DescribedLogDir(path=path, logs=tuple(logs[directory]))
            for directory, path in paths.items()
        )
    )


def _sought_logs(
    replicas: ReplicaManager, request: DescribeLogDirsRequest
) -> Iterable[HostedPartition]:
    if request.partitions is None:
        return replicas.all()
    sought = {(each.name, each.index) for each in request.partitions}
    return (held for held in replicas.all() if (held.name, held.key[1]) in sought)


def _described_directory(replicas: ReplicaManager, held: HostedPartition) -> DescribedLog:
    log, replica = replicas.log(held), held.replica
    return DescribedLog(
        partition=TopicPartition(name=held.name, index=held.key[1]),
        size=0 if log is None else sum(each.size for each in log.segments),
        lag=max(0, replica.high_watermark - replica.end),
    )


# DescribeTopicPartitions: partitions as in this broker's image, a page at a time, with the replicas
# that may lead although they left the ISR (KIP-966; Kafka's
# `DescribeTopicPartitionsRequestHandler`).


def describe_partitions(
    image: Image, request: DescribeTopicPartitionsRequest, live: Set[NodeId], most: int
) -> DescribeTopicPartitionsResponse:
    """One page of `most` partitions or fewer, in the order of topic names; `live` are the brokers
    that can be reached."""
    cursor = request.cursor
    if cursor is not None and (cursor.index < 0 or _is_elsewhere(cursor, request)):
        return DescribeTopicPartitionsResponse(
            topics=tuple(
                TopicDescription(name=name, error=ErrorCode.INVALID_REQUEST)
                for name in request.topics
            )
        )
    names = sorted(set(request.topics)) or [topic.name for topic in image.topics.all()]
    start = cursor or Cursor(topic="", index=0)
    limit = max(1, min(request.limit, most))
    return _page(image, [name for name in names if name >= start.topic], start, limit, live)


def _is_elsewhere(cursor: Cursor, request: DescribeTopicPartitionsRequest) -> bool:
    """A request that names topics continues at one of those."""
    return bool(request.topics) and cursor.topic not in request.topics


def _page(
    image: Image, names: Iterable[str], start: Cursor, limit: int, live: Set[NodeId]
) -> DescribeTopicPartitionsResponse:
    topics: list[TopicDescription] = []
    for name in names:
        topic = image.topics.named(name)
        first = start.index if name == start.topic else 0
        if limit == 0:
            return _continued(topics, name, 0)
        if topic is None:
            topics.append(_unknown(name))
            continue
        end = min(topic.partitions, first + limit)
        described = tuple(
            _described_partition(image, topic, index, live) for index in range(first, end)
        )
        topics.append(
            TopicDescription(
                name=name, id=topic.id, is_internal=name in INTERNAL, partitions=described
            )
        )
        if end < topic.partitions:
            return _continued(topics, name, end)
        limit -= len(described)
    return DescribeTopicPartitionsResponse(topics=tuple(topics))


def _continued(
    topics: list[TopicDescription], name: str, index: int
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=tuple(topics), next=Cursor(topic=name, index=index)
    )


def _unknown(name: str) -> TopicDescription:
    is_name = is_legal(name)
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_name else ErrorCode.INVALID_TOPIC_EXCEPTION
    return TopicDescription(name=name, error=error, is_internal=name in INTERNAL)


def _described_partition(
    image: Image, topic: Topic, index: int, live: Set[NodeId]
) -> PartitionDescription:
    found: Partition | None = image.topics.partition(topic.id, index)
    assert found is not None, f"{topic.name}-{index} is missing"
    leader = NodeId(found.leader)
    return PartitionDescription(
        index=index,
        leader=leader if leader in live else NO_NODE,
        leader_epoch=found.leader_epoch,
        replicas=found.replicas,
        isr=found.isr,
        elr=found.elr,
        last_known_elr=found.last_known_elr,
        offline=tuple(each for each in found.replicas if each not in live),
    )


# Metadata and DescribeCluster: the live brokers and the leaders, as in this broker's image.


def live_brokers(image: Image, listener: str) -> dict[NodeId, Endpoint]:
    """The unfenced brokers, with their endpoints on that listener."""
    return {
        NodeId(broker.broker_id): Endpoint(name=at.name, host=at.host, port=at.port)
        for broker in image.brokers.all()
        if not broker.fenced
        for at in broker.end_points
        if at.name == listener
    }


def describe_cluster(
    image: Image, request: DescribeClusterRequest, cluster_id: str, me: NodeId, listener: str
) -> DescribeClusterResponse:
    """The brokers; for controllers, clients ask a controller (KIP-919)."""
    if request.endpoint_type not in (None, BROKERS):
        is_known = request.endpoint_type == CONTROLLERS
        mismatched, unsupported = (
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
        )
        return DescribeClusterResponse(
            error=mismatched if is_known else unsupported,
            message=f"This is a broker, and endpoint type {request.endpoint_type} was asked for.",
            endpoint_type=request.endpoint_type,
        )
    live = live_brokers(image, listener)
    return DescribeClusterResponse(
        endpoint_type=BROKERS,
        cluster_id=cluster_id,
        controller=_any_controller(live, me),
        members=tuple(
            ClusterMember(
                id=NodeId(broker.broker_id), host=at.host, port=at.port, is_fenced=broker.fenced
            )
            for broker in image.brokers.all()
            if request.with_fenced or not broker.fenced
            for at in broker.end_points
            if at.name == listener
        ),
    )


def describe(
    image: Image, request: MetadataRequest, cluster_id: str, me: NodeId, listener: str
) -> MetadataResponse:
    """Each topic once, however often the request names it."""
    if request.is_too_early:
        return _too_early(request)
    brokers = live_brokers(image, listener)
    if request.topics is None:
        topics = [_described(image, topic, brokers) for topic in image.topics.all()]
    else:
        topics = [_sought(image, sought, brokers) for sought in dict.fromkeys(request.topics)]
    return MetadataResponse(
        cluster_id=cluster_id,
        controller=_any_controller(brokers, me),
        brokers=tuple(brokers.items()),
        topics=tuple(topics),
    )


def _too_early(request: MetadataRequest) -> MetadataResponse:
    """As in `MetadataRequest.getErrorResponse`, only the error is returned."""
    refused = tuple(
        DescribedTopic(error=ErrorCode.INVALID_REQUEST, name=each.name or "", id=each.id)
        for each in request.topics or ()
    )
    return MetadataResponse(cluster_id="", controller=NO_NODE, brokers=(), topics=refused)


def _any_controller(live: Mapping[NodeId, Endpoint], me: NodeId) -> NodeId:
    """Any live broker: each forwards what only a controller does."""
    return me if me in live else next(iter(live), NO_NODE)


def _sought(
    image: Image, sought: SoughtTopic, brokers: Mapping[NodeId, Endpoint]
) -> DescribedTopic:
    by_id = sought.id != ZERO_UUID
    found = image.topics.find(sought.id) if by_id else image.topics.named(sought.name or "")
    if found is None:
        error = ErrorCode.UNKNOWN_TOPIC_ID
        if not by_id:
            is_name = is_legal(sought.name or "")
            unknown, illegal = (
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                ErrorCode.INVALID_TOPIC_EXCEPTION,
            )
            error = unknown if is_name else illegal
        return DescribedTopic(error=error, name=sought.name, id=sought.id)
    return _described(image, found, brokers)


def _described(image: Image, topic: Topic, brokers: Mapping[NodeId, Endpoint]) -> DescribedTopic:
    return DescribedTopic(
        name=topic.name,
        id=topic.id,
        is_internal=topic.name in INTERNAL,
        partitions=tuple(
            _partition(image, topic, index, brokers) for index in range(topic.partitions)
        ),
    )


def _partition(
    image: Image, topic: Topic, index: int, brokers: Mapping[NodeId, Endpoint]
) -> DescribedPartition:
    found = image.topics.partition(topic.id, index)
    assert found is not None, f"{topic.name}-{index} is missing"
    leads = found.has_leader and found.leader in brokers
    return DescribedPartition(
        error=ErrorCode.NONE if leads else ErrorCode.LEADER_NOT_AVAILABLE,
        index=index,
        leader=NodeId(found.leader) if leads else NO_NODE,
        leader_epoch=found.leader_epoch,
        replicas=found.replicas,
        isr=found.isr,
        offline=tuple(each for each in found.replicas if each not in brokers),
    )
