"""What a node is at a moment: one class a role, holding only what is true in that role.

The values are frozen; `quorum.py` replaces them. `voted` is the real vote cast in `epoch`; it is
remembered by every role that did not vote for itself. Deadlines are monotonic ns.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from node.endpoint import Endpoint
from node.ids import NO_NODE, Epoch, NodeId, Offset, ReplicaKey
from node.raft.election import Ballot
from node.raft.progress import Progress
from node.records.control import Voter


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
    leader: NodeId = NO_NODE  # the one it lost touch with
    leader_at: Endpoint | None = None
    voted: ReplicaKey | None = None
    ballot: Ballot = Ballot()
    election_deadline_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Voted for itself in an epoch of its own making."""

    epoch: Epoch
    voted: ReplicaKey  # itself
    ballot: Ballot = Ballot()
    election_deadline_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """Elected by a majority; the only writer of the log in its epoch."""

    epoch: Epoch
    leader: NodeId  # itself
    epoch_start: Offset  # where this epoch's LeaderChange lies
    high_watermark: Offset | None = None  # > epoch_start; unknown until LeaderChange is committed
    granting: tuple[ReplicaKey, ...]
    replicas: Mapping[ReplicaKey, Progress]  # that fetched in this epoch
    begin_due_ns: Mapping[ReplicaKey, int]  # who is not to hear BeginQuorumEpoch before when
    # What voters said of themselves (UpdateRaftVoter), where that is not written: kraft.version 0.
    told: Mapping[NodeId, Voter] = field(default_factory=dict)
    fetched: frozenset[ReplicaKey] = frozenset()  # voters heard since check-quorum was renewed
    check_quorum_deadline_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """Fetches from a known leader."""

    epoch: Epoch
    leader: NodeId
    leader_at: Endpoint | None = None  # when it was learned; the voter set may know better, or not
    voted: ReplicaKey | None = None
    fetched: bool = False  # successfully, from this leader, in this epoch
    heard_ns: int | None = None  # when it last answered us, unless it resigned since
    fetch_deadline_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resigned:
    """A leader that gave up, or a restarted node that had been the leader of its stored epoch."""

    epoch: Epoch
    leader: NodeId  # itself
    preferred: tuple[ReplicaKey, ...] = ()
    told: frozenset[ReplicaKey] = field(default=frozenset())  # who acknowledged EndQuorumEpoch
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
