"""DescribeCluster: who the controllers are, and where (KIP-919)."""

from collections.abc import Mapping

from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import NodeId
from node.raft.quorum import Quorum
from node.wire.describe_cluster import (
    BROKERS,
    CONTROLLERS,
    ClusterMember,
    DescribeClusterRequest,
    DescribeClusterResponse,
)


def describe_cluster(
    request: DescribeClusterRequest,
    quorum: Quorum,
    cluster_id: str,
    advertised: tuple[Endpoint, ...],
    listener: str,
    registered: Mapping[NodeId, tuple[Endpoint, ...]],
) -> DescribeClusterResponse:
    """The controllers, at their addresses by the listener that the request came in by.

    Of the others that is known from their registrations (KIP-919). The voter set knows only their
    inner addresses: of one that did not register a client from outside is told that one, and finds
    the outer one in its bootstrap addresses. Brokers describe themselves (endpoint type 1).
    """
    requested = CONTROLLERS if request.endpoint_type is None else request.endpoint_type
    if requested not in (BROKERS, CONTROLLERS):
        return DescribeClusterResponse(
            error=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            message=f"Unsupported endpoint type {requested}",
            endpoint_type=requested,
        )
    members: list[ClusterMember] = []
    if requested == CONTROLLERS:
        for node in quorum.voters.by_id:
            is_own = node == quorum.key.id
            said = advertised if is_own else registered.get(node, ())
            at = next((endpoint for endpoint in said if endpoint.name == listener), None)
            if at is None and not is_own:
                at = quorum.voters.endpoint(node, listener)
            if at is not None:
                members.append(ClusterMember(id=node, host=at.host, port=at.port))
    return DescribeClusterResponse(
        endpoint_type=requested,
        cluster_id=cluster_id,
        controller=quorum.leader,
        members=tuple(members),
    )
