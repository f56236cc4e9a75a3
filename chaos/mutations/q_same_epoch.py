"""Q-SAME-EPOCH: a restarted leader continues to lead in its stored epoch (KAFKA-10527)."""

from chaos.mutations.planted import Planted
from node.effects import ElectionState
from node.ids import Offset
from node.raft import deadlines
from node.raft.quorum import Quorum
from node.raft.roles import Leader, Role

_as_it_should = Quorum.initial_role


def stay_leader(self: Quorum, stored: ElectionState, mono_ns: int) -> Role:
    """Unflushed records are lost, and their offsets are used again in the same epoch."""
    if stored.leader != self.key.id:
        return _as_it_should(self, stored, mono_ns)
    return Leader(
        epoch=stored.epoch,
        leader=self.key.id,
        epoch_start=Offset(0),
        granting=(),
        replicas={},
        begin_due_ns={},
        check_quorum_deadline_ns=mono_ns + deadlines.check_quorum_timeout_ns(self.timeouts),
    )


PLANTED = Planted(owner=Quorum, decision="initial_role", wrong=stay_leader)
