"""The random runs can fail: each planted bug breaks some invariant within a few seeds."""

from collections.abc import Callable

import pytest

from chaos.bugs.elections import stay_leader
from node.ids import Offset
from node.raft import deadlines
from node.raft.fetch_follower import FollowerFetch
from node.raft.quorum import Quorum
from node.raft.replicas import ReadIndex, Replicas
from node.raft.roles import Leader, Progress
from node.raft.voter_set import VoterSet
from node.raft.votes import Votes
from tests.node.raft.test_random_runs import run_seed
from tests.support.quorum_members import Mischief
from tests.support.watch import Violation

SEEDS = range(20)


class ForgetsElections(Mischief):
    """quorum-state never reaches the disk."""

    def persists(self) -> bool:
        return False


def count_unflushed(self: Replicas, leader: Leader) -> list[Offset]:
    """The leader counts what it has only written."""
    voters, me = self._quorum.voters, self._quorum.key
    told = [leader.replicas.get(key, Progress()) for key in voters.others(me)]
    return [*(progress.end or Offset(0) for progress in told), self._log.end.offset]


def fetch_unflushed(_self: FollowerFetch) -> bool:
    """Q-NO-FSYNC: the next Fetch goes out before the last answer is durable (KAFKA-10533)."""
    return True


def confirm_all(self: ReadIndex) -> int:
    """R-STALE-READ: reads are answered without asking whether we still lead."""
    return self.issued


def never_resign(_role: Leader, _voters: VoterSet, _elapsed_ns: int) -> bool:
    """Q-ZOMBIE: a leader that nobody fetches from stays in office (KAFKA-15489)."""
    return False


def believe_any_log(_self: Votes, _request: object) -> bool:
    """Votes go to candidates whose log is older."""
    return True


def commit_at_epoch_start(candidate: Offset, epoch_start: Offset) -> bool:
    """Q-HWM-EPOCH: off by one, so that LeaderChange need not be committed (KAFKA-12619)."""
    return candidate >= epoch_start


def is_caught(mischief: Mischief | None = None, *, first: int = 0) -> bool:
    """Within so many seeds; `first` is one that is known to do it, for the sake of time."""
    for seed in (first, *SEEDS):
        try:
            run_seed(seed, mischief, pause_ms=30)
        except Violation:
            return True
    return False


def test_forgotten_elections_are_caught() -> None:
    assert is_caught(ForgetsElections())


@pytest.mark.parametrize(
    ("owner", "decision", "bug", "first"),
    [
        (Quorum, "initial_role", stay_leader, 0),
        (Replicas, "voter_ends", count_unflushed, 3),
        (FollowerFetch, "may_fetch", fetch_unflushed, 0),
        (Votes, "is_up_to_date", believe_any_log, 3),
    ],
)
def test_a_wrong_decision_is_caught(
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    decision: str,
    bug: Callable[..., object],
    first: int,
) -> None:
    monkeypatch.setattr(owner, decision, bug)
    assert is_caught(first=first)


def test_stale_reads_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check-quorum hides most of them: without it, a cut-off leader has all the time it wants."""
    monkeypatch.setattr(ReadIndex, "confirmed", confirm_all)
    monkeypatch.setattr(deadlines, "has_lost_quorum", never_resign)
    assert is_caught(first=6)


@pytest.mark.slow
def test_the_read_index_alone_keeps_a_leader_that_never_resigns_from_stale_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deadlines, "has_lost_quorum", never_resign)
    for seed in range(5):
        run_seed(seed)


@pytest.mark.parametrize(
    ("rule", "bug"),
    [
        ("node.raft.replicas.covers_leader_change", commit_at_epoch_start),
    ],
)
def test_a_wrong_rule_is_caught(
    monkeypatch: pytest.MonkeyPatch, rule: str, bug: Callable[..., bool]
) -> None:
    monkeypatch.setattr(rule, bug)
    assert is_caught()
