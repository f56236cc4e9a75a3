"""A node's read-only view of its quorum, the addresses of other nodes, and candidacy.

`quorum.py` changes this state.
"""

import random
from collections.abc import Sequence

from node.config import QuorumTimeouts
from node.effects import ElectionState, PersistElectionState
from node.ids import (
    NEVER_NS,
    NO_NODE,
    Endpoint,
    Epoch,
    LogPosition,
    NodeId,
    Offset,
    ReplicaKey,
    uuid_text,
)
from node.outbox import Outbox
from node.raft import deadlines
from node.raft.local_log import LocalLog
from node.raft.roles import (
    STATE_NAMES,
    Follower,
    Leader,
    Prospective,
    Role,
    Unattached,
    election_state,
    voted_in,
)
from node.raft.voter_set import VoterSet

# Addresses of other nodes: by the voter set, and the leader's as the leader announced it.


_Told = tuple[VoterSet | None, NodeId, Endpoint | None]


class Addresses:
    """By the newest voters of the log. `listener`: the one by which voters reach one another."""

    def __init__(self, log: LocalLog, listener: str) -> None:
        self._log = log
        self._listener = listener
        # Cached address, for these voters, this leader and its announced address.
        self._leader_at: tuple[_Told, Endpoint | None] = ((None, NO_NODE, None), None)

    def by_set(self, node: NodeId) -> Endpoint | None:
        return self._log.voters.newest.endpoint(node, self._listener)

    def of(self, node: NodeId, role: Role) -> Endpoint | None:
        """The leader that we follow by its announced address, other nodes by the voter set. A
        leader may have moved before it was elected, and the set does not say so."""
        told = _told_by_leader(role)
        return told if told is not None and role.leader == node else self.by_set(node)

    def of_leader(self, role: Role) -> Endpoint | None:
        """As responses carry it: the listener has no name there."""
        by: _Told = self._log.voters.newest, role.leader, _told_by_leader(role)
        if self._leader_at[0] != by:
            at = self.of(role.leader, role)
            known = None if at is None else Endpoint(name="", host=at.host, port=at.port)
            self._leader_at = by, known
        return self._leader_at[1]


def _told_by_leader(role: Role) -> Endpoint | None:
    return role.leader_at if isinstance(role, Follower | Prospective) else None


# Which replica may stand for election, and how long it waits before it does.


class Candidacy:
    """The candidacy of one replica, by the voters that its log names."""

    def __init__(
        self, key: ReplicaKey, log: LocalLog, timeouts: QuorumTimeouts, rng: random.Random
    ) -> None:
        self._key = key
        self._log = log
        self._timeouts = timeouts
        self._rng = rng
        # A cached voter set, and whether we are in it: a leader reads this in every step.
        self._votes_in: tuple[object, bool] = (None, False)

    @property
    def is_voter(self) -> bool:
        voters = self._log.voters.newest
        if self._votes_in[0] is not voters:
            self._votes_in = voters, self._key in voters
        return self._votes_in[1]

    def is_open(self, committed: Offset | None) -> bool:
        """May it stand: a voter that can replay its whole log? Others follow, vote, and never
        stand. `committed`: the highest high watermark that it knows of."""
        may_stand = self.is_voter or self._is_being_removed(committed)
        return may_stand and self._log.unreplayable is None

    def _is_being_removed(self, committed: Offset | None) -> bool:
        """Is it removed by a record that may not be committed? The others may lack that record, and
        then cannot elect a leader without this node: so it still stands, and does not count its own
        vote (Raft thesis 4.2.2; the KIPs do not mention it)."""
        voters = self._log.voters
        is_committed = committed is not None and committed > voters.newest_since
        return voters.is_removing(self._key) and not is_committed

    def after_ns(self, mono_ns: int) -> int:
        """When an election time-out that begins now is over. A single voter need not wait."""
        if self.is_voter and len(self._log.voters.newest) == 1:
            return mono_ns
        return mono_ns + deadlines.election_timeout_ns(self._timeouts, self._rng)


class KnownQuorum:
    """`election`: what quorum-state holds."""

    def __init__(
        self,
        *,
        key: ReplicaKey,
        listener: str,
        timeouts: QuorumTimeouts,
        log: LocalLog,
        election: ElectionState,
        rng: random.Random,
        outbox: Outbox,
    ) -> None:
        self.key = key
        self.listener = listener  # by which voters reach one another
        self.timeouts = timeouts
        self.role: Role = Unattached(epoch=election.epoch, election_deadline_ns=NEVER_NS)
        self.candidacy = Candidacy(key, log, timeouts, rng)
        self.addresses = Addresses(log, listener)
        self.committed: Offset | None = None  # highest high watermark known since the start
        self._log = log
        self._stored = election
        self._others: tuple[VoterSet | None, list[ReplicaKey]] = (
            None,
            [],
        )  # cache, with its voter set
        self._outbox = outbox

    @property
    def voters(self) -> VoterSet:
        """The newest set. Not read through `VoterHistory.newest`: this property is hot."""
        return self._log.voters.sets[-1].voters

    @property
    def others(self) -> Sequence[ReplicaKey]:
        """The voters on other nodes."""
        voters = self.voters
        if self._others[0] is not voters:
            self._others = voters, voters.others(self.key)
        return self._others[1]

    @property
    def is_voter(self) -> bool:
        return self.candidacy.is_voter

    @property
    def can_lead(self) -> bool:
        """May it stand for election (`Candidacy`)?"""
        return self.candidacy.is_open(self.committed)

    @property
    def epoch(self) -> Epoch:
        return self.role.epoch

    @property
    def leader(self) -> NodeId:
        """The leader of this epoch, -1 when unknown."""
        return self.role.leader

    @property
    def high_watermark(self) -> Offset | None:
        """The publishable high watermark: a leader's only once its own epoch has committed."""
        return self.role.high_watermark if isinstance(self.role, Leader) else self.committed

    def contradicts(self, epoch: Epoch, leader: NodeId) -> bool:
        """Does `leader` differ from the one we know in the same epoch? No honest node says so."""
        known = self.leader
        return epoch == self.epoch and NO_NODE not in (leader, known) and leader != known

    def has_address(self, node: NodeId) -> bool:
        """Does the voter set have its address?"""
        return self.addresses.by_set(node) is not None

    def leader_at(self) -> Endpoint | None:
        """Where the leader is reached, as responses carry it."""
        return self.addresses.of_leader(self.role)

    # --- persisted and traced state ---

    def persist(self, role: Role) -> None:
        """Durable before visible: a vote forgotten in a power cut could be cast twice."""
        state = election_state(role)
        if state != self._stored:
            self._stored = state
            self._outbox.emit(PersistElectionState(state=state))

    def _trace_high_watermark(self, offset: Offset, role: str) -> None:
        self._outbox.trace("q.hwm", hwm=offset, epoch=self.epoch, role=role)

    def _trace_state(self, silent_ns: int) -> None:
        voted = voted_in(self.role)
        end: LogPosition = self._log.end
        self._outbox.trace(
            "q.state",
            state=STATE_NAMES[type(self.role)],
            epoch=self.epoch,
            leader=self.leader,
            voted=NO_NODE if voted is None else voted.id,
            voted_dir="" if voted is None else uuid_text(voted.directory),
            log_end=end.offset,
            log_epoch=end.epoch,
            silent_ns=silent_ns,
        )
