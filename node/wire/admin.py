"""ApiVersions, DescribeCluster (KIP-919 for its endpoint type) and CreateTopics."""

from types import ModuleType
from typing import Any

from node.ids import NodeId
from node.messages import (
    ApiRange,
    ApiVersionsRequest,
    ApiVersionsResponse,
    ClusterMember,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    NewTopic,
    TopicResult,
)
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, build, kio_error, our_error

# What every controller here can do: name, lowest and highest level.
SUPPORTED_FEATURES = (("kraft.version", 0, 1), ("metadata.version", 7, 30))
FIRST_VERSION_WITH_ZERO_FEATURES = 4
CONTROLLERS = 2

# --- ApiVersions ---


def _read_versions(_entity: Any) -> ApiVersionsRequest:
    return ApiVersionsRequest()


def _write_versions(_message: ApiVersionsRequest, kio: ModuleType) -> Any:
    return build(
        kio.ApiVersionsRequest, client_software_name="kraft-chaos", client_software_version="1"
    )


def _read_versions_response(entity: Any) -> ApiVersionsResponse:
    apis = tuple(
        ApiRange(api_key=a.api_key, min_version=a.min_version, max_version=a.max_version)
        for a in entity.api_keys
    )
    return ApiVersionsResponse(error=our_error(entity.error_code), apis=apis)


def _write_versions_response(message: ApiVersionsResponse, kio: ModuleType) -> Any:
    apis = tuple(
        kio.ApiVersion(api_key=a.api_key, min_version=a.min_version, max_version=a.max_version)
        for a in message.apis
    )
    return build(
        kio.ApiVersionsResponse,
        error_code=kio_error(message.error),
        api_keys=apis,
        throttle_time=NO_THROTTLE,
        supported_features=_supported_features(kio),
    )


def _supported_features(kio: ModuleType) -> tuple[Any, ...]:
    """Clients before version 4 fail on a feature whose lowest level is 0: they are not told."""
    if not hasattr(kio, "SupportedFeatureKey"):
        return ()
    all_of_them = kio.ApiVersionsResponse.__version__ >= FIRST_VERSION_WITH_ZERO_FEATURES
    return tuple(
        kio.SupportedFeatureKey(name=name, min_version=low, max_version=high)
        for name, low, high in SUPPORTED_FEATURES
        if low > 0 or all_of_them
    )


# --- DescribeCluster ---


def _read_cluster(entity: Any) -> DescribeClusterRequest:
    """Version 0 does not say what is asked for: it is older than controllers that answer."""
    return DescribeClusterRequest(endpoint_type=getattr(entity, "endpoint_type", CONTROLLERS))


def _write_cluster(message: DescribeClusterRequest, kio: ModuleType) -> Any:
    return build(
        kio.DescribeClusterRequest,
        include_cluster_authorized_operations=False,
        endpoint_type=message.endpoint_type,
        include_fenced_brokers=False,
    )


def _read_cluster_response(entity: Any) -> DescribeClusterResponse:
    return DescribeClusterResponse(
        error=our_error(entity.error_code),
        message=entity.error_message,
        endpoint_type=getattr(entity, "endpoint_type", CONTROLLERS),
        cluster_id=entity.cluster_id,
        controller=NodeId(entity.controller_id),
        members=tuple(
            ClusterMember(id=NodeId(b.broker_id), host=b.host, port=b.port) for b in entity.brokers
        ),
    )


def _write_cluster_response(message: DescribeClusterResponse, kio: ModuleType) -> Any:
    members = tuple(
        build(
            kio.DescribeClusterBroker,
            broker_id=member.id,
            host=member.host,
            port=member.port,
            is_fenced=False,
        )
        for member in message.members
    )
    return build(
        kio.DescribeClusterResponse,
        throttle_time=NO_THROTTLE,
        error_code=kio_error(message.error),
        error_message=message.message,
        endpoint_type=message.endpoint_type,
        cluster_id=message.cluster_id,
        controller_id=message.controller,
        brokers=members,
    )


# --- CreateTopics ---


def _read_topics(entity: Any) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=tuple(NewTopic(name=topic.name) for topic in entity.topics))


def _write_topics(message: CreateTopicsRequest, kio: ModuleType) -> Any:
    """One partition, one replica each: more is not asked for before there are brokers."""
    topics = tuple(
        kio.CreatableTopic(
            name=topic.name, num_partitions=1, replication_factor=1, assignments=(), configs=()
        )
        for topic in message.topics
    )
    return kio.CreateTopicsRequest(topics=topics)


def _read_topics_response(entity: Any) -> CreateTopicsResponse:
    results = tuple(
        TopicResult(
            name=topic.name,
            error=our_error(topic.error_code),
            message=getattr(topic, "error_message", None),
        )
        for topic in entity.topics
    )
    return CreateTopicsResponse(results=results)


def _write_topics_response(message: CreateTopicsResponse, kio: ModuleType) -> Any:
    results = tuple(
        build(
            kio.CreatableTopicResult,
            name=result.name,
            topic_id=None,
            error_code=kio_error(result.error),
            error_message=result.message,
            configs=None,
        )
        for result in message.results
    )
    return kio.CreateTopicsResponse(throttle_time=NO_THROTTLE, topics=results)


API_VERSIONS = Api(
    key=18,
    name="ApiVersions",
    package="api_versions",
    min_version=0,
    max_version=4,
    request=ApiVersionsRequest,
    read_request=_read_versions,
    write_request=_write_versions,
    read_response=_read_versions_response,
    write_response=_write_versions_response,
)
DESCRIBE_CLUSTER = Api(
    key=60,
    name="DescribeCluster",
    package="describe_cluster",
    min_version=0,
    max_version=2,
    request=DescribeClusterRequest,
    read_request=_read_cluster,
    write_request=_write_cluster,
    read_response=_read_cluster_response,
    write_response=_write_cluster_response,
)
CREATE_TOPICS = Api(
    key=19,
    name="CreateTopics",
    package="create_topics",
    min_version=2,
    max_version=7,
    request=CreateTopicsRequest,
    read_request=_read_topics,
    write_request=_write_topics,
    read_response=_read_topics_response,
    write_response=_write_topics_response,
)
