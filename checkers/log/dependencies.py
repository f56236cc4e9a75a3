"""The version order of a log, and which operation depends on which, as Adya defines it (Generalized
Isolation Level Definitions, 2000).

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
from checkers.log.arrays import CORRUPT, NO_OFFSET, Acks, LogArrays, addresses

# The version order of a log as Jepsen defines it: which values are at which offsets.
#
# It follows from polls of any outcome (a consumer must only ever be given safe data), and from
# sends only if they surely happened: acknowledged, or one of the operation's values read by a poll
# that succeeded. An acknowledgement by the leader alone (acks=1) promises nothing, so it counts as
# an `info`. The *rank* of an offset is its index among the known offsets of its key: transaction
# markers and dropped batches leave gaps between offsets that mean nothing.


UNKNOWN = -1  # the rank of a value without an offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """All records with a known offset: polled records first, then sent ones.

    `slot` numbers the places (key and offset), rising with the offset within a key.
    """

    op: Codes
    key: Codes
    offset: Ints
    value: Codes
    slot: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionOrder:
    entries: Entries
    first_at: Codes  # by slot: the first entry at that place, or -1
    ranks: int  # all are below it; those of a key are below those of the next
    polled_rank: Ints  # by row of `PolledRecords`; UNKNOWN for corrupt records
    first_rank: Ints  # by value code, of its lowest place; UNKNOWN if it has none
    last_rank: Ints  # of its highest
    read: Flags  # by value code: by a poll that succeeded
    committed: Flags  # by row of `SentRecords`: its operation surely happened


def version_order(log: LogArrays) -> VersionOrder:
    """In one pass over all keys; O(n) if offsets are nearly dense, as in logs."""
    read = _read(log)
    committed = _committed(log, read)
    polled = np.flatnonzero(log.polled.value != CORRUPT)
    sent = np.flatnonzero(committed & (log.sent.offset != NO_OFFSET))
    key = np.concatenate([log.polled.key[polled], log.sent.key[sent]])
    offset = np.concatenate([log.polled.offset[polled], log.sent.offset[sent]])
    slot, slots = _slots(key, offset, len(log.keys))
    entries = Entries(
        op=np.concatenate([log.polled.op[polled], log.sent.op[sent]]),
        key=key,
        offset=offset,
        value=np.concatenate([log.polled.value[polled], sent.astype(np.int32)]),
        slot=slot,
    )
    first_at = np.full(slots, -1, np.int32)
    first_at[slot[::-1]] = np.arange(len(slot) - 1, -1, -1, dtype=np.int32)
    rank_at = np.cumsum(first_at >= 0) - 1
    polled_rank = np.full(len(log.polled), UNKNOWN, np.int64)
    polled_rank[polled] = rank_at[slot[: len(polled)]]
    first_rank, last_rank = _ranks(entries, rank_at, log.values)
    return VersionOrder(
        entries=entries,
        first_at=first_at,
        ranks=int(rank_at[-1]) + 1 if slots else 0,
        polled_rank=polled_rank,
        first_rank=first_rank,
        last_rank=last_rank,
        read=read,
        committed=committed,
    )


def _read(log: LogArrays) -> Flags:
    good = (log.ops.outcome[log.polled.op] == Outcome.OK) & (log.polled.value != CORRUPT)
    read = np.zeros(log.values, np.bool_)
    read[log.polled.value[good]] = True
    return read


def _committed(log: LogArrays, read: Flags) -> Flags:
    proved = np.zeros(len(log.ops), np.bool_)
    proved[log.sent.op[read[: len(log.sent)]]] = True
    outcome = log.ops.outcome[log.sent.op]
    acknowledged = (outcome == Outcome.OK) & (log.sent.acks == Acks.ALL)
    committed: Flags = acknowledged | ((outcome != Outcome.FAIL) & proved[log.sent.op])
    return committed


def _slots(key: Codes, offset: Ints, keys: int) -> tuple[Ints, int]:
    """The place of each record, and how many there are."""
    table = addresses(key, offset, keys)
    if table is not None:
        return table.of_known(key, offset), table.size
    order = np.lexsort((offset, key))
    new = np.ones(len(order), np.int64)
    same = (key[order][1:] == key[order][:-1]) & (offset[order][1:] == offset[order][:-1])
    new[1:] = ~same
    slot = np.empty(len(order), np.int64)
    slot[order] = np.cumsum(new) - 1
    return slot, int(new.sum())


def _ranks(entries: Entries, rank_at: Ints, values: int) -> tuple[Ints, Ints]:
    """For each value, the ranks of its lowest and highest place, which differ only if it has
    two."""
    rank = rank_at[entries.slot]
    first = np.full(values, UNKNOWN, np.int64)
    first[entries.value] = rank
    last = first
    if (first[entries.value] != rank).any():
        last = first.copy()
        np.maximum.at(last, entries.value, rank)
        np.minimum.at(first, entries.value, rank)
    return first, last


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
