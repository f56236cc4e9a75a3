"""The sets of voters over the metadata log, by the control records on the disks, and as nodes trace
them.

A voter is a replica: a node with its disk. A set is in force from its record on, committed or not,
and no longer once the record is truncated. So it is asked for at an offset of one log: the newest
one, which holds all that is committed, or the one on a certain disk. Sets are written in full
(Voters, KIP-853) or change by one voter (AddVoter and RemoveVoter, KIP-856). If a log names none,
as with a static quorum, it is the set that the run was planned with, with unknown directories.
LeaderChange records name voters as well; they are judged by these sets.

Disks that were lost while the run went on, and whether a majority of the voters is left.

A voter is a node with its disk: a voter that lost its disk never votes again, whatever its node
comes back with (KIP-856). If so many voters have lost theirs that the rest is no majority, no node
can be elected and nothing can be committed any more: the quorum stops rather than forgets. This is
decided by the faults, which record the directory id of each disk that they took, and by the voters
of the newest log, which no longer include a lost disk's replica once an operator has removed it. If
voters are known by their ids alone (kraft.version 0), no voter is ever lost.
"""

import json
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from checkers.evidence.faults import FaultFact
from checkers.evidence.lives import NodeEvent
from checkers.evidence.traced_logs import StoredBatch, StoredLogs, stored_batches
from checkers.history.sealed_run import RunInfo
from checkers.history.tables import NO_DIRECTORY, VOTER_CHANGES

_HEADER, _WHOLE = "SnapshotHeader", "KRaftVoters"
_Row = Mapping[str, Any]
VoterRecords = Mapping[int, Sequence[_Row]]  # by node


class ReplicaKey(NamedTuple):
    """A node with its disk; NO_DIRECTORY: the disk is unknown."""

    node: int
    directory: str = NO_DIRECTORY


@dataclass(frozen=True)
class VoterSet:
    """The voters of one moment. One node may be two of them, by two disks (KIP-856)."""

    keys: frozenset[ReplicaKey]

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted({key.node for key in self.keys}))

    @property
    def majority(self) -> int:
        """The smallest number of voters that is more than half of them."""
        return len(self.keys) // 2 + 1

    @cached_property
    def _directories(self) -> Mapping[int, set[str]]:
        found: dict[int, set[str]] = defaultdict(set)
        for key in self.keys:
            found[key.node].add(key.directory)
        return dict(found)

    def includes(self, replica: ReplicaKey) -> bool:
        """Whether it is a voter; also if the disk is unknown, here or there."""
        known = self._directories.get(replica.node)
        if known is None:
            return False
        return replica.directory in known or NO_DIRECTORY in (replica.directory, *known)

    def count(self, replicas: Iterable[ReplicaKey]) -> int:
        """How many of these replicas are voters; a replica counts once at most."""
        return sum(map(self.includes, set(replicas)))

    def has_majority(self, replicas: Iterable[ReplicaKey]) -> bool:
        return self.count(replicas) >= self.majority


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterHistory:
    """The sets of one log: `sets[i]` is in force from `offsets[i]` on, the first one from 0.

    If a snapshot hides the log's head and names voters, the voters below `known` are unknown.
    """

    offsets: tuple[int, ...]
    sets: tuple[VoterSet, ...]
    known: int
    # Each epoch in the log, rising, and the offset at which it begins.
    epochs: tuple[int, ...]
    starts: tuple[int, ...]

    @property
    def newest(self) -> VoterSet:
        return self.sets[-1]

    @property
    def nodes(self) -> tuple[int, ...]:
        """All nodes that were ever voters."""
        return tuple(sorted({node for voters in self.sets for node in voters.nodes}))

    def at(self, offset: int) -> VoterSet:
        """The set in force when the log ended behind this offset."""
        return self.since(offset)[0]

    def before(self, offset: int) -> VoterSet:
        """The set before the one in force at an offset; the first one, if there is none."""
        return self.sets[max(bisect_right(self.offsets, offset) - 2, 0)]

    def since(self, offset: int) -> tuple[VoterSet, ...]:
        """The set in force at an offset, and all later ones."""
        return self.sets[max(bisect_right(self.offsets, offset) - 1, 0) :]

    def during(self, epoch: int) -> tuple[VoterSet, ...]:
        """The sets that were in force in an epoch: the one that it began with, and its changes.

        For an epoch without a record in the log, the set with which the next one began. None for an
        epoch with its beginning hidden by a snapshot, such as the first one in the log.
        """
        if self.known > 0 and epoch <= min(self.epochs, default=epoch):
            return ()
        begun, ended = bisect_left(self.epochs, epoch), bisect_right(self.epochs, epoch)
        start = self.starts[begun] if begun < len(self.starts) else self.offsets[-1]
        if start < self.known:
            return ()
        first = bisect_right(self.offsets, start) - 1
        until = len(self.offsets)
        if ended < len(self.starts):
            until = bisect_left(self.offsets, self.starts[ended])
        return self.sets[first : max(until, first + 1)]


def planned_voters(info: RunInfo) -> tuple[int, ...]:
    """The nodes that were planned to vote: the controllers; without roles, all nodes."""
    controllers = [int(node) for node, role in info.roles.items() if "controller" in role]
    return tuple(sorted(controllers)) or tuple(range(1, info.nodes + 1))


def voter_records(log_records: pa.Table) -> VoterRecords:
    """The records of voters on each node's disk, as they are."""
    kinds = pa.array(list(VOTER_RECORDS))
    about = log_records.filter(pc.is_in(log_records["type"], value_set=kinds))
    found: dict[int, list[_Row]] = defaultdict(list)
    for row in about.select(["node", "offset", "type", "detail"]).to_pylist():
        found[row["node"]].append(row)
    return found


def newest_log(planned: Sequence[int], logs: StoredLogs, records: VoterRecords) -> int | None:
    """The node with the log that holds all that is committed; None if no log of a voter can be
    read.

    By the epoch of its last batch and then its length (Raft, Leader Completeness). Voters are the
    nodes that were planned to be, and those that any log names.
    """
    histories = (_sets(records.get(one, ()), planned)[1] for one in logs)
    named = {node for sets in histories for voters in sets for node in voters.nodes}
    found = [node for node in named.union(planned) if logs.get(node)]
    return max(found, key=lambda one: (logs[one][-1].epoch, logs[one][-1].last, -one), default=None)


def voter_history(
    node: int | None, planned: Sequence[int], logs: StoredLogs, records: VoterRecords
) -> VoterHistory:
    """The sets by the log on a node's disk; for what a snapshot hides there, by another's log.

    That other log has to hold the first batch of this one: then they agree on all before it.
    """
    if node is None:
        return _history(*_sets((), planned), known=0, log=())
    log, rows = logs.get(node, []), list(records.get(node, ()))
    head = log[0].base if log else 0
    if head > 0:
        others = [one for one in logs if logs[one][0].base < head and log[0] in logs[one]]
        longest = min(others or [node], key=lambda one: (logs[one][0].base, one))
        rows = [row for row in records.get(longest, ()) if row["offset"] < head] + rows
        log = [batch for batch in logs[longest] if batch.base < head] + list(log)
        head = log[0].base
    known = _first_whole(rows) if head > 0 else 0
    return _history(*_sets(rows, planned), known=known, log=log)


def _first_whole(rows: Sequence[_Row]) -> int:
    """The offset at which a log first names all voters; a change alone does not name the others. 0
    if it names none, as with a static quorum."""
    heads = {row["offset"] for row in rows if row["type"] == _HEADER}
    named = [row for row in rows if row["type"] != _HEADER]
    whole = [row for row in named if row["type"] == _WHOLE or row["offset"] in heads]
    return min((int(row["offset"]) for row in whole), default=0)


def _history(
    offsets: tuple[int, ...],
    sets: tuple[VoterSet, ...],
    *,
    known: int,
    log: Sequence[StoredBatch],
) -> VoterHistory:
    starts: dict[int, int] = {}
    for batch in log:
        starts.setdefault(batch.epoch, batch.base)
    return VoterHistory(
        offsets=offsets,
        sets=sets,
        known=known,
        epochs=tuple(sorted(starts)),
        starts=tuple(starts[epoch] for epoch in sorted(starts)),
    )


def _sets(
    rows: Sequence[_Row], planned: Sequence[int]
) -> tuple[tuple[int, ...], tuple[VoterSet, ...]]:
    """The offset at which each set begins, and the set, along one log."""
    first = now = frozenset(ReplicaKey(node) for node in planned)
    found = {0: now}
    for row in sorted(rows, key=lambda row: int(row["offset"])):
        now = _CHANGES[row["type"]](now, first, json.loads(row["detail"] or "{}"))
        found[row["offset"]] = now
    keys = list(found.values())
    changed = [i for i, each in enumerate(keys) if i == 0 or each != keys[i - 1]]
    offsets = tuple(found)
    return tuple(offsets[i] for i in changed), tuple(VoterSet(keys[i]) for i in changed)


VoterKeys = frozenset[ReplicaKey]


def _whole(_now: VoterKeys, _first: VoterKeys, fields: _Row) -> VoterKeys:
    return frozenset(_key(voter) for voter in fields["voters"])


def _added(now: VoterKeys, _first: VoterKeys, fields: _Row) -> VoterKeys:
    """The first records of a KIP-856 quorum add the directories of voters known by id alone."""
    return (now - {ReplicaKey(fields["voterId"])}) | {_key(fields)}


def _removed(now: VoterKeys, _first: VoterKeys, fields: _Row) -> VoterKeys:
    return now - {_key(fields)}


def _anew(_now: VoterKeys, first: VoterKeys, _fields: _Row) -> VoterKeys:
    """A snapshot names all voters again."""
    return first


def _key(fields: _Row) -> ReplicaKey:
    return ReplicaKey(fields["voterId"], fields["voterDirectoryId"])


_CHANGES: Mapping[str, Callable[[VoterKeys, VoterKeys, _Row], VoterKeys]] = {
    _WHOLE: _whole,
    "AddVoter": _added,
    "RemoveVoter": _removed,
    _HEADER: _anew,
}

VOTER_RECORDS = tuple(_CHANGES)  # kinds of records about voters


# Sets of voters in the nodes' traces (q.voters).


@dataclass(frozen=True, slots=True)
class TracedVoters:
    """The voters from an offset of a node's log on, by a line of its trace."""

    line: NodeEvent
    voters: VoterSet

    @classmethod
    def of(cls, line: NodeEvent) -> "TracedVoters":
        rows = line.more.get("voters")
        assert isinstance(rows, list), line
        return cls(line, VoterSet(frozenset(ReplicaKey(row["id"], row["dir"]) for row in rows)))

    @property
    def offset(self) -> int:
        return self.line.offset

    @property
    def in_words(self) -> str:
        return ", ".join(f"node {key.node}" for key in sorted(self.voters.keys))


LostLogs = Mapping[ReplicaKey, Sequence[StoredBatch]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LostDisk:
    """A replica that is lost, and the fault that took its disk."""

    replica: ReplicaKey
    fault: FaultFact


@dataclass(frozen=True, slots=True, kw_only=True)
class LostMajority:
    """`voters`, of which no majority is left since `last` lost its disk."""

    voters: VoterSet
    lost: tuple[LostDisk, ...]  # those of them that were lost, in order
    last: LostDisk  # its loss left too few
    # From then on the voters with their disks were just a majority, so each of those that `last`
    # left had to have what was acknowledged: none of them may lack anything asked for later.
    each_needed_ns: int

    @property
    def begin_ns(self) -> int:
        """A majority was left up to here."""
        return self.last.fault.t_start

    @property
    def since_ns(self) -> int:
        """No majority was left from here on."""
        return self.last.fault.begin_ns

    @property
    def left(self) -> frozenset[ReplicaKey]:
        """The voters that have their disks at the end."""
        return self.voters.keys - {disk.replica for disk in self.lost}

    def __str__(self) -> str:
        nodes = ", ".join(f"node {disk.replica.node}" for disk in self.lost)
        return f"{nodes}, of {len(self.voters.keys)} voters, lost their disks"


def lost_disks(faults: Sequence[FaultFact]) -> tuple[LostDisk, ...]:
    """In the order in which they were lost, without those that were looked for and found not to be
    lost."""
    found = (disk for fault in faults if fault.wipes for disk in _taken_by(fault))
    return tuple(sorted(found, key=lambda disk: disk.fault.begin_ns))


def _taken_by(fault: FaultFact) -> Iterator[LostDisk]:
    for node in fault.nodes:
        before = fault.facts.get(f"node {node} directory_id_before")
        emptied = fault.facts.get(f"node {node} emptied")
        if isinstance(before, str) and before != NO_DIRECTORY and emptied:
            yield LostDisk(replica=ReplicaKey(node, before), fault=fault)


def lost_majority(
    voters: VoterSet, disks: Sequence[LostDisk], ops: pa.Table
) -> LostMajority | None:
    """None if a majority of the voters is left."""
    lost = tuple(disk for disk in disks if disk.replica in voters.keys)
    enough = len(voters.keys) - voters.majority + 1
    if len(lost) < enough:
        return None
    before = lost[enough - 2].fault.begin_ns if enough > 1 else 0
    return LostMajority(
        voters=voters,
        lost=lost,
        last=lost[enough - 1],
        each_needed_ns=max(before, _last_change_ns(ops)),
    )


def _last_change_ns(ops: pa.Table) -> int:
    """When the last requested change of voters was over; 0 without any. For one that was never
    answered, when it was asked for, as it may be in force since."""
    changes = ops.filter(pc.is_in(ops["f"], pa.array(VOTER_CHANGES)))
    times = pc.coalesce(changes["t1"], changes["t0"])
    return int(pc.max(times).as_py() or 0)


def lost_logs(lost_batches: pa.Table, table: pa.Table) -> LostLogs:
    """The metadata logs of lost disks, by replica; those that were read completely, from offset 0
    on."""
    found: dict[ReplicaKey, Sequence[StoredBatch]] = {}
    for row in table.filter(pc.is_null(table["problem"])).to_pylist():
        mine = lost_batches.filter(pc.equal(lost_batches["directory"], row["directory"]))
        log = stored_batches(mine).get(row["node"], [])
        if row["directory"] != NO_DIRECTORY and (not log or log[0].base == 0):
            found[ReplicaKey(row["node"], row["directory"])] = log
    return found
