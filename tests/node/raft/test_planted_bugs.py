"""The random runs can fail: each planted bug is seen by some invariant within a few seeds."""

from collections.abc import Callable
from types import MethodType

import pytest

from node.core import Core
from node.ids import Epoch, Offset
from node.raft import high_watermark, timers
from node.raft.fetch_leader import LeaderFetch
from node.raft.quorum import Quorum
from node.raft.roles import Leader, Role
from tests.node.raft.test_random_runs import run_seed
from tests.support.quorum import Mischief

SEEDS = range(12)


class PersistsNothing(Mischief):
    def persists(self) -> bool:
        return False


class StaysLeader(Mischief):
    """Q-SAME-EPOCH: resumes leadership in the stored epoch (KAFKA-10527)."""

    def corrupt(self, core: Core) -> None:
        quorum = core.raft.quorum

        def restarted_leader(self: Quorum, epoch: Epoch, mono_ns: int) -> Role:
            others = self.voters.others(self.key)
            return Leader(
                epoch=epoch,
                leader=self.key.id,
                epoch_start=core.raft.log.end.offset,
                granting=(),
                replicas=dict.fromkeys(others, high_watermark_progress()),
                begin_due_ns={key.id: mono_ns for key in others},
                check_quorum_deadline_ns=mono_ns + timers.check_quorum_timeout_ns(self.timeouts),
            )

        quorum.restarted_leader = MethodType(restarted_leader, quorum)  # type: ignore[method-assign]  # the planted bug


class ServesReadsUnconfirmed(Mischief):
    """R-STALE-READ: every ticket counts as confirmed."""

    def corrupt(self, core: Core) -> None:
        reads = core.raft.reads
        reads.confirmed = lambda: reads._issued  # type: ignore[method-assign]  # the planted bug
