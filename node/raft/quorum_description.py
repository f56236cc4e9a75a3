"""DescribeQuorum: the leader's view of every replica (KIP-595, KIP-853)."""

from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import Now, ReplicaKey
from node.raft.local_log import LocalLog
from node.raft.progress import NOT_MET
from node.raft.quorum import Quorum
from node.raft.replicas import Replicas, observers
from node.raft.roles import Leader
from node.wire.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse, ReplicaStatus


def describe_quorum(
    request: DescribeQuorumRequest,
    quorum: Quorum,
    log: LocalLog,
    replicas: Replicas,
    advertised: tuple[Endpoint, ...],
    now: Now,
) -> DescribeQuorumResponse:
    """Others than the leader answer 6, with the leader's id, so that a client can find it.

    `nodes` gives our own addresses by every listener, and the inner ones of the other voters; a
    leader's also those observers that could be added to them, with the addresses that are known.
    Of itself a leader says that it has all, now, and that it fetches from nobody: -1 (KIP-856,
    "DescribeQuorum"; Kafka's schema says so as well, and its code answers the time of the answer).
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
