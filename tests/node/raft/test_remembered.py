"""What a quorum remembers between steps is what it would find if it looked again."""

import pytest

from node.ids import Now
from node.raft import replicas
from node.raft.known_quorum import Addresses
from node.raft.raft import Raft
from node.raft.roles import Leader
from tests.node.raft.test_membership import run_seed


def hold_remembered(raft: Raft) -> None:
    quorum, role = raft.quorum, raft.quorum.role
    assert quorum.others == quorum.voters.others(quorum.key)
    assert quorum.is_voter == (quorum.key in quorum.voters)
    assert quorum.leader_at() == Addresses(raft.log, quorum.listener).of_leader(role)
    if isinstance(role, Leader):
        assert raft.reads.confirmed() == raft.reads._by_majority(quorum.voters)
        ends = raft._replicas.voter_ends(role)
        found = replicas.advance(role.high_watermark, ends, role.epoch_start)
        assert role.high_watermark == found, "it was not looked at when an end moved"


@pytest.mark.parametrize(("seed", "listed"), [(0, False), (1, True), (2, False)])
def test_while_voters_change(seed: int, listed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    poll, held = Raft.poll, 0

    def polled(self: Raft, now: Now) -> None:
        nonlocal held
        poll(self, now)
        hold_remembered(self)
        held += 1

    monkeypatch.setattr(Raft, "poll", polled)
    run_seed(seed, listed=listed)
    assert held > 1000, "too little was looked at to mean anything"
