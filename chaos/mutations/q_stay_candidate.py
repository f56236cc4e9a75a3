"""Q-STAY-CANDIDATE: a leader without a following majority becomes a candidate at once, and again
after each unanswered election (KIP-595, before check-quorum and KIP-996)."""

from chaos.mutations.planted import Planted
from node.raft import deadlines
from node.raft.deadlines import Move, Standing
from node.raft.quorum import Quorum
from node.raft.roles import Candidate, Leader, Prospective, Role

_due, _to_candidate = deadlines.due_move, Quorum.to_candidate


def stand_on(role: Role, standing: Standing, elapsed_ns: int) -> Move | None:
    """It raises the epoch as long as it is cut off, and comes back with the highest."""
    move = _due(role, standing, elapsed_ns)
    is_alone = isinstance(role, Leader) and move is Move.RESIGN and standing.can_lead
    is_unheard = isinstance(role, Candidate) and move is Move.ASK
    return Move.STAND if is_alone or is_unheard else move


def from_any_role(self: Quorum, mono_ns: int) -> None:
    if isinstance(self.role, Leader | Candidate):
        self.role = Prospective(epoch=self.epoch, election_deadline_ns=mono_ns)
    _to_candidate(self, mono_ns)


PLANTED = Planted(
    owner=deadlines,
    decision="due_move",
    wrong=stand_on,
    other=Planted(owner=Quorum, decision="to_candidate", wrong=from_any_role),
)
