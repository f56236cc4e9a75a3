"""Logs that begin behind a snapshot: what may have been in the part that is cut?

A write below the log's first offset that was overwritten there is nowhere, and not lost. So a disk
with a cut log counts as having a write that it does not hold, unless the write would have to be
there. It would have to be

* in the log, if it began after a write in the log had been acknowledged: a leader appends above all
  that is committed. And if another disk's log has it, or the batch before
  it, which this one continues: two logs that hold the same batch agree on all before it (Raft, Log
  Matching). So a cut log is read from where the longest of those begins.
* in the snapshot, if nothing followed it below the snapshot's end: where the value that the
  snapshot has had been acknowledged before the write began, or where it has none and no client can
  have deleted the register since.

For concurrent writes it is unknown which came first: either is believed.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkers.evidence.evidence import Evidence
from checkers.evidence.metadata_logs import SnapshotId, StoredBatch
from checkers.evidence.voter_history import ReplicaKey
from checkers.registers.asked_for import NEVER, Asked, OpSpan, attempts
from checkers.registers.stored_records import StoredRecord, stored_records

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
