"""A replica as a value: all that decides what it can do next, and nothing else; and the contents of
logs.

Left out are times, connections and the requests on them: the explorer lets any time pass, and
breaks connections at will. Also left out are whether a follower has heard its leader (it may lose
it at any moment), the nodes that renewed the leader's check-quorum, and values without further
effect: a follower's high watermark (a leader has to commit something of its own epoch first), and a
replica's log end at the leader, once it is counted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

from chaos.labs.model_check.replica import LiveReplica
from chaos.labs.model_check.setting import disk, disk_number, name
from node.ids import NEVER_NS, NO_NODE, Epoch, NodeId, Offset, ReplicaKey
from node.raft.roles import (
    STATE_NAMES,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Unattached,
    voted_in,
)
from node.raft.voter_forms import VoterChange
from node.records.batch import Batch
from node.records.control import (
    AddVoter,
    ControlRecord,
    LeaderChange,
    RemoveVoter,
    Voters,
    decode_control,
)

# The contents of logs, read without the node's own view of the voters.


Naming = Mapping[NodeId, NodeId]
VotingKeys = frozenset[ReplicaKey]


def renamed(key: ReplicaKey, naming: Naming) -> ReplicaKey:
    return disk(naming[key.id], disk_number(key))


@dataclass(frozen=True, slots=True)
class Entry:
    """A batch of the metadata log, identified by epoch and offset; the rest is its contents."""

    epoch: Epoch
    base: Offset
    next: Offset
    leader: NodeId | None = None  # of its LeaderChange
    whole: VotingKeys | None = None  # the voters
    added: VotingKeys = frozenset()
    removed: VotingKeys = frozenset()

    def says_who_votes(self) -> bool:
        return self.whole is not None or bool(self.added | self.removed)

    def after(self, voters: VotingKeys) -> VotingKeys:
        """The voters from it on."""
        return ((voters if self.whole is None else self.whole) | self.added) - self.removed

    def renamed(self, naming: Naming) -> "Entry":
        def each(keys: VotingKeys) -> VotingKeys:
            return frozenset(renamed(key, naming) for key in keys)

        return Entry(
            self.epoch,
            self.base,
            self.next,
            None if self.leader is None else naming[self.leader],
            None if self.whole is None else each(self.whole),
            each(self.added),
            each(self.removed),
        )

    def __str__(self) -> str:
        said = [] if self.leader is None else [f"LeaderChange to n{self.leader}"]
        if self.whole is not None:
            said.append(f"voters {names(self.whole)}")
        said += [f"add {name(key)}" for key in sorted(self.added)]
        said += [f"remove {name(key)}" for key in sorted(self.removed)]
        return f"{self.epoch}: {', '.join(said) or 'metadata'}"


def names(keys: Iterable[ReplicaKey]) -> str:
    return "{" + ", ".join(name(key) for key in sorted(keys)) + "}"


@cache
def entry(batch: Batch) -> Entry:
    header = batch.header
    if not header.is_control:
        return Entry(header.leader_epoch, header.base_offset, header.next_offset)
    records = [decode_control(record.key, record.value) for record in batch.records()]
    return _of(records, Entry(header.leader_epoch, header.base_offset, header.next_offset))


def _of(records: Iterable[ControlRecord], begun: Entry) -> Entry:
    leader, whole = begun.leader, begun.whole
    added: set[ReplicaKey] = set()
    removed: set[ReplicaKey] = set()
    for record in records:
        match record:
            case LeaderChange(leader=node):
                leader = node
            case Voters(voters=rows):
                whole = frozenset(row.key for row in rows)
            case AddVoter(key=key):
                added.add(key)
            case RemoveVoter(key=key):
                removed.add(key)
            case _:
                pass
    keys = frozenset(added), frozenset(removed)
    return Entry(begun.epoch, begun.base, begun.next, leader, whole, *keys)


Ends = frozenset[tuple[ReplicaKey, Offset | None]]


@dataclass(frozen=True, kw_only=True)
class ReplicaView:
    # Between moves all of the log is durable.
    key: ReplicaKey
    log: tuple[Entry, ...]
    state: str  # one of STATE_NAMES
    epoch: Epoch
    leader: NodeId
    stored_leader: NodeId
    voted: ReplicaKey | None
    finds_leader: bool  # knows the leader's address
    stands: bool  # will become a candidate after its time-out
    committed: Offset | None  # as far as it knows, if it leads or just did
    high_watermark: Offset | None  # of a leader
    ends: Ends  # of the replicas, as the leader knows them, not counted yet
    open: tuple[VoterChange, ...]  # changes with a waiting operator
    says: VotingKeys  # the voters, by its own account

    @cached_property
    def voters(self) -> VotingKeys:
        """The voters, by its log."""
        return voters_by(self.log)

    @cached_property
    def committed_log(self) -> tuple[Entry, ...]:
        """The committed entries, as far as it knows."""
        end = self.committed or 0
        return tuple(each for each in self.log if each.next <= end)

    @property
    def leads(self) -> bool:
        return self.state == STATE_NAMES[Leader]

    def renamed(self, naming: Naming) -> "ReplicaView":
        def node(known: NodeId) -> NodeId:
            return NO_NODE if known == NO_NODE else naming[known]

        return replace(
            self,
            key=renamed(self.key, naming),
            log=tuple(each.renamed(naming) for each in self.log),
            leader=node(self.leader),
            stored_leader=node(self.stored_leader),
            voted=None if self.voted is None else renamed(self.voted, naming),
            ends=frozenset((renamed(key, naming), end) for key, end in self.ends),
            open=tuple(replace(each, voter=renamed(each.voter, naming)) for each in self.open),
            says=frozenset(renamed(key, naming) for key in self.says),
        )

    def __str__(self) -> str:
        log = " ".join(f"[{each}]" for each in self.log)
        known = "" if self.committed is None else f", committed below {self.committed}"
        return f"{name(self.key)} {self.state} in {self.epoch}{known}: {log}"


def voters_by(log: tuple[Entry, ...]) -> VotingKeys:
    voters: VotingKeys = frozenset()
    for each in log:
        voters = each.after(voters)
    return voters


def view(replica: LiveReplica) -> ReplicaView:
    role, quorum = replica.role, replica.raft.quorum
    leader = role if isinstance(role, Leader) else None
    return ReplicaView(
        key=replica.key,
        log=tuple(entry(batch) for batch in replica.log.batches),
        state=STATE_NAMES[type(role)],
        epoch=role.epoch,
        leader=role.leader,
        stored_leader=replica.election.leader,
        voted=voted_in(role),
        finds_leader=isinstance(role, Follower | Prospective) and role.leader_at is not None,
        stands=isinstance(role, Unattached) and role.election_deadline_ns != NEVER_NS,
        committed=quorum.committed if isinstance(role, Leader | Resigned) else None,
        high_watermark=None if leader is None else leader.high_watermark,
        ends=frozenset() if leader is None else _telling_ends(leader, replica.log.end().offset),
        open=tuple(replica.open.values()),
        says=frozenset(quorum.voters.keys),
    )


def _telling_ends(leader: Leader, log_end: Offset) -> Ends:
    """Log ends by which more can be committed, or a replica can be added."""
    floor = leader.epoch_start if leader.high_watermark is None else leader.high_watermark
    return frozenset(
        (key, each.end)
        for key, each in leader.replicas.items()
        if each.end is not None and (each.end > floor or each.end == log_end)
    )
