"""Q-VOTE-UNFLUSHED: a candidate advertises unflushed records, and gets its vote again without them.

It asks for votes with its log end, which a power cut undoes. When it is a candidate of the same
epoch again, its voters grant their votes again, whatever its log has become. Either alone does no
harm: the shorter log gets no vote, or no log becomes shorter than advertised. Kafka as shipped does
both, and is safe by its order: it appends and flushes in one step.
"""

from chaos.mutations.planted import Planted
from node.ids import ReplicaKey
from node.raft import votes
from node.raft.roles import Prospective, Role, Unattached
from node.raft.votes import Votes

_grants_vote = votes.grants_vote


def ask_unflushed(_self: Votes) -> bool:
    """With a log that is partly only in the page cache."""
    return True


def grant_again(role: Role, candidate: ReplicaKey, *, up_to_date: bool) -> bool:
    """A repeated vote is granted without another look at the log."""
    if isinstance(role, Unattached | Prospective) and role.voted == candidate:
        return True
    return _grants_vote(role, candidate, up_to_date=up_to_date)


PLANTED = Planted(
    owner=Votes,
    decision="may_send",
    wrong=ask_unflushed,
    other=Planted(owner=votes, decision="grants_vote", wrong=grant_again),
)
