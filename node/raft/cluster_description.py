"""DescribeCluster: who the controllers are, and where (KIP-919)."""

from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.raft.quorum import Quorum
from node.wire.describe_cluster import (
    ClusterMember,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

_BROKERS, _CONTROLLERS = 1, 2


def describe_cluster(
    request: DescribeClusterRequest,
    quorum: Quorum,
    cluster_id: str,
    advertised: tuple[Endpoint, ...],
    listener: str,
) -> DescribeClusterResponse:
    """The controllers, at their addresses by the listener that the request came in by.

    The voter set knows only the inner address of the others: without controller registrations
    (KIP-919) a client from outside is told that one, and finds the outer ones in its bootstrap
    addresses. There are no brokers to describe (endpoint type 1).
    """
    if request.endpoint_type not in (_BROKERS, _CONTROLLERS):
        return DescribeClusterResponse(
            error=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            message=f"Unsupported endpoint type {request.endpoint_type}",
            endpoint_type=request.endpoint_type,
        )
    members: list[ClusterMember] = []
    if request.endpoint_type == _CONTROLLERS:
        own = {endpoint.name: endpoint for endpoint in advertised}
        for key in quorum.voters.keys:
            known = quorum.voters.endpoint(key.id, listener)
            at = own.get(listener) if key == quorum.key else known
            if at is not None:
                members.append(ClusterMember(id=key.id, host=at.host, port=at.port))
    return DescribeClusterResponse(
        endpoint_type=request.endpoint_type,
        cluster_id=cluster_id,
        controller=quorum.leader,
        members=tuple(members),
    )
