"""Timers: what is due when, and what happens then. The transitions themselves are in `quorum.py`.

    of             deadline        how long               what happens
    -------------  --------------  ---------------------  ------------------------------------------
    Unattached     election        1 to 2 election T.     Prospective, if it can lead (else never)
    Prospective    election        1 to 2 election T.     as if the pre-votes were lost
    Candidate      election        1 to 2 election T.     Prospective
    Resigned       election        1 to 2 election T.     Unattached in the next epoch: it cannot
                                                          follow itself
    Follower       fetch           fetch T.               Prospective; one that cannot lead looks
                                                          for another leader
    Leader         check quorum    1.5 fetch T.           Resigned
    Leader         begin, a voter  half a fetch T.        BeginQuorumEpoch (`votes`)
    a parked Fetch                 as it asks             answered as it is (`fetch_leader`)
    a request      time-out        request T.             its connection is dropped (`peers`)
    a voter        back-off        20 ms and more         it may be sent requests again (`peers`)
    AddRaftVoter   time-out        as it asks             answered with what it waits for, 7 or 42
    RemoveRaftVoter                request T.             (`voter_changes`)
    a voter with   repeat          fetch T.               UpdateRaftVoter again, at the next step
    a new address                                         (`own_address`)
    two snapshots  retention       a minute               the oldest goes, if it is too old or all
                                                          are too large (`snapshots`)

A decided election moves its candidate at once. The election time-out is drawn anew with the role,
but kept across an epoch bump. A response of the leader restarts the fetch time-out. A follower that
receives EndQuorumEpoch waits only for its turn (`end_epoch_backoff_ms`).
"""

import random
from collections.abc import Sequence
from enum import Enum
from typing import Protocol

from node.config import QuorumTimeouts
from node.ids import MS, NEVER_NS, ReplicaKey
from node.raft.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Role,
    Unattached,
    is_lost,
    is_won,
)
from node.raft.voter_set import VoterSet

_MAX_WAIT_MS = 2**31 - 1  # of AddRaftVoter, by the protocol

# How often a node looks for old snapshots to delete (`RaftMetadataLogCleanerManager`).
RETENTION_CHECK_NS = 60_000 * MS


class Move(Enum):
    """A transition that is due."""

    ASK = "ask for pre-votes"
    STAND = "stand for election"
    GIVE_UP = "give up what pre-votes did not allow"
    LEAD = "lead"
    FIND_LEADER = "look for another leader"
    RESIGN = "resign"
    NEXT_EPOCH = "go on in the next epoch"


class Standing(Protocol):
    """The part of `node.raft.quorum.Quorum` that transitions depend on; read only where they do."""

    @property
    def voters(self) -> VoterSet: ...

    @property
    def can_lead(self) -> bool: ...


def due_move(role: Role, standing: Standing, elapsed_ns: int) -> Move | None:
    """All input from before `elapsed_ns` was handled, so what is due by then is due."""
    match role:
        case Follower():
            if elapsed_ns < role.fetch_deadline_ns:
                return None
            return Move.ASK if standing.can_lead else Move.FIND_LEADER
        case Leader():
            is_lonely = has_lost_quorum(role, standing.voters, elapsed_ns)
            return Move.RESIGN if is_lonely else None
        case Unattached():
            return Move.ASK if elapsed_ns >= role.election_deadline_ns else None
        case Prospective():
            if may_stand(role, standing.voters):
                return Move.STAND
            is_over = (
                is_lost(role.ballot, standing.voters) or elapsed_ns >= role.election_deadline_ns
            )
            return Move.GIVE_UP if is_over else None
        case Candidate():
            if is_won(role.ballot, standing.voters):
                return Move.LEAD
            return Move.ASK if elapsed_ns >= role.election_deadline_ns else None
        case Resigned():
            return Move.NEXT_EPOCH if elapsed_ns >= role.election_deadline_ns else None


def may_stand(role: Prospective, voters: VoterSet) -> bool:
    """Only a node that a majority would elect raises the epoch: others would depose a leader that
    the rest of the quorum still hears (KIP-996)."""
    return is_won(role.ballot, voters)


def has_lost_quorum(role: Leader, voters: VoterSet, elapsed_ns: int) -> bool:
    """Has no majority fetched for 1.5 fetch time-outs? A single voter is its own majority."""
    return elapsed_ns >= role.check_quorum_deadline_ns and not is_alone(role, voters)


def is_alone(role: Leader, voters: VoterSet) -> bool:
    """Is the leader the only voter? A removed leader is not, even with one voter left."""
    return len(voters) == 1 and role.leader in voters.by_id


def role_deadline_ns(role: Role, *, polled_ns: int, elapsed_ns: int) -> int:
    """When one of the role's timers expires. A leader's overdue work waits for a peer: the
    peer's deadline counts."""
    match role:
        case Follower():
            return role.fetch_deadline_ns
        case Leader():
            check = role.check_quorum_deadline_ns
            begin = [due for due in role.begin_due_ns.values() if due > polled_ns]
            return min([check if check > elapsed_ns else NEVER_NS, *begin])
        case Unattached() | Prospective() | Candidate() | Resigned():
            return role.election_deadline_ns


# --- durations ---


def election_timeout_ns(timeouts: QuorumTimeouts, rng: random.Random) -> int:
    """Uniform in [T, 2T): equal waits would let candidates collide for ever (KAFKA-18345)."""
    base = timeouts.election_ms * MS
    return base + rng.randrange(base)


def kept_election_deadline_ns(role: Role, voters: VoterSet) -> int | None:
    """The rest of the election time-out is kept across an epoch bump, so that other nodes'
    candidacies cannot hold a node back for ever. None: it is drawn anew."""
    match role:
        case Unattached() | Candidate() | Resigned():
            return role.election_deadline_ns
        case Prospective() if not is_lost(role.ballot, voters):
            return role.election_deadline_ns
        case _:
            return None


def fetch_timeout_ns(timeouts: QuorumTimeouts) -> int:
    """A follower without a response of its leader for so long looks for another."""
    return timeouts.fetch_ms * MS


def check_quorum_timeout_ns(timeouts: QuorumTimeouts) -> int:
    """A leader that no majority fetches from for 1.5 fetch time-outs steps down (KAFKA-15489)."""
    return timeouts.fetch_ms * MS * 3 // 2


def begin_epoch_interval_ns(timeouts: QuorumTimeouts) -> int:
    """A voter that has not fetched for this long is sent BeginQuorumEpoch (again)."""
    return timeouts.fetch_ms * MS // 2


def voter_change_wait_ns(timeouts: QuorumTimeouts, requested_ms: int | None) -> int:
    """How long a change of voters may wait for its preconditions. RemoveRaftVoter: None."""
    wait_ms = (
        timeouts.request_ms if requested_ms is None else min(max(requested_ms, 0), _MAX_WAIT_MS)
    )
    return wait_ms * MS


def update_interval_ns(timeouts: QuorumTimeouts) -> int:
    """How often a voter repeats UpdateRaftVoter while the log has its old address: the leader takes
    one change of the voters at a time."""
    return timeouts.fetch_ms * MS


def end_epoch_backoff_ms(preferred: Sequence[ReplicaKey], me: ReplicaKey, max_ms: int) -> int:
    """How long a follower waits after its leader resigned (`endEpochElectionBackoff`).

    The first preferred candidate starts now, or every follower if none is named; the others wait
    the longer, the further back they are; a node not in the list waits longest. Leaders of a quorum
    without directory ids name nodes with the zero directory id (kraft.version 0).
    """
    if not preferred:
        return 0
    names = (me, ReplicaKey(me.id))
    position = next((at for at, named in enumerate(preferred) if named in names), None)
    if position is None:
        return max_ms
    if position == 0:
        return 0
    return min(max_ms, (max_ms >> (len(preferred) - 1)) << (position - 1))
