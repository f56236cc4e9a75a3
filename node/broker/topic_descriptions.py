"""Metadata and DescribeCluster: who is up, and who leads what, as this broker's image has it."""

from collections.abc import Mapping

from node.controller.image import Image
from node.controller.image.topics import INTERNAL, Topic, is_legal
from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import NO_NODE, ZERO_UUID, NodeId
from node.wire.describe_cluster import (
    BROKERS,
    CONTROLLERS,
    ClusterMember,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from node.wire.topic_metadata import (
    DescribedPartition,
    DescribedTopic,
    MetadataRequest,
    MetadataResponse,
    SoughtTopic,
)


def live_brokers(image: Image, listener: str) -> dict[NodeId, Endpoint]:
    """Those that are not fenced, where they can be reached by that listener."""
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
    """The brokers; controllers tell of themselves (KIP-919)."""
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
    """Each topic once, however often it was asked for."""
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
    """As `MetadataRequest.getErrorResponse` does: nothing is told but the refusal."""
    refused = tuple(
        DescribedTopic(error=ErrorCode.INVALID_REQUEST, name=each.name or "", id=each.id)
        for each in request.topics or ()
    )
    return MetadataResponse(cluster_id="", controller=NO_NODE, brokers=(), topics=refused)


def _any_controller(live: Mapping[NodeId, Endpoint], me: NodeId) -> NodeId:
    """Any broker that is up: each hands on what only a controller does."""
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
