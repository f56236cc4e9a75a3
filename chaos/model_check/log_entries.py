"""The contents of logs, read without the node's own view of the voters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from chaos.model_check.setting import disk, disk_number, name
from node.ids import Epoch, NodeId, Offset, ReplicaKey
from node.records.batch import Batch
from node.records.control import (
    AddVoter,
    ControlRecord,
    LeaderChange,
    RemoveVoter,
    Voters,
    decode_control,
)

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
