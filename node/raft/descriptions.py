"""Descriptions of the quorum: DescribeCluster of controllers (KIP-919), DescribeQuorum, metrics."""

from collections.abc import Mapping

from node.errors import ErrorCode
from node.ids import NO_NODE, Endpoint, NodeId, Now, ReplicaKey, uuid_text
from node.raft.local_log import LocalLog
from node.raft.quorum import Quorum
from node.raft.replicas import Replicas, observers
from node.raft.roles import (
    NOT_MET,
    Candidate,
    Follower,
    Leader,
    Prospective,
    Role,
    Unattached,
    voted_in,
)
from node.raft.voter_changes import VoterChanges
from node.wire.raft_voters import DescribeQuorumRequest, DescribeQuorumResponse, ReplicaStatus
from node.wire.topic_metadata import (
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
    """The controllers, at their addresses on the listener that the request came in by.

    The other controllers' addresses are known from their registrations (KIP-919). The voter set has
    only their inner addresses: for a controller that did not register, an outside client gets the
    inner one, and finds the outer one in its bootstrap addresses. Brokers describe themselves
    (endpoint type 1).
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


# DescribeQuorum: the leader's view of every replica (KIP-595, KIP-853).


def describe_quorum(
    request: DescribeQuorumRequest,
    quorum: Quorum,
    log: LocalLog,
    replicas: Replicas,
    advertised: tuple[Endpoint, ...],
    now: Now,
) -> DescribeQuorumResponse:
    """A node other than the leader answers 6 with the leader's id, so that a client can find it.

    `nodes` gives our own addresses on every listener, and the inner ones of the other voters; a
    leader adds the observers that could become voters, with the addresses that are known. In its
    own row a leader is caught up as of now, and its last fetch is -1, as it fetches from no node
    (KIP-856, "DescribeQuorum"; Kafka's schema says so as well, but its code returns the time of the
    response).
    """
    if not request.partition_ok:
        return DescribeQuorumResponse(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    by_id = quorum.voters.by_id
    nodes = tuple(
        (node, advertised if node == quorum.key.id else quorum.voters.endpoints_of(key))
        for node, key in by_id.items()
    )
    leader = quorum.role
    if not isinstance(leader, Leader):
        return DescribeQuorumResponse(
            error=ErrorCode.NOT_LEADER_OR_FOLLOWER,
            leader=quorum.leader,
            epoch=quorum.epoch,
            nodes=nodes,
        )
    known = leader.high_watermark
    could_vote = {key.id: at for key, at in replicas.could_vote(leader, now.mono_ns).items()}
    return DescribeQuorumResponse(
        leader=leader.leader,
        epoch=leader.epoch,
        high_watermark=-1 if known is None else known,
        voters=tuple(_status(key, leader, quorum, log, now) for key in quorum.voters.keys),
        observers=tuple(
            _status(key, leader, quorum, log, now)
            for key in observers(leader, quorum.voters, now.mono_ns)
        ),
        nodes=(*nodes, *((id_, at) for id_, at in could_vote.items() if id_ not in by_id)),
    )


def _status(
    key: ReplicaKey, leader: Leader, quorum: Quorum, log: LocalLog, now: Now
) -> ReplicaStatus:
    if key == quorum.key:
        return ReplicaStatus(
            key=key,
            log_end=log.end.offset,
            last_fetch_ms=-1,
            last_caught_up_ms=_milliseconds(now.wall_ns),
        )
    progress = leader.replicas.get(key, NOT_MET)
    return ReplicaStatus(
        key=key,
        log_end=-1 if progress.end is None else progress.end,
        last_fetch_ms=_milliseconds(progress.last_fetch_wall_ns),
        last_caught_up_ms=_milliseconds(progress.last_caught_up_wall_ns),
    )


def _milliseconds(wall_ns: int) -> int:
    return -1 if wall_ns < 0 else wall_ns // 1_000_000


# The quorum's metrics, by the names that the KIPs and Kafka give them.
#
# Metrics that only a leader can know are absent on other nodes, as in Kafka (KIP-853).


Gauge = int | str


def quorum_gauges(
    quorum: Quorum, log: LocalLog, replicas: Replicas, changes: VoterChanges, mono_ns: int
) -> dict[str, Gauge]:
    """Every gauge of KIP-595, KIP-856 and KIP-853 that applies to this role."""
    voters, known = quorum.voters, quorum.high_watermark
    vote = _vote(quorum)
    gauges: dict[str, Gauge] = {
        "current-leader": quorum.leader,
        "current-epoch": quorum.epoch,
        "current-vote": vote.id,
        "current-vote-directory-id": uuid_text(vote.directory),
        "current-state": _state(quorum.role, is_voter=quorum.is_voter),
        "high-watermark": -1 if known is None else known,
        "log-end-offset": log.end.offset,
        "log-end-epoch": log.end.epoch,
        "number-of-voters": len(voters),
        "number-unknown-voter-connections": sum(
            voters.endpoint(key.id) is None for key in voters.others(quorum.key)
        ),
    }
    if isinstance(quorum.role, Leader):
        gauges |= _of_leader(quorum.role, quorum, replicas, changes, mono_ns)
    return gauges


def _of_leader(
    leader: Leader, quorum: Quorum, replicas: Replicas, changes: VoterChanges, mono_ns: int
) -> dict[str, Gauge]:
    known = observers(leader, quorum.voters, mono_ns)
    pending_add, pending_remove = changes.waiting()
    return {
        "number-of-observers": len(known),
        "number-of-possible-voters": len(replicas.could_vote(leader, mono_ns)),
        "uncommitted-voter-change": int(changes.is_pending()),
        "pending-add-voter": int(pending_add),
        "pending-remove-voter": int(pending_remove),
    }


def _vote(quorum: Quorum) -> ReplicaKey:
    """A leader has voted for itself."""
    if isinstance(quorum.role, Leader):
        return quorum.key
    return voted_in(quorum.role) or ReplicaKey(NO_NODE)


def _state(role: Role, *, is_voter: bool) -> str:
    """Kafka's name of the state (KafkaRaftMetrics of 4.3), which has none for a resigned leader."""
    match role:
        case Leader():
            return "leader"
        case Candidate():
            return "candidate"
        case Prospective():
            return "prospective" if role.voted is None else "prospective-voted"
        case Unattached():
            return "unattached" if role.voted is None else "unattached-voted"
        case Follower():
            return "follower" if is_voter else "observer"
        case _:
            return "unattached"
