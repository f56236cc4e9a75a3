"""Q-VOTE-LATE: a vote is granted before it is durable; its voter forgets it when power fails.

quorum-state has the epoch in time, but no vote for another node: that would be the second write of
the epoch, and is skipped. So the voter may vote again in that epoch, for another candidate.
"""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.effects import PersistElectionState
from node.raft.known_quorum import KnownQuorum
from node.raft.roles import Role, election_state


def persist_no_vote(self: KnownQuorum, role: Role) -> None:
    """A candidate's vote for itself is saved with the epoch of its candidacy; votes for others are
    not."""
    state = election_state(role)
    if state.voted != self.key:
        state = replace(state, voted=None)
    if state != self._stored:
        self._stored = state
        self._outbox.emit(PersistElectionState(state=state))


PLANTED = Planted(owner=KnownQuorum, decision="persist", wrong=persist_no_vote)
