"""Epoch, leader and vote in a role. It does not use the node's own functions for this: if those
forgot a vote, this would not see it."""

from node.effects import ElectionState
from node.ids import NO_NODE, NodeId, ReplicaKey
from node.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached


def leader_told(role: Role) -> NodeId:
    match role:
        case Candidate():
            return NO_NODE
        case Unattached() | Prospective() | Follower() | Leader() | Resigned():
            return role.leader


def vote_told(role: Role) -> ReplicaKey | None:
    """The vote of the role's epoch. A leader, also a resigned one, implicitly voted for itself."""
    match role:
        case Unattached() | Prospective() | Candidate() | Follower():
            return role.voted
        case Leader() | Resigned():
            return None


def told_by(role: Role) -> ElectionState:
    return ElectionState(epoch=role.epoch, leader=leader_told(role), voted=vote_told(role))


def say_same(one: Role, other: Role) -> bool:
    """The same leader and vote, in roles of one epoch."""
    if isinstance(one, Follower) and isinstance(other, Follower):  # mostly: it heard its leader
        return (one.leader, one.voted) == (other.leader, other.voted)
    return leader_told(one) == leader_told(other) and vote_told(one) == vote_told(other)


def in_words(state: ElectionState) -> str:
    leader = "no leader" if state.leader == NO_NODE else f"leader n{state.leader}"
    vote = "no vote" if state.voted is None else f"a vote for n{state.voted.id}"
    return f"epoch {state.epoch}, {leader}, {vote}"
