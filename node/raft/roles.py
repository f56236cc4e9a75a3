"""The roles of a node: one frozen class each, holding only what is true in that role.

`quorum.py` replaces the values. `voted` is the real vote cast in `epoch`; every role that did not
vote for itself remembers it. Deadlines are monotonic ns. Also here: the limit of epoch jumps,
ballots and replica progress.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import ClassVar

from node.effects import ElectionState
from node.ids import NEVER_NS, NO_NODE, Endpoint, Epoch, NodeId, Now, Offset, ReplicaKey
from node.lazy_dataclass import dataclass
from node.raft.voter_set import VoterSet
from node.records.control import Voter

# How far a message may raise a node's epoch: there are 2^31, and an election needs a new one.
#
# Up to half of them at once, and from there a little at a time: so no message of any sender comes
# near the last epoch, after which no leader could be elected any more. An election takes one.


LAST_EPOCH = Epoch(2**31 - 1)  # epochs are int32
_AT_ONCE = Epoch(2**30)
_FROM_THERE = 2**16


def reachable(own: Epoch) -> Epoch:
    """The highest epoch that a message may raise a node of epoch `own` to."""
    return min(max(_AT_ONCE, Epoch(own + _FROM_THERE)), Epoch(LAST_EPOCH - 1))


# Counting the votes of one election or pre-election (`EpochElection`).


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """Which voters have answered, and how. One response per voter counts."""

    granted: frozenset[ReplicaKey] = frozenset()
    rejected: frozenset[ReplicaKey] = frozenset()

    def with_vote(self, voter: ReplicaKey, *, granted: bool) -> "Ballot":
        if voter in self.granted or voter in self.rejected:
            return self
        if granted:
            return replace(self, granted=self.granted | {voter})
        return replace(self, rejected=self.rejected | {voter})

    def unanswered(self, voters: VoterSet) -> list[ReplicaKey]:
        return [key for key in voters.keys if key not in self.granted | self.rejected]


def is_won(ballot: Ballot, voters: VoterSet) -> bool:
    return _count(ballot.granted, voters) >= voters.majority


def is_lost(ballot: Ballot, voters: VoterSet) -> bool:
    """No majority is possible any more."""
    return len(voters) - _count(ballot.rejected, voters) < voters.majority


def _count(responded: frozenset[ReplicaKey], voters: VoterSet) -> int:
    return sum(key in voters for key in responded)


# A replica as the leader sees it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a replica's valid Fetches have shown. `None`: it has not fetched in this epoch."""

    end: Offset | None = None  # durable there: everything below
    last_fetch_ns: int = -NEVER_NS  # monotonic
    last_fetch_wall_ns: int = -1
    last_caught_up_wall_ns: int = -1  # when it last had all that the leader had then
    leader_end_at_fetch: Offset = Offset(-1)
    outcome: str = ""  # of the last Fetch, as traced

    def fetched(self, *, end: Offset, leader_end: Offset, now: Now, outcome: str) -> "Progress":
        """After a valid Fetch from `end`, while the leader's log ended at `leader_end`.

        Caught up as Kafka counts it (`ReplicaState.updateFollowerState`): now, if it has all; at
        the time of the previous Fetch, if it has all that the leader had then.
        """
        caught_up = self.last_caught_up_wall_ns
        if end >= leader_end:
            caught_up = now.wall_ns
        elif self.leader_end_at_fetch >= 0 and end >= self.leader_end_at_fetch:
            caught_up = max(caught_up, self.last_fetch_wall_ns)
        return Progress(
            end=end,
            last_fetch_ns=now.mono_ns,
            last_fetch_wall_ns=now.wall_ns,
            last_caught_up_wall_ns=caught_up,
            leader_end_at_fetch=leader_end,
            outcome=outcome,
        )

    def fetched_snapshot(self, now: Now) -> "Progress":
        """After a FetchSnapshot: it follows, and its log end is unchanged."""
        return replace(self, last_fetch_ns=now.mono_ns, last_fetch_wall_ns=now.wall_ns)


NOT_MET = Progress()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unattached:
    """Knows the epoch; looks for its leader. It may know the leader's id, but not its address."""

    epoch: Epoch
    leader: NodeId = NO_NODE
    voted: ReplicaKey | None = None
    election_deadline_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospective:
    """Asks, without raising the epoch, whether a candidacy would succeed (KIP-996)."""

    epoch: Epoch
    leader: NodeId = NO_NODE  # the leader that it lost touch with
    leader_at: Endpoint | None = None
    voted: ReplicaKey | None = None
    ballot: Ballot = Ballot()
    election_deadline_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Voted for itself in an epoch that it began."""

    leader: ClassVar[NodeId] = NO_NODE
    epoch: Epoch
    voted: ReplicaKey  # itself
    ballot: Ballot = Ballot()
    election_deadline_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """Elected by a majority; the only writer of the log in its epoch."""

    epoch: Epoch
    leader: NodeId  # itself
    epoch_start: Offset  # the offset of this epoch's LeaderChange
    high_watermark: Offset | None = None  # > epoch_start; unknown until LeaderChange is committed
    granting: tuple[ReplicaKey, ...]
    replicas: Mapping[ReplicaKey, Progress]  # those that fetched in this epoch
    begin_due_ns: Mapping[ReplicaKey, int]  # earliest next BeginQuorumEpoch, per voter
    # The latest UpdateRaftVoter of each voter, where it is not written to the log: kraft.version 0.
    told: Mapping[NodeId, Voter] = field(default_factory=dict)
    fetched: frozenset[ReplicaKey] = frozenset()  # voters heard since check-quorum was renewed
    check_quorum_deadline_ns: int

    def reached(self, high_watermark: Offset) -> "Leader":
        """More is committed."""
        return Leader(
            epoch=self.epoch,
            leader=self.leader,
            epoch_start=self.epoch_start,
            high_watermark=high_watermark,
            granting=self.granting,
            replicas=self.replicas,
            begin_due_ns=self.begin_due_ns,
            told=self.told,
            fetched=self.fetched,
            check_quorum_deadline_ns=self.check_quorum_deadline_ns,
        )

    def followed(
        self,
        *,
        replicas: Mapping[ReplicaKey, Progress],
        begin_due_ns: Mapping[ReplicaKey, int],
        fetched: frozenset[ReplicaKey],
        check_quorum_deadline_ns: int,
    ) -> "Leader":
        """After a Fetch of a voter; so often that `replace` costs too much."""
        return Leader(
            epoch=self.epoch,
            leader=self.leader,
            epoch_start=self.epoch_start,
            high_watermark=self.high_watermark,
            granting=self.granting,
            replicas=replicas,
            begin_due_ns=begin_due_ns,
            told=self.told,
            fetched=fetched,
            check_quorum_deadline_ns=check_quorum_deadline_ns,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """Fetches from a known leader."""

    epoch: Epoch
    leader: NodeId
    leader_at: Endpoint | None = None  # as announced; the voter set may be newer, or not
    voted: ReplicaKey | None = None
    fetched: bool = False  # successfully, from this leader, in this epoch
    heard_ns: int | None = None  # when it last answered us, unless it resigned since
    fetch_deadline_ns: int

    def heard(self, mono_ns: int, fetch_deadline_ns: int) -> "Follower":
        """After a response of the leader; so often that `replace` costs too much."""
        return Follower(
            epoch=self.epoch,
            leader=self.leader,
            leader_at=self.leader_at,
            voted=self.voted,
            fetched=True,
            heard_ns=mono_ns,
            fetch_deadline_ns=fetch_deadline_ns,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Resigned:
    """A leader that gave up, or a restarted node that had been the leader of its stored epoch."""

    epoch: Epoch
    leader: NodeId  # itself
    preferred: tuple[ReplicaKey, ...] = ()
    told: frozenset[ReplicaKey] = field(
        default=frozenset()
    )  # voters that acknowledged EndQuorumEpoch
    election_deadline_ns: int


Role = Unattached | Prospective | Candidate | Leader | Follower | Resigned
STATE_NAMES: dict[type[Role], str] = {
    Unattached: "unattached",
    Prospective: "prospective",
    Candidate: "candidate",
    Leader: "leader",
    Follower: "follower",
    Resigned: "resigned",
}


def voted_in(role: Role) -> ReplicaKey | None:
    """The real vote cast in the role's epoch; a leader's own is implied and not kept."""
    match role:
        case Unattached() | Prospective() | Candidate() | Follower():
            return role.voted
        case Leader() | Resigned():
            return None


def election_state(role: Role) -> ElectionState:
    return ElectionState(epoch=role.epoch, leader=role.leader, voted=voted_in(role))


def silent_ns(role: Role, mono_ns: int) -> int:
    """Time since the last response of the leader that this role follows; -1 if it follows none,
    never got a response, or learned that the leader resigns."""
    if not isinstance(role, Follower) or role.heard_ns is None:
        return -1
    return mono_ns - role.heard_ns
