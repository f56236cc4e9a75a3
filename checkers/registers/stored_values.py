"""The values of registers on the disks of a majority of the voters.

A voter that lost its disk counts with that disk's contents: it had them when the value was
committed, and no longer has them.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.traced_logs import SnapshotId, StoredBatch
from checkers.evidence.voter_history import ReplicaKey, VoterSet

# When the values of registers were requested, by the operations that may have happened.


NEVER = (1 << 63) - 1  # after every event
_CHANGES = pa.array(["write", "delete"])
Asked = tuple[str, str | None]  # key and value as in records; None is a deletion


class OpSpan(NamedTuple):
    """The events with which an operation began, and was known to have happened (or NEVER)."""

    begun: int
    done: int


def attempts(evidence: Evidence) -> Mapping[Asked, Sequence[OpSpan]]:
    """All operations that asked for a value, except those that were refused."""
    ops = evidence.tables["ops"]
    changes = pc.is_in(ops["f"], _CHANGES)
    mine = ops.filter(pc.and_(changes, pc.not_equal(ops["outcome"], "fail")))
    names = ("key", "value", "outcome", "invoke_index", "complete_index")
    found: dict[Asked, list[OpSpan]] = defaultdict(list)
    for key, value, outcome, begun, done in zip(
        *(mine[name].to_pylist() for name in names), strict=True
    ):
        asked = (key, None if value is None else str(value))
        found[asked].append(OpSpan(begun, done if outcome == "ok" else NEVER))
    return dict(found)


def first_begun(evidence: Evidence, asked: Asked) -> int:
    """When a client first asked for that value; NEVER, if none did."""
    found = evidence.once(attempts).get(asked, ())
    return min((each.begun for each in found), default=NEVER)


# The records of registers on the disks: those of the log, and the values in a snapshot.
#
# A log that begins behind a snapshot has the snapshot's records before its first one, at the last
# offset that the snapshot covers (`checkers.disk.metadata_log`). They were committed, at unknown
# offsets; values that were written and overwritten below the snapshot are nowhere (`cut_logs`).


CLIENT_METRICS = 16  # the resource type that registers are made of


class StoredRecord(NamedTuple):
    """A value of a register on a disk; None if it was deleted."""

    node: int
    offset: int
    epoch: int
    key: str
    value: str | None
    in_snapshot: bool


def lost_records(evidence: Evidence) -> tuple[tuple[ReplicaKey, StoredRecord], ...]:
    """The same for the lost disks that could be read completely, with the replica of each."""
    return tuple(_lost(evidence))


def _lost(evidence: Evidence) -> Iterator[tuple[ReplicaKey, StoredRecord]]:
    records = evidence.tables["lost_records"]
    metrics = records.filter(pc.equal(records["resource_type"], CLIENT_METRICS))
    for row in metrics.filter(pc.equal(metrics["type"], "Config")).to_pylist():
        replica = ReplicaKey(row["node"], row["directory"])
        if replica in evidence.lost_logs:
            named = (row["node"], row["offset"], row["epoch"], row["resource"], row["value"])
            yield replica, StoredRecord(*named, in_snapshot=False)


def stored_records(evidence: Evidence) -> tuple[StoredRecord, ...]:
    return tuple(_stored_record(evidence))


def _stored_record(evidence: Evidence) -> Iterator[StoredRecord]:
    names = ("node", "offset", "epoch", "type", "resource_type", "resource", "value")
    records = evidence.tables["log_records"]
    in_snapshot_of: int | None = None
    for node, offset, epoch, kind, of, key, value in zip(
        *(records[name].to_pylist() for name in names), strict=True
    ):
        if kind == "SnapshotHeader":
            in_snapshot_of = node
        elif kind == "SnapshotFooter":
            in_snapshot_of = None
        elif kind == "Config" and of == CLIENT_METRICS:
            yield StoredRecord(node, offset, epoch, key, value, in_snapshot_of == node)


# Logs that begin behind a snapshot: what may have been in the part that is cut?
#
# A write below the log's first offset that was overwritten there is nowhere, and not lost. So a
# disk with a cut log counts as having a write that it does not hold, unless the write would have to
# be there. It would have to be
#
# * in the log, if it began after a write in the log had been acknowledged: a leader appends above
#   all that is committed. And if another disk's log has it, or the batch before it, which this one
#   continues: two logs that hold the same batch agree on all before it (Raft, Log Matching). So a
#   cut log is read from where the longest of those begins.
# * in the snapshot, if nothing followed it below the snapshot's end: where the value that the
#   snapshot has had been acknowledged before the write began, or where it has none and no client
#   can have deleted the register since.
#
# For concurrent writes it is unknown which came first: either is believed.


_Values = Mapping[str, tuple[Sequence[int], Sequence[str | None]]]  # by key, in log order


@dataclass(frozen=True, slots=True, kw_only=True)
class CutLog:
    """The cut log of one disk."""

    own_start: int  # the first offset of its log
    start: int  # from here on all that it held is known, from another log or its own
    end: int  # the snapshot's
    image: Mapping[str, str]  # the snapshot's value of each register
    values: _Values  # the values from `start` on
    attempts: Mapping[Asked, Sequence[OpSpan]]
    until: int  # a write that began after this event is at `start` or above

    def stood_at(self, key: str, value: str, offset: int, begun: int) -> bool:
        """Whether it held, below its own first offset, the record that another log has at this
        one."""
        if offset < self.start:
            return self.may_have_held(key, value, begun)
        offsets, values = self.values.get(key, ((), ()))
        at = bisect_right(offsets, offset) - 1
        if at < 0 or (offsets[at], values[at]) != (offset, value):
            return False
        followed = at + 1 < len(offsets) and offsets[at + 1] < self.end
        return followed or self.image.get(key) == value

    def may_have_held(self, key: str, value: str, begun: int) -> bool:
        """Whether it may have held, below all that is known, a write that was asked for at that
        event."""
        if self.start == 0 or begun >= self.until:
            return False
        now = self.image.get(key)
        offsets, values = self.values.get(key, ((), ()))
        if now == value or (offsets and offsets[0] < self.end):
            return True
        followed = self.attempts.get((key, now), ())
        return len(followed) > values.count(now) and any(
            each.begun < self.until and each.done > begun for each in followed
        )


def cut_logs(evidence: Evidence) -> Mapping[ReplicaKey, CutLog]:
    """Those of the completely read disks with logs that begin with a snapshot."""
    found: list[_Log] = []
    for log in sorted(_logs(evidence), key=lambda log: log.own_start):
        log.continue_one_of(found)
        found.append(log)
    asked = evidence.once(attempts)
    return {
        evidence.disks[log.node]: CutLog(
            own_start=log.own_start,
            start=log.start,
            end=log.snapshot.end,
            image=log.image,
            values=_values(log.records),
            attempts=asked,
            until=_earliest_end(log.records, asked),
        )
        for log in found
        if log.snapshot is not None
    }


@dataclass(slots=True, kw_only=True)
class _Log:
    """The contents of a node's log, and then those of the logs that it continues."""

    node: int
    batches: Sequence[StoredBatch]
    snapshot: SnapshotId | None
    image: Mapping[str, str]
    records: list[StoredRecord]
    own_start: int
    start: int

    def continue_one_of(self, others: Iterable["_Log"]) -> None:
        """Take over the records of the longest of them before this one's first record."""
        longer = [one for one in others if one.start < self.own_start and one.leads_to(self)]
        if longer:
            longest = min(longer, key=lambda one: one.start)
            before = [one for one in longest.records if one.offset < self.own_start]
            self.start, self.records = longest.start, before + self.records

    def leads_to(self, other: "_Log") -> bool:
        """Whether it holds the other's first batch, or the last one below the other's snapshot."""
        if other.batches:
            return other.batches[0] in self.batches
        last = other.snapshot
        return last is not None and any(
            (batch.last + 1, batch.epoch) == last for batch in self.batches
        )


def _logs(evidence: Evidence) -> Iterator[_Log]:
    cut = evidence.first_snapshots
    records: dict[int, list[StoredRecord]] = defaultdict(list)
    images: dict[int, dict[str, str]] = defaultdict(dict)
    for record in evidence.once(stored_records):
        if not record.in_snapshot:
            records[record.node].append(record)
        elif record.value is not None:
            images[record.node][record.key] = record.value
    for row in evidence.tables["disks"].to_pylist():
        node, batches = row["node"], evidence.metadata_logs.get(row["node"], [])
        if row["problem"] is not None:
            continue
        start = batches[0].base if batches else cut[node].end if node in cut else 0
        yield _Log(
            node=node,
            batches=batches,
            snapshot=cut.get(node),
            image=images[node],
            records=records[node],
            own_start=start,
            start=start,
        )


def _values(records: Iterable[StoredRecord]) -> _Values:
    found: dict[str, tuple[list[int], list[str | None]]] = defaultdict(lambda: ([], []))
    for record in records:
        offsets, values = found[record.key]
        offsets.append(record.offset)
        values.append(record.value)
    return dict(found)


def _earliest_end(records: Iterable[StoredRecord], asked: Mapping[Asked, Sequence[OpSpan]]) -> int:
    """The event at which the first of these writes was acknowledged. If one was asked for several
    times, it is unknown which attempt a record belongs to."""
    known = (asked.get((record.key, record.value), ()) for record in records)
    return min((each[0].done for each in known if len(each) == 1), default=NEVER)


Written = tuple[str, str]  # key and value, as the record has them
_Place = tuple[int, frozenset[ReplicaKey]]  # an offset, and the disks that have a value there
_BEHIND_ALL = (1 << 63) - 1  # an offset


@dataclass(frozen=True, slots=True)
class StoredOn:
    """The disks that have one value. `possible`: disks that were not read may have the rest.
    `overwritten`: it is nowhere, and may have been overwritten below the snapshots of a majority.
    `kept` and `lacking`: voters with a remaining disk that have it where a majority had it, and
    those that were read completely and lack it there."""

    times: int  # the offsets at which a majority of the voters has it
    most: int  # the most voters that have it at one offset
    possible: bool
    overwritten: bool = False
    kept: int = 0
    lacking: int = 0
    lost: frozenset[ReplicaKey] = frozenset()  # disks that had it and were lost


def stored_on(evidence: Evidence, written: Written, begun: int) -> StoredOn:
    """For a value that was asked for when the event `begun` happened."""
    found = evidence.once(_stored_in_logs).get(written)
    asked = evidence.once(attempts).get(written, ())
    if found is not None and (found.times or len(asked) <= 1):
        return found  # a value that was asked for once is at one offset
    if evidence.once(cut_logs):
        return _stored_below(evidence, written, begun)
    return found or evidence.once(_stored_nowhere)


def whole_disks(evidence: Evidence) -> frozenset[ReplicaKey]:
    """The disks that were read completely: from offset 0 on, or from a snapshot on; lost ones, from
    offset 0 on."""
    batches, cut = evidence.tables["log_batches"], evidence.first_snapshots
    starts = batches.group_by("node").aggregate([("base_offset", "min")]).to_pylist()
    begin = {row["node"]: row["base_offset_min"] for row in starts}
    found = frozenset(
        evidence.disks[row["node"]]
        for row in evidence.tables["disks"].to_pylist()
        if row["problem"] is None and (row["node"] in cut or begin.get(row["node"], 0) == 0)
    )
    return found | evidence.lost_logs.keys()


def complete_disks(evidence: Evidence) -> str:
    """How many disks of the voters could be read completely, in words."""
    voters = evidence.voters.newest
    return f"{_count(evidence, voters, evidence.once(whole_disks))} of {len(voters.keys)} disks"


def _stored_in_logs(evidence: Evidence) -> Mapping[Written, StoredOn]:
    """For each value in a log."""
    highest, disks = highest_high_watermark(evidence), evidence.disks
    places: dict[Written, dict[tuple[int, int], set[ReplicaKey]]] = defaultdict(dict)
    for record in evidence.once(stored_records):
        if record.in_snapshot or record.value is None:
            continue
        of_value = places[record.key, record.value]
        if highest is None or record.offset < highest:
            having = of_value.setdefault((record.offset, record.epoch), set())
            having.add(disks.get(record.node, ReplicaKey(record.node)))
    for replica, record in evidence.once(lost_records):
        if record.value is not None and (highest is None or record.offset < highest):
            of_value = places[record.key, record.value]
            of_value.setdefault((record.offset, record.epoch), set()).add(replica)
    known: dict[Hashable, StoredOn] = {}  # most values are on the same disks as others
    found = {}
    for written, of_value in places.items():
        stands = _stands(evidence, written, of_value)
        where = tuple((_decided_from(evidence, offset), having) for offset, having in stands)
        if where not in known:
            known[where] = _stored(evidence, stands)
        found[written] = known[where]
    return found


def _stands(
    evidence: Evidence, written: Written, of_value: Mapping[tuple[int, int], set[ReplicaKey]]
) -> list[_Place]:
    """The disks that have a value, or had it before a log was cut."""
    if not evidence.once(cut_logs):
        return [(offset, frozenset(having)) for (offset, _), having in of_value.items()]
    return [
        (offset, frozenset(having | _stood_at(evidence, written, offset)))
        for (offset, _), having in of_value.items()
    ]


def _stood_at(evidence: Evidence, written: Written, offset: int) -> set[ReplicaKey]:
    """The disks with logs that begin above this offset and had the value there."""
    cut = evidence.once(cut_logs).items()
    behind = [(disk, log) for disk, log in cut if offset < log.own_start]
    if not behind:
        return set()
    begun = first_begun(evidence, written)
    return {disk for disk, log in behind if log.stood_at(*written, offset, begun)}


def _stored_below(evidence: Evidence, written: Written, begun: int) -> StoredOn:
    """For a value that is in no log: in snapshots, or overwritten below them."""
    key, value = written
    logs = evidence.once(cut_logs).items()
    in_images = _stored(
        evidence, [(0, frozenset(disk for disk, log in logs if log.image.get(key) == value))]
    )
    if in_images.times:
        return in_images
    may_have = frozenset(disk for disk, log in logs if log.may_have_held(key, value, begun))
    below = _stored(evidence, [(0, may_have)])
    return replace(below, times=0, overwritten=below.times > 0)


def _stored_nowhere(evidence: Evidence) -> StoredOn:
    """For a value that no disk has."""
    return _stored(evidence, [])


def _stored(evidence: Evidence, places: Sequence[_Place]) -> StoredOn:
    whole, gone = evidence.once(whole_disks), evidence.lost_logs.keys()
    times = most = kept = lacking = 0
    possible, lost = False, frozenset[ReplicaKey]()
    for offset, having in places or [(_BEHIND_ALL, frozenset[ReplicaKey]())]:
        has_majority = False
        for voters in _deciding(evidence, offset):
            count = _count(evidence, voters, having)
            most = max(most, count)
            if count < voters.majority:
                unread = len(voters.keys) - _count(evidence, voters, whole)
                possible |= count + unread >= voters.majority
            else:
                possible = has_majority = True
        times += has_majority
        lost |= having & gone
        if has_majority:
            newest, left = evidence.voters.newest, having - gone
            kept, lacking = newest.count(left), newest.count(whole - gone - having)
    return StoredOn(times, most, possible, kept=kept, lacking=lacking, lost=lost)


def _count(evidence: Evidence, voters: VoterSet, replicas: Set[ReplicaKey]) -> int:
    """How many of these are voters; one that lost its disk counts only if it is known to have been
    a voter by that disk."""
    gone = evidence.lost_logs.keys()
    return voters.count(replicas - gone) + len(voters.keys & replicas & gone)


def _deciding(evidence: Evidence, offset: int) -> Sequence[VoterSet]:
    """The sets of voters of which a majority must have the records committed there: the last
    committed one, and any later one. One of them is enough, for it was in force when the record was
    committed."""
    return evidence.voters.since(_decided_from(evidence, offset))


def _decided_from(evidence: Evidence, offset: int) -> int:
    """For everything below the end of the committed log there."""
    log = evidence.committed_log
    return max(offset, log.end - 1 if log else 0)


def highest_high_watermark(evidence: Evidence) -> int | None:
    """All records that nodes reported as committed are below it. None if a node did not report one:
    the others may have committed more."""
    if not evidence.gives(Kind.TRACES):
        return None
    events = evidence.tables["node_events"]
    highest = pc.max(events.filter(pc.equal(events["event"], "q.hwm"))["hwm"]).as_py()
    assert highest is None or isinstance(highest, int)
    return highest
