"""DescribeCluster, with its endpoint type (KIP-919)."""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.ids import NO_NODE, NodeId
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error

BROKERS, CONTROLLERS = 1, 2  # types of endpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClusterRequest:
    """`endpoint_type`: of those who are asked for; None: of those who are asked, in version 0."""

    endpoint_type: int | None
    with_fenced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMember:
    id: NodeId
    host: str
    port: int
    is_fenced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClusterResponse:
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    endpoint_type: int = CONTROLLERS
    cluster_id: str = ""
    controller: NodeId = NO_NODE
    members: tuple[ClusterMember, ...] = ()


def _read_cluster(entity: Any) -> DescribeClusterRequest:
    return DescribeClusterRequest(
        endpoint_type=getattr(entity, "endpoint_type", None),
        with_fenced=getattr(entity, "include_fenced_brokers", False),
    )


def _write_cluster(message: DescribeClusterRequest, kio: SimpleNamespace) -> Any:
    return kio.DescribeClusterRequest(
        include_cluster_authorized_operations=False,
        endpoint_type=message.endpoint_type,
        include_fenced_brokers=message.with_fenced,
    )


def _read_cluster_response(entity: Any) -> DescribeClusterResponse:
    return DescribeClusterResponse(
        error=our_error(entity.error_code),
        message=entity.error_message,
        endpoint_type=getattr(entity, "endpoint_type", CONTROLLERS),
        cluster_id=entity.cluster_id,
        controller=NodeId(entity.controller_id),
        members=tuple(
            ClusterMember(
                id=NodeId(b.broker_id),
                host=b.host,
                port=b.port,
                is_fenced=getattr(b, "is_fenced", False),
            )
            for b in entity.brokers
        ),
    )


def _write_cluster_response(message: DescribeClusterResponse, kio: SimpleNamespace) -> Any:
    members = tuple(
        kio.DescribeClusterBroker(
            broker_id=member.id,
            host=member.host,
            port=member.port,
            is_fenced=member.is_fenced,
        )
        for member in message.members
    )
    return kio.DescribeClusterResponse(
        throttle_time=NO_THROTTLE,
        error_code=message.error,
        error_message=message.message,
        endpoint_type=message.endpoint_type,
        cluster_id=message.cluster_id,
        controller_id=message.controller,
        brokers=members,
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
