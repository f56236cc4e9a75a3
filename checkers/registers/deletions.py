"""Which delete does each deletion in the committed log belong to, though it has no value?

An acknowledged delete has a record of its own in the log, or found the register without a value,
which need leave no record (ConfigurationControlManager writes what changes a value). A record
belongs to one delete that was asked for. Both are judged by when a record can have been written
(`log_times`): the records that a delete may belong to are consecutive, and so are those times, so
the greedy choice, giving each record to the delete with the earliest deadline, leaves as few
unmatched as possible (Glover, 1967). That all records and all acknowledged deletes can be matched
at once follows from each being matched by itself (Mendelsohn and Dulmage, 1958).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.evidence.evidence import Evidence
from checkers.history.sealed_run import LINEARIZABLE_READS
from checkers.registers.asked_for import NEVER
from checkers.registers.log_times import (
    LogTimes,
    Stretch,
    deletions,
    log_times,
    stretches_without,
)
from checkers.registers.stored_records import StoredRecord

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
