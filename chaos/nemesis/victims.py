"""The victims of faults as values, each resolved when its fault fires (`aim.py`)."""

from dataclasses import dataclass

from chaos.cluster.interface import NodeId, Voted


@dataclass(frozen=True, slots=True)
class ControllerLeader:
    """The leader of the metadata quorum."""

    def __str__(self) -> str:
        return "leader"


@dataclass(frozen=True, slots=True)
class RandomFollower:
    """One voter that is not the leader."""

    def __str__(self) -> str:
        return "follower"


@dataclass(frozen=True, slots=True)
class FollowerThatVoted:
    """One follower among the voters that voted so in this epoch."""

    voted: Voted

    def __str__(self) -> str:
        return f"follower-that-voted-for-{self.voted}"


@dataclass(frozen=True, slots=True)
class AllFollowers:
    """Every running voter that is not the leader."""

    def __str__(self) -> str:
        return "followers"


@dataclass(frozen=True, slots=True)
class AllVoters:
    def __str__(self) -> str:
        return "all"


@dataclass(frozen=True, slots=True)
class VotersByOneDisk:
    """Every node that is one voter; a node that votes by two disks is left out (KIP-856)."""

    def __str__(self) -> str:
        return "voters-by-one-disk"


@dataclass(frozen=True, slots=True)
class RandomNode:
    def __str__(self) -> str:
        return "random"


@dataclass(frozen=True, slots=True)
class SomeNodes:
    """This many nodes, whatever their roles; fewer if fewer can be hit."""

    count: int

    def __str__(self) -> str:
        return f"some-{self.count}"


@dataclass(frozen=True, slots=True)
class LeaderAnd:
    """The leader and this many other running nodes; fewer if fewer run."""

    count: int

    def __str__(self) -> str:
        return f"leader-and-{self.count}"


@dataclass(frozen=True, slots=True)
class OneNode:
    """A node by its id, for people who inject by hand."""

    node: NodeId

    def __str__(self) -> str:
        return str(self.node)


def _of(partition: str) -> str:
    return f"-of-{partition}" if partition else ""


@dataclass(frozen=True, slots=True)
class PartitionLeader:
    """The broker that leads this partition (`orders-0`); "": the first, by name, that has a
    leader."""

    partition: str = ""

    def __str__(self) -> str:
        return f"partition-leader{_of(self.partition)}"


@dataclass(frozen=True, slots=True)
class InSyncFollower:
    """A running broker that is in the ISR of a partition, of this one unless it is "", and does not
    lead it."""

    partition: str = ""

    def __str__(self) -> str:
        return f"in-sync-follower{_of(self.partition)}"


@dataclass(frozen=True, slots=True)
class EligibleBroker:
    """A running broker that is in the ELR of a partition; if there is none, any running broker."""

    def __str__(self) -> str:
        return "eligible-broker"


@dataclass(frozen=True, slots=True)
class SpareBroker:
    """A running broker that is no replica of some partition of clients."""

    def __str__(self) -> str:
        return "spare-broker"


@dataclass(frozen=True, slots=True)
class RandomBroker:
    def __str__(self) -> str:
        return "random-broker"


@dataclass(frozen=True, slots=True)
class AllBrokers:
    def __str__(self) -> str:
        return "all-brokers"


Victim = (
    ControllerLeader
    | RandomFollower
    | FollowerThatVoted
    | AllFollowers
    | AllVoters
    | VotersByOneDisk
    | RandomNode
    | SomeNodes
    | LeaderAnd
    | OneNode
    | PartitionLeader
    | InSyncFollower
    | EligibleBroker
    | SpareBroker
    | RandomBroker
    | AllBrokers
)
_IN_WORDS: dict[type, str] = {
    ControllerLeader: "the leader of the metadata quorum, which is the active controller",
    RandomFollower: "a voter that follows, drawn",
    AllFollowers: "all voters that follow",
    AllVoters: "all voters, the leader first",
    VotersByOneDisk: "all voters that vote by one disk",
    RandomNode: "a running node, drawn",
    RandomBroker: "a running broker, drawn",
    AllBrokers: "all running brokers",
    EligibleBroker: "a broker in an ELR, or else a running one, drawn",
    SpareBroker: "a running broker that is no replica of some partition, drawn",
}


def in_words(victim: Victim) -> str:
    """What it stands for, for people who meet the name."""
    match victim:
        case OneNode(node):
            return f"node {node}, whatever its role"
        case PartitionLeader(partition):
            return f"the leader of {partition or 'the first partition that has one'}"
        case InSyncFollower(partition):
            return f"a replica in sync of {partition or 'a partition'} that does not lead it, drawn"
        case FollowerThatVoted(voted):
            return f"a voter that follows and voted for {voted}, drawn"
        case SomeNodes(count):
            return f"{count} running nodes, drawn"
        case LeaderAnd(count):
            return f"the leader of the metadata quorum and {count} more, drawn"
    return _IN_WORDS.get(type(victim), str(victim))


OF_BROKERS = (
    PartitionLeader,
    InSyncFollower,
    EligibleBroker,
    SpareBroker,
    RandomBroker,
    AllBrokers,
)
