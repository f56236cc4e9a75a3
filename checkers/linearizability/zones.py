"""The compiled sweep: zones of unique-valued registers, all keys in one pass, O(n).

A cluster is a write with the reads that returned its value. Of a cluster let f be its first
completion and s its last invocation, as event indices. In any linearization the operations of a
cluster are adjacent, and A must come before B iff f_A < s_B. An order exists iff no two clusters
must each come before the other (Gibbons and Korach 1997; zones as in Golab et al. 2011). With f < s
the zone [f, s] is forward, else [s, f] is backward; then two clusters contradict each other iff
both are forward and overlap, or a backward one lies inside a forward one. Event indices are
distinct, so zones are put into a table by event and swept once, with one open forward zone per key:
no grouping and no sorting.

The sweep knows zones only, so blocks of several writes (chains of compare-and-set) can be swept by
it as well; the caller forms them, before `_bucket`.
"""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Codes, Ints, Kinds
from checkers.linearizability.compiled import compiled

_Number = TypeVar("_Number", bound=np.generic)

# The kinds of operations of the sweep. Reads come last.
(
    IGNORED,
    WRITE,
    PENDING_WRITE,
    FAILED_WRITE,
    DELETE,
    PENDING_DELETE,
    READ,
    READ_NOTHING,
) = range(8)
# What is wrong with a read by itself: its value was never written, or only after it had returned.
PHANTOM, FUTURE = 1, 2
NEVER = np.iinfo(np.int64).max


class Zones(NamedTuple):
    """The result of the sweep. A cluster is the row of its write, rows + key for the initial value.

    `repeated` flags the keys of which only `stray` is known: those on which a value was deleted, or
    written twice. There the cluster of a value is its write that was invoked first.
    """

    stray: Kinds  # by row: 0, or why it is wrong by itself
    cluster: Codes  # by row: of a read, the cluster of its value; -1 if it was never written
    against: Codes  # by cluster: the one of its key that must come before and after it, or -1
    first: Ints  # by cluster: its zone
    last: Ints
    repeated: NDArray[np.bool_]


@compiled
def place(key: np.int32, value: np.int64, mask: np.uint64) -> np.uint64:
    """Where the search for (key, value) starts. Everything is unsigned: mixed types turn into
    floats."""
    mixed = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(key) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return (mixed >> np.uint64(20)) & mask


@compiled
def _enter(
    kind: Kinds,
    key: Codes,
    value: Ints,
    invoke: Ints,
    table: Codes,
    repeated: NDArray[np.bool_],
) -> None:
    """Enter every write that may have happened under its key and value: the first of each."""
    mask = np.uint64(len(table) - 1)
    for row in range(len(kind)):
        if kind[row] == DELETE or kind[row] == PENDING_DELETE:
            repeated[key[row]] = True
        if kind[row] != WRITE and kind[row] != PENDING_WRITE:
            continue
        slot = place(key[row], value[row], mask)
        while table[slot] >= 0:
            other = table[slot]
            if key[other] == key[row] and value[other] == value[row]:
                repeated[key[row]] = True
                break
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0 or invoke[row] < invoke[table[slot]]:
            table[slot] = row


@compiled
def _writer(row: int, key: Codes, value: Ints, table: Codes) -> int:
    """The row that wrote what this row read; -1 if there is none."""
    mask = np.uint64(len(table) - 1)
    slot = place(key[row], value[row], mask)
    while table[slot] >= 0:
        other = table[slot]
        if key[other] == key[row] and value[other] == value[row]:
            return int(other)
        slot = (slot + np.uint64(1)) & mask
    return -1


@compiled
def _start(kind: Kinds, invoke: Ints, complete: Ints, first: Ints, last: Ints) -> int:
    """Let every write be a cluster; returns the first row that ends before it begins, or -1."""
    rows = len(kind)
    for row in range(rows):
        if kind[row] == IGNORED or kind[row] == FAILED_WRITE:
            continue
        first[row] = NEVER if kind[row] == PENDING_WRITE else complete[row]
        last[row] = invoke[row]
        if first[row] <= last[row]:
            return row
    # The initial value of a key was written before everything else.
    first[rows:] = -1
    last[rows:] = -1
    return -1


@compiled
def _join(
    kind: Kinds,
    key: Codes,
    value: Ints,
    invoke: Ints,
    complete: Ints,
    table: Codes,
    first: Ints,
    last: Ints,
    seen: NDArray[np.bool_],
    stray: Kinds,
    clusters: Codes,
) -> None:
    """Add every read to the cluster of its value, unless it has none or came too early."""
    rows = len(kind)
    for row in range(rows):
        if kind[row] < READ:
            continue
        cluster = rows + key[row] if kind[row] == READ_NOTHING else _writer(row, key, value, table)
        clusters[row] = cluster
        if cluster < 0:
            stray[row] = PHANTOM
        elif cluster < rows and complete[row] < invoke[cluster]:
            stray[row] = FUTURE
        else:
            seen[cluster] = True
            first[cluster] = min(first[cluster], complete[row])
            last[cluster] = max(last[cluster], invoke[row])


@compiled
def _bucket(
    kind: Kinds,
    key: Codes,
    repeated: NDArray[np.bool_],
    first: Ints,
    last: Ints,
    seen: NDArray[np.bool_],
    begins: Codes,
) -> int:
    """Enter zones by the event at which they begin; returns a row with a taken event, or -1.

    A pending write of a value that was not seen need not have happened, and is left out.
    """
    for row in range(len(kind)):
        happened = kind[row] == WRITE or (kind[row] == PENDING_WRITE and seen[row])
        if not happened or repeated[key[row]]:
            continue
        begin = min(first[row], last[row])
        if begins[begin] >= 0:
            return row
        begins[begin] = row
    return -1


@compiled
def _sweep(key: Codes, first: Ints, last: Ints, begins: Codes, against: Codes) -> None:
    """Find the zones that contradict the forward zone which is open on their key."""
    rows = len(key)
    end = last[rows:].copy()  # of the key's open forward zone; at first, the initial value's
    holder = np.arange(rows, len(first))  # the cluster that it is the zone of
    for event in range(len(begins)):
        cluster = begins[event]
        if cluster < 0:
            continue
        k = key[cluster]
        f = first[cluster]
        s = last[cluster]
        if end[k] > f:
            against[cluster] = holder[k]
        if f < s and s > end[k]:
            end[k] = s
            holder[k] = cluster


def check(
    kind: Kinds, key: Codes, value: Ints, invoke: Ints, complete: Ints, keys: int, events: int
) -> Zones:
    """Judge operations given as columns: event indices in [0, events), keys in [0, keys).

    Raises ValueError for an operation that ends before it begins or shares an event, and for keys
    and events that are not among those.
    """
    _require_within(key, keys, "key")
    _require_within(invoke, events, "event")
    # Arrow's arrays are read-only, others are not: without this, each mix is compiled anew.
    kind, key, value = _read_only(kind), _read_only(key), _read_only(value)
    invoke, complete = _read_only(invoke), _read_only(complete)
    rows = len(kind)
    table = np.full(1 << max(4, (2 * rows - 1).bit_length()), -1, np.int32)
    first, last = np.empty(rows + keys, np.int64), np.empty(rows + keys, np.int64)
    seen, repeated = np.zeros(rows + keys, np.bool_), np.zeros(keys, np.bool_)
    stray, clusters = np.zeros(rows, np.int8), np.full(rows, -1, np.int32)
    against, begins = np.full(rows + keys, -1, np.int32), np.full(events, -1, np.int32)
    _refuse(_start(kind, invoke, complete, first, last), "completes before it begins")
    _enter(kind, key, value, invoke, table, repeated)
    _join(kind, key, value, invoke, complete, table, first, last, seen, stray, clusters)
    _refuse(_bucket(kind, key, repeated, first, last, seen, begins), "shares its event index")
    _sweep(key, first, last, begins, against)
    return Zones(stray, clusters, against, first, last, repeated)


def _read_only(array: NDArray[_Number]) -> NDArray[_Number]:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _require_within(codes: Codes | Ints, end: int, what: str) -> None:
    """The kernels do no bounds checks."""
    if len(codes) and (codes.min() < 0 or codes.max() >= end):
        raise ValueError(f"not a history: a {what} that is not among the {end:,}")


def _refuse(row: int, why: str) -> None:
    if row >= 0:
        raise ValueError(f"not a history: the operation in row {row} {why}")


def warm() -> None:
    """Run the sweep once on nothing, with the types it is called with."""
    nothing = np.empty(0, np.int64)
    check(nothing.astype(np.int8), nothing.astype(np.int32), nothing, nothing, nothing, 0, 0)
