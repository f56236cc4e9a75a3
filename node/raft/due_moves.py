"""Takes the transitions that are due, and writes a new leader's control records.

`deadlines` says which transitions are due, `quorum` makes them.
"""

from collections.abc import Sequence
from typing import assert_never

from node.ids import Epoch, Now
from node.raft import deadlines
from node.raft.begin_end_epoch import Epochs, preferred_candidates
from node.raft.deadlines import Move
from node.raft.local_log import LocalLog
from node.raft.quorum import Quorum
from node.raft.replicas import ReadIndex, Replicas
from node.raft.roles import Leader, Resigned
from node.raft.voter_changes import VoterChanges
from node.raft.voter_set import VoterSet
from node.records.control import ControlRecord, LeaderChange, encode_control

# Control records that a leader writes of itself and of the voters.


def begin_epoch(log: LocalLog, leader: Leader, voters: VoterSet, now: Now) -> None:
    """LeaderChange is the first batch of an epoch: nothing older is committed without it."""
    change = LeaderChange(
        leader=leader.leader,
        voters=log.voters.form.told(voters.keys),
        granting_voters=log.voters.form.told(leader.granting),
    )
    _append(log, [change, *log.voters.first_records(())], leader, now)


def name_voters(log: LocalLog, leader: Leader, replicas: Replicas, now: Now) -> None:
    """The first leader names the voters, once all have fetched (KIP-856, "Bootstrapping")."""
    if not log.voters.is_named:
        records = log.voters.first_records(replicas.met(leader))
        if records:
            _append(log, records, leader, now)


def _append(log: LocalLog, records: Sequence[ControlRecord], leader: Leader, now: Now) -> None:
    encoded = [encode_control(record) for record in records]
    log.append_as_leader(encoded, leader.epoch, now, control=True)


class DueMoves:
    def __init__(
        self,
        quorum: Quorum,
        log: LocalLog,
        reads: ReadIndex,
        epochs: Epochs,
        changes: VoterChanges,
    ) -> None:
        self._quorum = quorum
        self._log = log
        self._reads = reads
        self._epochs = epochs
        self._changes = changes

    def take(self, now: Now, elapsed_ns: int) -> bool:
        """Take one due transition, if any. All input from before `elapsed_ns` was handled."""
        quorum, role = self._quorum, self._quorum.role
        if isinstance(role, Resigned) and self._epochs.is_shutting_down:
            return False
        if isinstance(role, Leader) and self._changes.is_removed(role):
            self.resign(now)
            return True
        move = deadlines.due_move(role, quorum, elapsed_ns)
        if move is not None:
            self._make(move, now)
        return move is not None

    def resign(self, now: Now) -> None:
        role = self._quorum.role
        assert isinstance(role, Leader), f"{role} cannot resign"
        self._quorum.to_resigned(preferred_candidates(role, self._quorum), now.mono_ns)

    def _make(self, move: Move, now: Now) -> None:
        quorum, mono_ns = self._quorum, now.mono_ns
        match move:
            case Move.ASK:
                quorum.to_prospective(mono_ns)
            case Move.STAND:
                quorum.to_candidate(mono_ns)
            case Move.GIVE_UP:
                quorum.after_prospective(mono_ns)
            case Move.LEAD:
                self._lead(now)
            case Move.FIND_LEADER:
                quorum.to_unattached(quorum.epoch, mono_ns)
            case Move.RESIGN:
                self.resign(now)
            case Move.NEXT_EPOCH:
                quorum.to_unattached(Epoch(quorum.epoch + 1), mono_ns)
            case _:
                assert_never(move)

    def _lead(self, now: Now) -> None:
        self._quorum.to_leader(now.mono_ns)
        self._reads.restart()
        leader = self._quorum.role
        assert isinstance(leader, Leader)
        begin_epoch(self._log, leader, self._quorum.voters, now)
