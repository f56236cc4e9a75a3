"""Disks that were lost while the run went on, and whether a majority of the voters is left.

A voter is a node with its disk: a voter that lost its disk never votes again, whatever its node
comes back with (KIP-856). If so many voters have lost theirs that the rest is no majority, no node
can be elected and nothing can be committed any more: the quorum stops rather than forgets. This is
decided by the faults, which record the directory id of each disk that they took, and by the voters
of the newest log, which no longer include a lost disk's replica once an operator has removed it. If
voters are known by their ids alone (kraft.version 0), no voter is ever lost.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from checkers.evidence.faults import FaultFact
from checkers.evidence.metadata_logs import StoredBatch, stored_batches
from checkers.evidence.voter_history import ReplicaKey, VoterSet
from checkers.history.tables import NO_DIRECTORY, VOTER_CHANGES

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
