"""Q-SAME-EPOCH: a restarted leader leads on in its stored epoch (KAFKA-10527)."""

from chaos.mutations.planted import Planted
from node.ids import Epoch, Offset
from node.raft import deadlines
from node.raft.progress import Progress
from node.raft.quorum import Quorum
from node.raft.roles import Leader, Role


def stay_leader(self: Quorum, epoch: Epoch, mono_ns: int) -> Role:
    """Unflushed records are gone, and their offsets are given away again in the same epoch."""
    others = self.voters.others(self.key)
    return Leader(
        epoch=epoch,
        leader=self.key.id,
        epoch_start=Offset(0),
        granting=(),
        replicas={key: Progress() for key in others},
        begin_due_ns={key.id: mono_ns for key in others},
        check_quorum_deadline_ns=mono_ns + deadlines.check_quorum_timeout_ns(self.timeouts),
    )


PLANTED = Planted(owner=Quorum, decision="restarted_leader", wrong=stay_leader)
