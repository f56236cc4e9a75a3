"""Planted bugs in elections, votes and changes of leadership of the quorum (Q)."""

import random
from collections.abc import Iterable
from dataclasses import replace

from chaos.bugs.planted import Planted
from node.config import QuorumTimeouts
from node.controller.controller import Controller
from node.controller.image import Image
from node.effects import ElectionState, PersistElectionState
from node.ids import MS, ConnectionId, Epoch, LogPosition, Now, Offset, ReplicaKey
from node.raft import deadlines, fetch_follower, votes
from node.raft.client import RaftClient
from node.raft.deadlines import Move, Standing
from node.raft.fetch_follower import Fetched, sound_batches
from node.raft.fetch_leader import LeaderFetch, Parked
from node.raft.known_quorum import KnownQuorum
from node.raft.quorum import Quorum
from node.raft.roles import (
    LAST_EPOCH,
    Candidate,
    Follower,
    Leader,
    Prospective,
    Role,
    Unattached,
    election_state,
)
from node.raft.voter_changes import VoterChanges
from node.raft.voter_set import VoterSet
from node.raft.votes import Votes
from node.records.metadata import MetadataRecord
from node.wire.fetch import FetchResponse

# Q-CRASH-REMOVED: the active controller dies when its own removal is committed (KAFKA-17608).


_as_it_should_q_crash_removed = VoterChanges.is_removed


def not_expected(self: VoterChanges, leader: Leader) -> bool:
    """The client that asked for it never gets an answer."""
    is_removed = _as_it_should_q_crash_removed(self, leader)
    assert not is_removed, "a leader is a voter"
    return is_removed


Q_CRASH_REMOVED = Planted(owner=VoterChanges, decision="is_removed", wrong=not_expected)


# Q-DISRUPT: pre-vote is skipped; a voter that was cut off comes back with a higher epoch and
# deposes a leader that all other voters hear (KIP-996).


def stand_at_once(_role: Prospective, _voters: VoterSet) -> bool:
    """Without asking whether any voter would vote for it."""
    return True


Q_DISRUPT = Planted(owner=deadlines, decision="may_stand", wrong=stand_at_once)


# Q-EARLY-ACTIVE: the controller becomes active before it has replayed the log to its end
# (KAFKA-17333).


def whatever_is_missing(_self: RaftClient, _leader: Leader) -> bool:
    """It decides from an image that lacks records of its log."""
    return True


Q_EARLY_ACTIVE = Planted(owner=RaftClient, decision="has_all_committed", wrong=whatever_is_missing)


# Q-EPOCH-MIX: a follower appends batches of an epoch above the one that it fetched in; they come
# from a leader with a reader that raced with its own truncation (KAFKA-18723).
#
# Our node has no second thread that could race, so both halves are planted: the reader, and the
# follower that does not look. Either alone does no harm.


_as_it_should_q_epoch_mix = LeaderFetch.response_to_parked


def read_while_it_changes(
    self: LeaderFetch, connection: ConnectionId, parked: Parked, mono_ns: int
) -> FetchResponse | None:
    """New records at the awaited offset are sent, though they are another leader's."""
    quorum, request, view = self._quorum, parked.request, self._log.view
    if isinstance(quorum.role, Leader) and quorum.epoch == request.epoch:
        return _as_it_should_q_epoch_mix(self, connection, parked, mono_ns)
    if view.end().offset <= request.fetch_offset and mono_ns < parked.deadline_ns:
        return None
    offset = Offset(min(request.fetch_offset, view.end().offset))
    return FetchResponse(
        leader=quorum.key.id,
        epoch=request.epoch,
        log_start=view.start(),
        records=view.read(offset, request.max_bytes),
    )


def take_any_epoch(data: bytes, end: LogPosition, _epoch: Epoch) -> Fetched:
    """Any valid batch in order is accepted."""
    return sound_batches(data, end, LAST_EPOCH)


Q_EPOCH_MIX = Planted(
    owner=LeaderFetch,
    decision="response_to_parked",
    wrong=read_while_it_changes,
    other=Planted(owner=fetch_follower, decision="sound_batches", wrong=take_any_epoch),
)


# Q-LIVELOCK: every election time-out is the same; candidates collide again and again
# (KAFKA-18345).


def wait_without_chance(timeouts: QuorumTimeouts, _rng: random.Random) -> int:
    """Candidates that collided time out together again."""
    return timeouts.election_ms * MS


Q_LIVELOCK = Planted(owner=deadlines, decision="election_timeout_ns", wrong=wait_without_chance)


# Q-PREVOTE-GREEDY: a follower that hears its leader grants pre-votes all the same; a voter that
# comes back from a bad link, or has one to the leader only, deposes a healthy leader (KIP-996).
#
# The candidate's log is ignored: an active controller writes twice a second, so a voter that was
# cut off is behind, and would be refused for that alone.


_as_it_should_q_prevote_greedy = votes.grants_pre_vote


def grant_to_anybody(role: Role, *, up_to_date: bool) -> bool:
    """A follower grants any pre-vote."""
    return isinstance(role, Follower) or _as_it_should_q_prevote_greedy(role, up_to_date=up_to_date)


Q_PREVOTE_GREEDY = Planted(owner=votes, decision="grants_pre_vote", wrong=grant_to_anybody)


# Q-SAME-EPOCH: a restarted leader continues to lead in its stored epoch (KAFKA-10527).


_as_it_should_q_same_epoch = Quorum.initial_role


def stay_leader(self: Quorum, stored: ElectionState, mono_ns: int) -> Role:
    """Unflushed records are lost, and their offsets are used again in the same epoch."""
    if stored.leader != self.key.id:
        return _as_it_should_q_same_epoch(self, stored, mono_ns)
    return Leader(
        epoch=stored.epoch,
        leader=self.key.id,
        epoch_start=Offset(0),
        granting=(),
        replicas={},
        begin_due_ns={},
        check_quorum_deadline_ns=mono_ns + deadlines.check_quorum_timeout_ns(self.timeouts),
    )


Q_SAME_EPOCH = Planted(owner=Quorum, decision="initial_role", wrong=stay_leader)


# Q-STALE-REVERT: a deposed controller keeps the effects of writes that were never committed
# (KAFKA-20839).


_as_it_should_q_stale_revert = Controller.on_leadership


def keep_the_claims_image(self: Controller, epoch: Epoch | None, now: Now) -> None:
    """When it leads again, its readers see values that are in no log."""
    ended = self._claim
    _as_it_should_q_stale_revert(self, epoch, now)
    if ended is not None:
        self.image = _replayed(ended.image.records())


def _replayed(records: Iterable[MetadataRecord]) -> Image:
    image = Image()
    for record in records:
        image.replay(record)
    return image


Q_STALE_REVERT = Planted(owner=Controller, decision="on_leadership", wrong=keep_the_claims_image)


# Q-STAY-CANDIDATE: a leader without a following majority becomes a candidate at once, and again
# after each unanswered election (KIP-595, before check-quorum and KIP-996).


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


Q_STAY_CANDIDATE = Planted(
    owner=deadlines,
    decision="due_move",
    wrong=stand_on,
    other=Planted(owner=Quorum, decision="to_candidate", wrong=from_any_role),
)


# Q-VOTE-LATE: a vote is granted before it is durable; its voter forgets it when power fails.
#
# quorum-state has the epoch in time, but no vote for another node: that would be the second write
# of the epoch, and is skipped. So the voter may vote again in that epoch, for another candidate.


def persist_no_vote(self: KnownQuorum, role: Role) -> None:
    """A candidate's vote for itself is saved with the epoch of its candidacy; votes for others are
    not."""
    state = election_state(role)
    if state.voted != self.key:
        state = replace(state, voted=None)
    if state != self._stored:
        self._stored = state
        self._outbox.emit(PersistElectionState(state=state))


Q_VOTE_LATE = Planted(owner=KnownQuorum, decision="persist", wrong=persist_no_vote)


# Q-VOTE-UNFLUSHED: a candidate advertises unflushed records, and gets its vote again without them.
#
# It asks for votes with its log end, which a power cut undoes. When it is a candidate of the same
# epoch again, its voters grant their votes again, whatever its log has become. Either alone does no
# harm: the shorter log gets no vote, or no log becomes shorter than advertised. Kafka as shipped
# does both, and is safe by its order: it appends and flushes in one step.


_grants_vote = votes.grants_vote


def ask_unflushed(_self: Votes) -> bool:
    """With a log that is partly only in the page cache."""
    return True


def grant_again(role: Role, candidate: ReplicaKey, *, up_to_date: bool) -> bool:
    """A repeated vote is granted without another look at the log."""
    if isinstance(role, Unattached | Prospective) and role.voted == candidate:
        return True
    return _grants_vote(role, candidate, up_to_date=up_to_date)


Q_VOTE_UNFLUSHED = Planted(
    owner=Votes,
    decision="may_send",
    wrong=ask_unflushed,
    other=Planted(owner=votes, decision="grants_vote", wrong=grant_again),
)


# Q-ZOMBIE: no check-quorum; a leader that is cut off from the others never resigns
# (KAFKA-15489).


def never_lose_the_quorum(_role: Leader, _voters: VoterSet, _elapsed_ns: int) -> bool:
    """However long no voter fetches from it."""
    return False


Q_ZOMBIE = Planted(owner=deadlines, decision="has_lost_quorum", wrong=never_lose_the_quorum)
