"""One offset, one record: which record is at which offset, and which operations contradict it."""

from collections.abc import Iterator

import numpy as np

from checkers.array_types import Codes, Ints
from checkers.log.anomalies import Anomaly, Cases, cases
from checkers.log.arrays import LogArrays
from checkers.log.version_order import Entries, VersionOrder


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
