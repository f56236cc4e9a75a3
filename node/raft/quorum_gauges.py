"""What metrics tell of the quorum at a moment, by the names that the KIPs and Kafka give them.

What only a leader can know is not there on others, as in Kafka (KIP-853).
"""

from node.ids import NO_NODE, ReplicaKey, uuid_text
from node.raft.local_log import LocalLog
from node.raft.quorum import Quorum
from node.raft.replicas import Replicas, observers
from node.raft.roles import Candidate, Follower, Leader, Prospective, Role, Unattached, voted_in
from node.raft.voter_changes import VoterChanges

Gauge = int | str


def quorum_gauges(
    quorum: Quorum, log: LocalLog, replicas: Replicas, changes: VoterChanges, mono_ns: int
) -> dict[str, Gauge]:
    """Every gauge of KIP-595, KIP-856 and KIP-853 that is true of this role."""
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
    """In Kafka's words (KafkaRaftMetrics of 4.3), which has none for a leader that resigned."""
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
