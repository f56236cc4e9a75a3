"""Which operation depends on which, as Adya defines it (Generalized Isolation Level Definitions,
2000).

    ww  one sent a record, the other the next one of that key (by offset)
    wr  one sent a record that the other polled
    rw  one polled a key up to a record, and the other sent the next one
    rt  one had ended when the other began

Versions of a key are its records, in the order of their offsets. An operation counts if it
happened: it succeeded, or a consumer polled what it sent. `rt` has no rows here, see `components`.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from checkers.array_types import Codes, Flags, Ints
from checkers.history.calls import Outcome
from checkers.log.arrays import CORRUPT, LogArrays
from checkers.log.version_order import UNKNOWN, VersionOrder


class Dependency(StrEnum):
    WW = "ww"
    WR = "wr"
    RW = "rw"
    RT = "rt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """Of one kind: `after[i]` depends on `before[i]`, both rows of operations, by `key[i]`.

    `one` is the value that `before` sent or polled, `other` that of `after`.
    """

    kind: Dependency
    before: Codes
    after: Codes
    key: Codes
    one: Codes
    other: Codes

    def __len__(self) -> int:
        return len(self.before)

    def where(self, chosen: Flags) -> "Dependencies":
        """The chosen ones only."""
        return Dependencies(
            kind=self.kind,
            before=self.before[chosen],
            after=self.after[chosen],
            key=self.key[chosen],
            one=self.one[chosen],
            other=self.other[chosen],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Versions:
    """Records that were sent and happened, key by key in the order of their offsets."""

    code: Codes
    key: Codes
    op: Codes
    rank: Ints


def happened(log: LogArrays, order: VersionOrder) -> Flags:
    """By operation."""
    did: Flags = log.ops.outcome == Outcome.OK
    seen = order.committed & (log.ops.outcome[log.sent.op] != Outcome.FAIL)
    did[log.sent.op[seen]] = True
    return did


def dependencies(
    log: LogArrays, order: VersionOrder, *, anti: bool
) -> dict[Dependency, Dependencies]:
    """All that follow from records; `rw` only if `anti`."""
    did = happened(log, order)
    versions = _versions(log, order, did)
    found = [_write_read(log, did), _write_write(versions)]
    if anti:
        found.append(_read_write(log, order, did, versions))
    return {one.kind: one for one in found}


def _versions(log: LogArrays, order: VersionOrder, did: Flags) -> _Versions:
    """A value at two offsets counts at the first: the other is an anomaly of its own."""
    entries = order.entries
    first = order.first_at[order.first_at >= 0]
    code = entries.value[first]
    known = np.flatnonzero(code < len(log.sent))
    rank = np.arange(len(first))
    known = known[did[log.sent.op[code[known]]] & (order.first_rank[code[known]] == rank[known])]
    code = code[known]
    return _Versions(code=code, key=log.sent.key[code], op=log.sent.op[code], rank=rank[known])


def _write_write(versions: _Versions) -> Dependencies:
    same_key = versions.key[1:] == versions.key[:-1]
    place = np.flatnonzero(same_key & (versions.op[1:] != versions.op[:-1]))
    return Dependencies(
        kind=Dependency.WW,
        before=versions.op[place],
        after=versions.op[place + 1],
        key=versions.key[place],
        one=versions.code[place],
        other=versions.code[place + 1],
    )


def _write_read(log: LogArrays, did: Flags) -> Dependencies:
    polled = log.polled
    row = np.flatnonzero((polled.value != CORRUPT) & (polled.value < len(log.sent)))
    code, reader = polled.value[row], polled.op[row]
    writer = log.sent.op[code]
    chosen = (writer != reader) & did[writer] & did[reader]
    return Dependencies(
        kind=Dependency.WR,
        before=writer[chosen],
        after=reader[chosen],
        key=polled.key[row[chosen]],
        one=code[chosen],
        other=code[chosen],
    )


def _read_write(
    log: LogArrays, order: VersionOrder, did: Flags, versions: _Versions
) -> Dependencies:
    """From the last record that an operation polled of a key, whatever it polled before."""
    polled = log.polled
    row = np.flatnonzero((order.polled_rank != UNKNOWN) & did[polled.op])
    row = row[np.lexsort((order.polled_rank[row], polled.key[row], polled.op[row]))]
    last = np.ones(len(row), np.bool_)
    last[:-1] = (polled.op[row[1:]] != polled.op[row[:-1]]) | (
        polled.key[row[1:]] != polled.key[row[:-1]]
    )
    row = row[last]
    place = np.searchsorted(versions.rank, order.polled_rank[row], side="right")
    there = place < len(versions.rank)
    row, place = row[there], place[there]
    chosen = (versions.key[place] == polled.key[row]) & (versions.op[place] != polled.op[row])
    row, place = row[chosen], place[chosen]
    return Dependencies(
        kind=Dependency.RW,
        before=polled.op[row],
        after=versions.op[place],
        key=polled.key[row],
        one=polled.value[row],
        other=versions.code[place],
    )
