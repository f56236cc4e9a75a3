"""Q-VOTE-LATE: answers leave before the election state that they speak of is durable.

quorum-state lags one transition behind: each save writes what the one before should have written.
So a vote reaches the disk only when its voter learns who won, and a leader's disk does not say that
it leads.
"""

from chaos.mutations.planted import Planted
from node.effects import PersistElectionState
from node.raft.quorum import Quorum, election_state
from node.raft.roles import Role


def persist_late(self: Quorum, role: Role) -> None:
    """Save what the last transition should have saved."""
    state = election_state(role)
    if state != self._stored:
        self._outbox.emit(PersistElectionState(state=self._stored))
        self._stored = state


PLANTED = Planted(owner=Quorum, decision="persist", wrong=persist_late)
