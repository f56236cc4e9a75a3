"""What the lives of all nodes share: images, epochs, leaders, votes, confirmed reads, committed
log."""

from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from chaos.cluster.sim.invariants.known_batches import (
    NOTHING,
    Keys,
    KnownBatch,
    KnownBatches,
    cut,
    holds,
    majority_of,
)
from chaos.cluster.sim.invariants.rules import Broken, Looked
from node.effects import ElectionState
from node.ids import NO_NODE, Epoch, LogPosition, NodeId, Offset, ReplicaKey
from node.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from node.records.control import LeaderChange

# Controllers' images at each offset: the same on all nodes, from log and snapshot alike.


class EqualImages:
    def __init__(self) -> None:
        self._first: dict[Offset, tuple[NodeId, int]] = {}

    def compare(self, node: NodeId, applied: Offset, digest: int) -> None:
        """All below `applied` is in that node's image, with this digest. Raises Broken."""
        first, known = self._first.setdefault(applied, (node, digest))
        if known != digest:
            what = f"at offset {applied} n{node} has another image than n{first} had"
            raise Broken("M2-equal-images", what)


# The origin of epochs: no node is in an epoch that no node began.


class Origins:
    """An epoch begins with a candidate, or with a leader that resigned from the one before: that
    one moves on by itself, since it cannot become a follower of itself."""

    def __init__(self) -> None:
        self._begun: set[Epoch] = {Epoch(0)}
        self._resigned: set[tuple[ReplicaKey, Epoch]] = set()

    def stands(self, epoch: Epoch) -> None:
        """A replica votes for itself in an epoch."""
        self._begun.add(epoch)

    def resigns(self, replica: ReplicaKey, epoch: Epoch) -> None:
        """A replica no longer leads this epoch, or found on its disk that it had led it."""
        self._resigned.add((replica, epoch))

    def enters(self, replica: ReplicaKey, epoch: Epoch) -> None:
        """A replica is in an epoch. Raises Broken where that epoch has no origin."""
        if (replica, Epoch(epoch - 1)) in self._resigned:
            self._begun.add(epoch)
        if epoch not in self._begun:
            what = f"n{replica.id} is in epoch {epoch}, in which no node stood for election, and "
            what += f"not because it had resigned from epoch {epoch - 1}"
            raise Broken("epochs-have-an-origin", what)


TakenState = tuple[str, Epoch]  # a state, and the epoch that it was taken in
FOUND = "found on its disk"


def check_asked(replica: ReplicaKey, before: TakenState, candidate: Epoch) -> None:
    """A candidate was prospective right before, in the epoch below (KIP-996), or finds at its start
    that it was one."""
    if before not in (("prospective", Epoch(candidate - 1)), (FOUND, candidate)):
        what = (
            f"n{replica.id} is a candidate in epoch {candidate}, and was {before[0]} in epoch "
            f"{before[1]}"
        )
        raise Broken("asked-before-standing", what)


# Epoch, leader and vote in a role. The node's own functions are not used: this would not see it if
# those forgot a vote.


def known_leader(role: Role) -> NodeId:
    match role:
        case Candidate():
            return NO_NODE
        case Unattached() | Prospective() | Follower() | Leader() | Resigned():
            return role.leader


def cast_vote(role: Role) -> ReplicaKey | None:
    """The vote of the role's epoch. A leader, also a resigned one, implicitly voted for itself."""
    match role:
        case Unattached() | Prospective() | Candidate() | Follower():
            return role.voted
        case Leader() | Resigned():
            return None


def election_state_of(role: Role) -> ElectionState:
    return ElectionState(epoch=role.epoch, leader=known_leader(role), voted=cast_vote(role))


def say_same(one: Role, other: Role) -> bool:
    """The same leader and vote, in roles of one epoch."""
    if isinstance(one, Follower) and isinstance(other, Follower):  # mostly: it heard its leader
        return (one.leader, one.voted) == (other.leader, other.voted)
    return known_leader(one) == known_leader(other) and cast_vote(one) == cast_vote(other)


def in_words(state: ElectionState) -> str:
    leader = "no leader" if state.leader == NO_NODE else f"leader n{state.leader}"
    vote = "no vote" if state.voted is None else f"a vote for n{state.voted.id}"
    return f"epoch {state.epoch}, {leader}, {vote}"


# Leaders and votes by epoch, over all nodes and all their lives.


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
        if known is not None and cast_vote(role) is None and not (led and known == voter):
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


# What confirms that a leader still leads when it answers a read (Raft thesis 6.4).


Tick = int  # the number of a step, counted over all nodes


class Fetches:
    """When each voter last sent a Fetch of an epoch, whatever the leader did with it."""

    def __init__(self) -> None:
        self._sent: dict[tuple[ReplicaKey, Epoch], Tick] = {}
        self._now: Tick = 0

    def next_step(self) -> Tick:
        """A node took a step; returns its number."""
        self._now += 1
        return self._now

    def send(self, voter: ReplicaKey, epoch: Epoch) -> None:
        self._sent[voter, epoch] = self._now

    def confirm(self, leader: ReplicaKey, epoch: Epoch, arrived: Tick, voting: Keys) -> None:
        """A read that arrived in step `since` is answered. Raises Broken unless a majority, with
        the leader itself, sent a Fetch of its epoch after that."""
        majority = len(voting) // 2 + 1
        voters = [
            voter
            for voter in voting
            if voter == leader or self._sent.get((voter, epoch), 0) > arrived
        ]
        if len(voters) < majority:
            what = f"n{leader.id} answers a read in epoch {epoch}, and {len(voters)} of the "
            what += f"{majority} voters that are a majority, itself counted, sent a Fetch of "
            raise Broken("reads-are-confirmed", f"{what}that epoch since the read arrived")


class Arrivals:
    """In which step of the whole run each read of one life arrived; reads are numbered from 1."""

    def __init__(self) -> None:
        self._steps: deque[tuple[int, Tick]] = deque()
        self.newest = 0

    def note(self, newest: int, now: Tick) -> None:
        """Reads up to number `newest` have arrived by this step; more than by the one before."""
        self.newest = newest
        self._steps.append((newest, now))

    def of(self, read: int) -> Tick:
        """Reads are answered in the order of their arrival: older ones are dropped."""
        while self._steps[0][0] < read:
            self._steps.popleft()
        return self._steps[0][1]


# The committed log: one log, which no node contradicts, and which a majority keeps.


CountHolders = Callable[[Keys, KnownBatch], int]  # how many of them hold a batch durably


class Commits:
    """The committed log, and the logs with which leaders were elected.

    Q7 (the high watermark never goes down over the sequence of leaders) needs no rule of its own:
    a leader's log holds all that was committed before (Q11) when it appends its LeaderChange, and
    what it publishes first lies above that (Q13).
    """

    def __init__(self, count_holders: CountHolders, voting: Callable[[KnownBatch], Keys]) -> None:
        self.log = NOTHING
        self._ends: dict[Offset, KnownBatch] = {NOTHING.end: NOTHING}
        self._elected: dict[Epoch, KnownBatch] = {}
        self._newest = Epoch(0)
        self._count_holders = count_holders
        self._voting = voting
        self._voted = voting(NOTHING)  # the newest set of the leader that committed last

    def ending_at(self, snapshot: LogPosition) -> KnownBatch:
        """The committed log below a snapshot's end. Raises Broken (Q15) where there is none."""
        batch = self._ends.get(snapshot.offset)
        if batch is None or batch.epoch != snapshot.epoch:
            what = f"a snapshot ends at {snapshot.offset} of epoch {snapshot.epoch}, "
            raise Broken("Q15-snapshots-of-committed", what + f"and {self.log} is committed")
        return batch

    def elect(self, epoch: Epoch, log: KnownBatch) -> None:
        """A leader was elected: its log holds all that is committed (Leader Completeness)."""
        if not holds(log, self.log):
            what = f"the leader of epoch {epoch} lacks {self.log}, which is committed"
            raise Broken("Q11-leader-completeness", what)
        self._elected[epoch] = log
        self._newest = max(self._newest, epoch)

    def reach(self, log: KnownBatch, high_watermark: Offset, leads: Epoch | None) -> None:
        """A node reports the committed part of its log, as the leader of epoch `leads`, or not as
        one."""
        if high_watermark > log.end:
            what = f"a high watermark of {high_watermark}, and a log that ends at {log.end}"
            raise Broken("Q8-node-high-watermark", what)
        batch = cut(log, high_watermark)
        if batch.end <= self.log.end:
            if self._ends.get(batch.end) is not batch:
                what = f"{batch} is reported as committed, and another log is committed there"
                raise Broken("Q12-committed-agree", what)
        elif leads is None:
            what = f"a follower reports {batch} as committed, and no leader did"
            raise Broken("Q12-committed-agree", what)
        else:
            self._advance(batch, leads, self._voting(log))

    def still_kept(self) -> None:
        """After a log was truncated, or a disk came back: a majority holds what is committed.

        A majority of the voters in force there, or of a newer set, even if its record is not
        committed: its leader counts by that one.
        """
        there = self._voting(self.log)
        held = self._count_holders(there, self.log)
        if held > len(there) // 2:
            return
        if self._count_holders(self._voted, self.log) <= len(self._voted) // 2:
            what = f"{self.log} is committed, and only {held} voters hold it durably"
            raise Broken("Q9-committed-by-majority", what)

    def _advance(self, batch: KnownBatch, epoch: Epoch, voting: Keys) -> None:
        if not holds(batch, self.log):
            what = (
                f"{batch} is reported as committed, in a log without {self.log}, which is committed"
            )
            raise Broken("Q12-committed-agree", what)
        if epoch < self._newest:
            self._compare_with_successors(batch, epoch)
        self._voted = voting
        known, self.log = self.log, batch
        while batch is not known:
            self._ends[batch.end] = batch
            assert batch.prefix is not None, "the committed log is below"
            batch = batch.prefix
        self.still_kept()

    def _compare_with_successors(self, batch: KnownBatch, epoch: Epoch) -> None:
        """A leader that was deposed may still learn that it had replicated to a majority."""
        for later, elected in self._elected.items():
            if later > epoch and not holds(elected, batch):
                what = f"{batch} is committed in epoch {epoch}, and the leader of epoch {later} "
                raise Broken("Q11-leader-completeness", f"{what}was elected without it")


@dataclass(eq=False, slots=True)
class Replica:
    """A node with its disk, over all its lives. `durable` is a part of `log`."""

    key: ReplicaKey
    log: KnownBatch = NOTHING
    durable: KnownBatch = NOTHING
    epoch: Epoch = Epoch(0)  # the highest that it was in
    lives: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledgers:
    """What all lives of all nodes are compared with."""

    durable_of: Callable[[ReplicaKey], KnownBatch]
    batches: KnownBatches
    elections: Elections
    origins: Origins
    fetches: Fetches
    commits: Commits
    images: EqualImages
    looked: Looked
    least_silent_ns: int  # a leader heard more recently than this is not given up
