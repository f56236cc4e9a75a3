"""Leaders and votes by epoch, over all nodes and all their lives."""

from collections.abc import Collection, Iterable

from chaos.cluster.sim.invariants.broken import Broken
from chaos.cluster.sim.invariants.known_batches import Keys, majority_of
from chaos.cluster.sim.invariants.role_told import vote_told
from node.ids import NO_NODE, Epoch, NodeId, ReplicaKey
from node.raft.roles import Leader, Resigned, Role
from node.records.control import LeaderChange

Reign = tuple[ReplicaKey, int]  # a replica, and the number of its life


class Elections:
    """All claims about an epoch; each must repeat the first."""

    def __init__(self) -> None:
        self._leaders: dict[Epoch, NodeId] = {}
        self._votes: dict[tuple[ReplicaKey, Epoch], ReplicaKey] = {}
        self._reigns: dict[Epoch, Reign] = {}

    def leads(self, leader: NodeId, epoch: Epoch) -> None:
        """A node takes `leader` (perhaps itself) for the leader of an epoch."""
        if leader == NO_NODE:
            return
        known = self._leaders.setdefault(epoch, leader)
        if known != leader:
            what = f"n{leader} is taken for the leader of epoch {epoch}, which n{known} leads"
            raise Broken("Q2-one-leader-per-epoch", what)

    def votes(self, voter: ReplicaKey, candidate: ReplicaKey | None, epoch: Epoch) -> None:
        """A vote (no pre-vote): on a disk, in a role or in an answer."""
        if candidate is None:
            return
        known = self._votes.setdefault((voter, epoch), candidate)
        if known != candidate:
            what = f"n{voter.id} votes for n{candidate.id} in epoch {epoch}, after n{known.id}"
            raise Broken("Q3-one-vote-per-epoch", what)

    def remembers(self, voter: ReplicaKey, role: Role) -> None:
        """A role keeps the vote of its epoch: a vote that is no longer on the disk could be cast
        again."""
        known = self._votes.get((voter, role.epoch))
        led = isinstance(role, Leader | Resigned)  # its vote was for itself, and is not kept
        if known is not None and vote_told(role) is None and not (led and known == voter):
            what = f"n{voter.id} has no vote in epoch {role.epoch}, in which it voted for "
            raise Broken("Q3-one-vote-per-epoch", f"{what}n{known.id}")

    def reigns(self, leader: ReplicaKey, life: int, role: Leader, voting: Keys) -> None:
        """A process leads: no other ever led the epoch, and a majority of the voters by its log
        voted for it."""
        known = self._reigns.get(role.epoch)
        if known is None:
            self._count_votes(leader, role, voting)
        elif known != (leader, life):
            what = f"n{leader.id} leads epoch {role.epoch} in its life {life}, which "
            what += f"n{known[0].id} led in its life {known[1]}"
            raise Broken("Q17-no-leader-again", what)
        self._reigns[role.epoch] = (leader, life)

    def names(self, leader: NodeId, change: LeaderChange, epoch: Epoch, voting: Keys) -> None:
        """A leader begins its epoch: its LeaderChange names the voters, and a majority of them."""
        majority = majority_of(voting)
        granting = sum(_is_among(key, change.granting_voters) for key in voting)
        if not _are_same(change.voters, voting) or granting < majority:
            what = (
                f"n{leader} names n{_list(change.granting_voters)} as the voters that elected "
                "it in "
            )
            what += f"epoch {epoch}, of n{_list(change.voters)}, and {majority} of "
            raise Broken("Q4-elected-by-a-majority", f"{what}n{_list(voting)} are a majority")

    def _count_votes(self, leader: ReplicaKey, role: Leader, voting: Keys) -> None:
        """Judged by the votes themselves, not by what the leader believes."""
        majority = majority_of(voting)
        votes = sum(self._has_voted(voter, leader, role) for voter in voting)
        if votes < majority:
            what = f"n{leader.id} leads epoch {role.epoch} with {votes} votes of the "
            what += f"{majority} that are a majority"
            raise Broken("Q4-elected-by-a-majority", what)

    def _has_voted(self, voter: ReplicaKey, leader: ReplicaKey, role: Leader) -> bool:
        """The vote of a voter as the leader has it; with any directory where that is not known."""
        if voter.known_directory is not None:
            granted = voter in role.granting
            return granted and self._votes.get((voter, role.epoch)) == leader
        granted = any(key.id == voter.id for key in role.granting)
        return granted and any(
            known == leader
            for (key, epoch), known in self._votes.items()
            if (key.id, epoch) == (voter.id, role.epoch)
        )


def _are_same(told: Collection[ReplicaKey], voting: Keys) -> bool:
    return all(_is_among(key, voting) for key in told) and all(
        _is_among(key, told) for key in voting
    )


def _is_among(one: ReplicaKey, keys: Iterable[ReplicaKey]) -> bool:
    """Compared by directory, where both are known."""
    return any(key == one or _is_of_any_disk(key, one) for key in keys)


def _is_of_any_disk(one: ReplicaKey, other: ReplicaKey) -> bool:
    return one.id == other.id and None in (one.known_directory, other.known_directory)


def _list(keys: Iterable[ReplicaKey]) -> str:
    return ", n".join(str(key.id) for key in sorted(keys))
