"""The version order of a log as Jepsen defines it: which values are at which offsets.

It follows from polls of any outcome (a consumer must only ever be given safe data), and from sends
only if they surely happened: acknowledged, or one of the operation's values read by a poll that
succeeded. An acknowledgement by the leader alone (acks=1) promises nothing, so it counts as an
`info`. The *rank* of an offset is its index among the known offsets of its key: transaction markers
and dropped batches leave gaps between offsets that mean nothing.
"""

from dataclasses import dataclass

import numpy as np

from checkers.array_types import Codes, Flags, Ints
from checkers.history.calls import Outcome
from checkers.log.addresses import addresses
from checkers.log.arrays import CORRUPT, NO_OFFSET, Acks, LogArrays

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
