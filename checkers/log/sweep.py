"""Runs all kernels over one history, with the simpler kernels: losses, conflicts of offsets,
reads."""

from collections.abc import Iterator

import numpy as np

from checkers.array_types import Codes, Flags, Ints
from checkers.history.calls import Outcome
from checkers.log.allowances import Isolation
from checkers.log.anomalies import Anomaly, Cases, cases, in_order
from checkers.log.arrays import CORRUPT, NONE, Acks, LogArrays
from checkers.log.cycles import cycles
from checkers.log.dependencies import UNKNOWN, Entries, VersionOrder, version_order
from checkers.log.high_watermarks import high_watermarks
from checkers.log.positions import positions, realtime

# Acknowledged records that were never polled, by Jepsen's two definitions. They use polls only.
#
# The disks decide whether a record is lost or late: see `fates`.


def losses(log: LogArrays, order: VersionOrder) -> Iterator[Cases]:
    """lost-write: it must have happened, a consumer polled past it, and none polled it.

    unseen: acknowledged, never polled, and not even shown to be lost.
    """
    bound = _bound(log, order)
    rank = order.last_rank[: len(log.sent)]
    unread = ~order.read[: len(log.sent)]
    lost = unread & order.committed & (rank != UNKNOWN) & (rank <= bound[log.sent.key])
    codes = np.flatnonzero(lost).astype(np.int32)
    past = _reader_past(log, order, bound)[log.sent.key[codes]]
    yield cases(
        Anomaly.LOST_WRITE,
        log.sent.key[codes],
        one=log.sent.op[codes],
        other=log.polled.op[past],
        one_offset=log.sent.offset[codes],
        other_offset=log.polled.offset[past],
        one_value=codes,
        other_value=log.polled.value[past],
    )
    acknowledged = (log.ops.outcome[log.sent.op] == Outcome.OK) & (log.sent.acks == Acks.ALL)
    codes = np.flatnonzero(unread & acknowledged & ~lost).astype(np.int32)
    yield cases(
        Anomaly.UNSEEN,
        log.sent.key[codes],
        other=log.sent.op[codes],
        other_offset=log.sent.offset[codes],
        other_value=codes,
    )


def _bound(log: LogArrays, order: VersionOrder) -> Ints:
    """By key: the highest of the first ranks of all values read; every value below it had to be
    seen."""
    bound = np.full(len(log.keys), NONE, np.int64)
    good = np.flatnonzero(log.ops.outcome[log.polled.op] == Outcome.OK)
    good = good[order.polled_rank[good] != UNKNOWN]
    np.maximum.at(bound, log.polled.key[good], order.first_rank[log.polled.value[good]])
    return bound


def _reader_past(log: LogArrays, order: VersionOrder, bound: Ints) -> Codes:
    """By key: a row of `PolledRecords` that read the value at the bound."""
    reader = np.zeros(len(log.keys), np.int32)
    ok = log.ops.outcome[log.polled.op] == Outcome.OK
    at_bound = np.flatnonzero(ok & (order.polled_rank == bound[log.polled.key]))
    reader[log.polled.key[at_bound]] = at_bound
    return reader


# One offset, one record: which record is at which offset, and which operations contradict it.


def offset_conflicts(log: LogArrays, order: VersionOrder) -> Iterator[Cases]:
    """inconsistent-offsets: an offset holds two values. duplicate: a value is at two offsets."""
    entries = order.entries
    told_first = order.first_at[entries.slot]
    differ = np.flatnonzero(entries.value[told_first] != entries.value)
    yield _pairs(entries, Anomaly.INCONSISTENT_OFFSETS, *_firsts(entries.slot, differ, told_first))
    seen_first = np.empty(log.values, np.int32)
    rows = np.arange(len(entries.value), dtype=np.int32)
    seen_first[entries.value[::-1]] = rows[::-1]
    before = seen_first[entries.value]
    moved = np.flatnonzero(entries.slot[before] != entries.slot)
    yield _pairs(entries, Anomaly.DUPLICATE, *_firsts(entries.value, moved, before))


def _firsts(group: Ints | Codes, rows: Ints, before: Codes) -> tuple[Codes, Codes]:
    """One case per place or value: the first of `rows`, and the entry that it contradicts."""
    chosen = rows[np.unique(group[rows], return_index=True)[1]]
    chosen.sort()
    return before[chosen], chosen.astype(np.int32)


def _pairs(entries: Entries, anomaly: Anomaly, one: Codes, other: Codes) -> Cases:
    return cases(
        anomaly,
        entries.key[one],
        one=entries.op[one],
        other=entries.op[other],
        one_offset=entries.offset[one],
        other_offset=entries.offset[other],
        one_value=entries.value[one],
        other_value=entries.value[other],
    )


# What a poll returned, against what was sent.


def reads(log: LogArrays) -> Iterator[Cases]:
    """corrupt, phantom: no client sent it. G1a: its send failed. future-read: it was sent only
    later.

    precommitted-read: a transaction polls its own record before any consumer may see it.
    """
    polled, sent = log.polled, log.sent
    value = polled.value
    yield _alone(log, Anomaly.CORRUPT, value == CORRUPT)
    yield _alone(log, Anomaly.PHANTOM, value >= len(sent))
    rows = np.flatnonzero((value != CORRUPT) & (value < len(sent)))
    writer = sent.op[value[rows]]
    reader = polled.op[rows]
    ok = log.ops.outcome[reader] == Outcome.OK
    aborted = ok & (log.ops.outcome[writer] == Outcome.FAIL)
    yield _with_writer(log, Anomaly.G1A, rows, writer, aborted)
    early = log.ops.complete[reader] < log.ops.invoke[writer]
    yield _with_writer(log, Anomaly.FUTURE_READ, rows, writer, early)
    yield _with_writer(log, Anomaly.PRECOMMITTED_READ, rows, writer, reader == writer)


def _alone(log: LogArrays, anomaly: Anomaly, chosen: Flags) -> Cases:
    polled = log.polled
    return cases(
        anomaly,
        polled.key[chosen],
        other=polled.op[chosen],
        other_offset=polled.offset[chosen],
        other_value=polled.value[chosen],
    )


def _with_writer(
    log: LogArrays, anomaly: Anomaly, rows: np.ndarray, writer: Codes, chosen: Flags
) -> Cases:
    polled, row = log.polled, rows[chosen]
    return cases(
        anomaly,
        polled.key[row],
        one=writer[chosen],
        other=polled.op[row],
        other_offset=polled.offset[row],
        one_value=polled.value[row],
        other_value=polled.value[row],
    )


ALGORITHM = "version order from offsets, then one pass of array operations for each anomaly"


def sweep(log: LogArrays, isolation: Isolation) -> tuple[VersionOrder, list[Cases]]:
    """Every anomaly that has cases, whether it fails a test or not, except those that nothing
    forbids: rw dependencies are only looked at if the isolation asks for it."""
    order = version_order(log)
    found = in_order(
        [
            *reads(log),
            *offset_conflicts(log, order),
            *losses(log, order),
            *realtime(log, order),
            *high_watermarks(log),
            *positions(log, order),
            *cycles(log, order, anti=isolation.anti),
        ]
    )
    return order, found
