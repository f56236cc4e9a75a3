"""The committed log of registers on the clients' time line: which state held when, and which delete
each deletion belongs to.

It is known when the operation that asked for a record began, and when it was answered. Later
records were appended later, so each record was written no earlier than the start of any operation
with a record before it, and no later than the answer of any with a record after it (`earliest` and
`latest`, events). Between two records of a register it had one state. A deletion has no value that
identifies its operation, so only its neighbours bound its time.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.evidence.evidence import Evidence
from checkers.history.sealed_run import LINEARIZABLE_READS
from checkers.registers.stored_values import (
    NEVER,
    OpSpan,
    StoredRecord,
    attempts,
    lost_records,
    stored_records,
    whole_disks,
)

BEFORE_ALL = -1  # an event
RegisterState = tuple[str, str | None]  # a register and its value; None: it has none


class Stretch(NamedTuple):
    """A register had one state from an event at the earliest to one at the latest."""

    offset: int  # of the record with which it began; -1 for the state before all
    state: RegisterState
    earliest: int
    latest: int
    outlived: bool  # it ended under another leader than it began


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTimes:
    """`records` in the order of the log; the other columns have one number for each."""

    records: Sequence[StoredRecord]
    begun: Ints  # of the operation that asked for it; BEFORE_ALL if several may have
    done: Ints  # NEVER if several may have, or none was answered
    earliest: Ints
    latest: Ints
    # The event up to which a register may have had any state, below the log's start.
    unknown_until: Mapping[str, int]
    stretches: Sequence[Stretch]  # by register, and within it in the order of the log
    complete: bool  # no disk that could not be read may hold more

    def may_be_below(self, key: str, begun: int) -> bool:
        """Whether a write that was asked for at that event may be below all that the log has."""
        return begun <= self.unknown_until.get(key, BEFORE_ALL)


def log_times(evidence: Evidence) -> LogTimes | None:
    """None if the committed log cannot be read."""
    log, snapshots = evidence.committed_log, evidence.first_snapshots
    if log is None and not snapshots:
        return None
    # Nothing may have been written since all snapshots were taken.
    node = log.node if log is not None else max(snapshots, key=lambda each: snapshots[each].end)
    voters = evidence.voters.newest
    complete = voters.count(evidence.once(whole_disks)) >= len(voters.keys)
    # A snapshot holds committed records, also on a disk without any record after it.
    ends = [each.end for each in snapshots.values()] + ([log.end] if log is not None else [])
    end = max(ends) if complete else NEVER
    stored = [each for each in evidence.once(stored_records) if each.node == node]
    mine = [each for each in stored if not each.in_snapshot and each.offset < end]
    mine += _on_lost_disks(evidence, mine[-1].offset if mine else -1)
    snapshot = snapshots.get(node)
    begins = log.batches[0].base if log is not None and log.batches else 0
    begins = begins or (snapshot.end if snapshot is not None else 0)
    image = None
    if snapshot is not None and snapshot.end == begins:
        image = {each.key: each.value for each in stored if each.in_snapshot}
    keys = [key for key in evidence.tables["ops"]["key"].unique().to_pylist() if key is not None]
    first_epoch = log.batches[0].epoch if log is not None and log.batches else 0
    return _timed(
        mine,
        first_epoch,
        evidence.once(attempts),
        keys,
        cut=begins > 0,
        image=image,
        complete=complete,
    )


def _on_lost_disks(evidence: Evidence, last: int) -> list[StoredRecord]:
    """The records on a lost disk above those on all disks that are left; of the disk that had the
    most."""
    if evidence.lost_majority is None:
        return []
    beyond: dict[object, list[StoredRecord]] = {}
    for replica, record in evidence.once(lost_records):
        if record.offset > last:
            beyond.setdefault(replica, []).append(record)
    return max(beyond.values(), key=lambda records: records[-1].offset, default=[])


def _timed(
    records: Sequence[StoredRecord],
    first_epoch: int,
    asked: Mapping[RegisterState, Sequence[OpSpan]],
    keys: Sequence[str],
    *,
    cut: bool,
    image: Mapping[str, str | None] | None,
    complete: bool,
) -> LogTimes:
    times: dict[RegisterState, int] = {}
    for record in records:
        times[record.key, record.value] = times.get((record.key, record.value), 0) + 1
    spans = [_span(each, asked, times) for each in records]
    begun = np.array([span.begun for span in spans], np.int64)
    done = np.array([span.done for span in spans], np.int64)
    earliest = np.maximum.accumulate(begun) if len(begun) else begun
    latest = np.minimum.accumulate(done[::-1])[::-1] if len(done) else done
    stretches, unknown = _stretches(
        records, first_epoch, earliest.tolist(), latest.tolist(), asked, keys, cut=cut, image=image
    )
    return LogTimes(
        records=records,
        begun=begun,
        done=done,
        earliest=earliest,
        latest=latest,
        unknown_until=unknown,
        stretches=stretches,
        complete=complete,
    )


def _span(
    record: StoredRecord,
    asked: Mapping[RegisterState, Sequence[OpSpan]],
    times: Mapping[RegisterState, int],
) -> OpSpan:
    """The time of the operation that asked for a record, as far as it is known which one did."""
    state = (record.key, record.value)
    known = asked.get(state, ())
    if record.value is None or not known:
        return OpSpan(BEFORE_ALL, NEVER)
    if len(known) == 1 == times[state]:
        return known[0]
    return OpSpan(min(each.begun for each in known), NEVER)


def _stretches(
    records: Sequence[StoredRecord],
    first_epoch: int,
    earliest: Sequence[int],
    latest: Sequence[int],
    asked: Mapping[RegisterState, Sequence[OpSpan]],
    keys: Sequence[str],
    *,
    cut: bool,
    image: Mapping[str, str | None] | None,
) -> tuple[list[Stretch], dict[str, int]]:
    """And the event up to which the state of a register may have been any."""
    rows: dict[str, list[int]] = {}
    for row, record in enumerate(records):
        rows.setdefault(record.key, []).append(row)
    found: list[Stretch] = []
    unknown: dict[str, int] = {}
    begins = latest[0] if latest else NEVER
    for key in sorted(rows.keys() | set(image or ()) | set(keys)):
        own = rows.get(key, [])
        until = latest[own[0]] if own else NEVER
        outlived = bool(own) and records[own[0]].epoch > first_epoch
        if not cut:
            found.append(Stretch(-1, (key, None), BEFORE_ALL, until, outlived))
        elif image is None:
            unknown[key] = until
        else:
            value = image.get(key)
            known = asked.get((key, value), ()) if value is not None else ()
            began = min((each.begun for each in known), default=BEFORE_ALL)
            unknown[key] = min(begins, known[0].done if len(known) == 1 else NEVER)
            found.append(Stretch(-1, (key, value), began, until, outlived))
        for row, after in zip_longest(own, own[1:]):
            ends = NEVER if after is None else latest[after]
            record = records[row]
            outlived = after is not None and records[after].epoch > record.epoch
            state = (key, record.value)
            found.append(Stretch(record.offset, state, earliest[row], ends, outlived))
    return found, unknown


def stretches_without(times: LogTimes, below: int) -> Mapping[str, Sequence[Stretch]]:
    """By register, when it had no value; by the records below this offset."""
    found: dict[str, list[Stretch]] = {}
    for each in times.stretches:
        if each.state[1] is None and each.offset < below:
            found.setdefault(each.state[0], []).append(each)
    return found


def deletions(times: LogTimes) -> Iterator[tuple[str, Sequence[int]]]:
    """Each register that was deleted, with the rows of its deletions."""
    found: dict[str, list[int]] = {}
    for row, record in enumerate(times.records):
        if record.value is None:
            found.setdefault(record.key, []).append(row)
    yield from found.items()


# The delete that each deletion in the committed log belongs to, though it has no value.
#
# An acknowledged delete has a record of its own in the log, or found the register without a value,
# which need leave no record (ConfigurationControlManager writes what changes a value). A record
# belongs to one requested delete. Both are judged by when a record can have been written
# (`log_times`): the records that a delete may belong to are consecutive, and so are those times, so
# the greedy choice, giving each record to the delete with the earliest deadline, leaves as few
# unmatched as possible (Glover, 1967). That all records and all acknowledged deletes can be matched
# at once follows from each being matched by itself (Mendelsohn and Dulmage, 1958).


_Row = dict[str, Any]
_SHOWN = ["op_id", "process", "node", "key", "f", "value", "outcome", "error", "t0", "t1"]
_SHOWN += ["invoke_index", "complete_index", "request"]


class Without(NamedTuple):
    """The rows of deletions, and the numbers of deletes, that are left unmatched."""

    deletions: Sequence[int]
    deletes: Sequence[int]


def deletes_of(evidence: Evidence) -> Mapping[str, Sequence[_Row]]:
    """Those that were not refused, by register."""
    ops = evidence.tables["ops"]
    deletes = ops.filter(
        pc.and_(pc.equal(ops["f"], "delete"), pc.not_equal(ops["outcome"], "fail"))
    )
    found: dict[str, list[_Row]] = defaultdict(list)
    for row in deletes.select(_SHOWN).to_pylist():
        found[row["key"]].append(row)
    return dict(found)


def lost_deletes(evidence: Evidence, below: int | None) -> Iterator[tuple[_Row, bool]]:
    """The acknowledged deletes, and whether each can have happened by the committed log; nothing at
    or above the offset `below` counts as committed. Empty if there is no such log."""
    times = evidence.once(log_times)
    assert times is not None
    limit = NEVER if below is None else below
    rows = {
        key: [row for row in own if times.records[row].offset < limit]
        for key, own in deletions(times)
    }
    empty = stretches_without(times, limit)
    for key, deletes in evidence.once(deletes_of).items():
        acknowledged = [row for row in deletes if row["outcome"] == "ok"]
        needing = [
            row
            for row in acknowledged
            if not _found_nothing(row, may_be_of(evidence, row), empty.get(key, ()))
        ]
        needing = [row for row in needing if not times.may_be_below(key, row["invoke_index"])]
        lost = set(without(times, rows.get(key, ()), needing).deletes)
        gone = {needing[number]["op_id"] for number in lost}
        yield from ((row, row["op_id"] not in gone) for row in acknowledged)


def unasked_deletions(
    times: LogTimes, deletes: Mapping[str, Sequence[_Row]]
) -> Iterator[StoredRecord]:
    """The deletions in the committed log that belong to none of these deletes."""
    for key, rows in deletions(times):
        yield from (
            times.records[row] for row in without(times, rows, deletes.get(key, ())).deletions
        )


def without(times: LogTimes, rows: Sequence[int], deletes: Sequence[_Row]) -> Without:
    """The unmatched ones of the deletions in these rows of one register, and of its deletes, when
    as many as possible are matched."""
    own = np.array(rows, np.int64)
    begun = np.array([row["invoke_index"] for row in deletes], np.int64)
    done = np.array([_done(row) for row in deletes], np.int64)
    first = np.searchsorted(times.latest[own], begun, "left")
    last = np.searchsorted(times.earliest[own], done, "right") - 1
    return _matched(len(own), first, last, own)


def _matched(records: int, first: Ints, last: Ints, rows: Ints) -> Without:
    by_first = np.argsort(first, kind="stable").tolist()
    waiting: list[tuple[int, int]] = []
    alone: list[int] = []
    at = 0
    suited = set()
    for record in range(records):
        while at < len(by_first) and first[by_first[at]] <= record:
            heappush(waiting, (int(last[by_first[at]]), by_first[at]))
            at += 1
        while waiting and waiting[0][0] < record:
            heappop(waiting)
        if waiting:
            suited.add(heappop(waiting)[1])
        else:
            alone.append(int(rows[record]))
    return Without(alone, [number for number in range(len(first)) if number not in suited])


def may_be_of(evidence: Evidence, row: _Row) -> int:
    """The event from which on the state may be that a controller answered with: the beginning of
    the operation, if the target promises it. Kafka answers without confirming that it leads, and so
    may a deposed leader that does not know it; for no longer than check-quorum takes, which is 1.5
    fetch time-outs, or twice that if a voter fetched from it after the cut."""
    if LINEARIZABLE_READS in evidence.info.promises:
        return int(row["invoke_index"])
    fetch_ms = float(evidence.info.conditions.get("fetch_timeout_ms", 2000))
    times, indices = evidence.once(_completions)
    at = int(np.searchsorted(times, row["t0"] - int(3 * fetch_ms * 1e6), "left"))
    return min(int(row["invoke_index"]), int(indices[at])) if at < len(indices) else 0


def _completions(evidence: Evidence) -> tuple[Ints, Ints]:
    """When operations ended, rising, and the first event from each of these times on."""
    ops = evidence.tables["ops"]
    ended = ops.filter(pc.and_(ops["t1"].is_valid(), ops["complete_index"].is_valid()))
    order = np.argsort(ended["t1"].to_numpy(), kind="stable")
    indices = ended["complete_index"].to_numpy()[order]
    return ended["t1"].to_numpy()[order], np.minimum.accumulate(indices[::-1])[::-1]


def _found_nothing(row: _Row, began: int, empty: Sequence[Stretch]) -> bool:
    """Whether the register had no value at some moment of the delete, or from that event on for an
    earlier leader."""
    return any(
        each.earliest <= _done(row)
        and each.latest >= (began if each.outlived else row["invoke_index"])
        for each in empty
    )


def _done(row: _Row) -> int:
    return int(row["complete_index"]) if row["outcome"] == "ok" else NEVER
