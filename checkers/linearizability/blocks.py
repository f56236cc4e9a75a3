"""Registers and compare-and-set where every value is written once: blocks of zones, in O(n).

A successful compare-and-set from a to b has nothing between itself and the operations on a, so
clusters (a creator with the reads of its value, see `zones`) that are joined by them form blocks,
inside which the order is forced. A block has a zone like a cluster, and the same sweep decides: an
order exists iff the order inside each block respects real time, and no two blocks of a key must
each come before the other.

Not decided here, by key: a value written twice (or written and initial), and observed failures of
compare-and-set that do not fit into one simple order (`failures`).
"""

from typing import NamedTuple

import numpy as np

from checkers.array_types import Codes, Flags, Ints, Kinds
from checkers.linearizability.compiled import compiled, inlined
from checkers.linearizability.split import ANY, DIFFER, EQUAL, FAIL, INFO, NEVER, OK, RESET, SWAP
from checkers.linearizability.zones import place

# Observed failures of compare-and-set, placed into the order that the blocks allow.
#
# A failure says only that the object did not hold one value. With every value written once that
# value is there during one stretch of any order, so nearly every failure fits beside it. One order
# is made, each block as early as its calls and the blocks before it permit, and each failure is
# looked for a moment in its interval at which the object holds something else. If all find one,
# that order with them in it is the proof. If one does not, another order might have room for it:
# such a key is not decided here.


@compiled
def _note(cluster: int, moment: np.int64, newest: Codes, following: Codes, latest: Codes) -> None:
    """Let a cluster begin right after an event, after those that do so already."""
    slot = moment + 1
    if latest[slot] >= 0:
        following[latest[slot]] = cluster
    else:
        newest[slot] = cluster
    latest[slot] = cluster


@compiled
def _follow(
    cluster: int,
    at: np.int64,
    invoke: Ints,
    own_last: Ints,
    next_of: Codes,
    newest: Codes,
    following: Codes,
    latest: Codes,
) -> np.int64:
    """Let the rest of a block begin, `cluster` having begun at `at`; returns when it is over."""
    reached = own_last[cluster]
    while next_of[cluster] >= 0:
        cluster = next_of[cluster]
        at = max(at, max(reached, invoke[cluster]))
        _note(cluster, at, newest, following, latest)
        reached = max(reached, own_last[cluster])
    return max(at, reached)


@compiled
def beginnings(
    key: Codes,
    invoke: Ints,
    begins: Codes,
    first: Ints,
    last: Ints,
    own_last: Ints,
    next_of: Codes,
) -> tuple[Codes, Codes]:
    """When each cluster begins in one order of the blocks.

    Returns the first cluster that begins after each event (shifted by one: before all events
    comes first), and for each cluster the next one that begins after the same event.
    `begins` has a block at the event where its zone begins; `first` and `last` are those zones,
    `own_last` the last invocation in each cluster, `next_of` what follows a cluster in its block.
    """
    rows, events = len(key), len(begins)
    newest, latest = np.full(events + 1, -1, np.int32), np.full(events + 1, -1, np.int32)
    following = np.full(len(first), -1, np.int32)
    done = np.full(len(first) - rows, -1, np.int64)  # by key: until when it is taken
    for k in range(len(done)):
        done[k] = _follow(
            rows + k, np.int64(-1), invoke, own_last, next_of, newest, following, latest
        )
    for event in range(events):
        block = begins[event]
        if block < 0:
            continue
        k = key[block]
        at = max(done[k], invoke[block])
        if first[block] > last[block]:
            # All its calls overlap: it is one moment, after the last of them has begun.
            at = max(at, last[block])
        _note(block, at, newest, following, latest)
        done[k] = _follow(block, at, invoke, own_last, next_of, newest, following, latest)
    return newest, following


@compiled
def misplaced(
    kind: Kinds,
    outcome: Kinds,
    key: Codes,
    excluded: Codes,
    at: Codes,
    begin: tuple[Codes, Codes],
    keys: int,
) -> Ints:
    """The keys on which a failure finds no moment; `excluded` is the cluster of its value."""
    newest, following = begin
    rows = len(kind)
    flags = np.zeros(keys, np.bool_)
    current = np.arange(rows, rows + keys).astype(np.int32)
    begun = np.zeros(keys, np.int64)
    held, count = np.empty(rows, np.int32), np.empty(rows, np.int64)
    for event in range(-1, len(at)):
        row = at[event] >> 1 if event >= 0 and at[event] >= 0 else -1
        if row >= 0 and kind[row] == DIFFER and outcome[row] == OK:
            k = key[row]
            if at[event] & 1 == 0:
                held[row], count[row] = current[k], begun[k]
            elif begun[k] == count[row] and held[row] == excluded[row]:
                flags[k] = True
        cluster = newest[event + 1]
        while cluster >= 0:
            current[key[cluster]] = cluster
            begun[key[cluster]] += 1
            cluster = following[cluster]
    return np.flatnonzero(flags)


# By key: linearizable; not decided here; or why it is not linearizable.
FINE, REPEATED, PHANTOM, FUTURE, SPLIT, CYCLE, MISORDERED, CROSSED = range(8)


class Blocks(NamedTuple):
    """A cluster is the row of its creator, or rows + key for the initial value."""

    status: Kinds  # by key
    one: Codes  # by key: cluster that shows why it is not linearizable, or -1
    other: Codes  # the second one; the row of a PHANTOM or FUTURE read
    cluster: Codes  # by row: the cluster it is in, or -1
    head: Codes  # by cluster: the first one of its block, -1 if it was not reached from one


class Rows(NamedTuple):
    """The calls: see `history.calls.Calls`; event indices from 0 on."""

    kind: Kinds
    outcome: Kinds
    key: Codes
    value: Codes
    expected: Codes
    invoke: Ints
    complete: Ints
    initial: int
    values: int  # how many there are, if the table has a place for each on each key; else 0


@inlined
def _place(key: int, code: int, rows: Rows, mask: np.uint64) -> np.uint64:
    """Where the search for a value begins: its own place, or one by hashing if it has none."""
    if rows.values:
        return np.uint64(key * rows.values + code) & mask
    return place(np.int32(key), np.int64(code), mask)


@compiled
def _enter(rows: Rows, table: Codes, status: Kinds) -> None:
    """Enter operations that may have created a value under its key and value."""
    kind, outcome, key, value, expected, _, _, initial, _ = rows
    mask = np.uint64(len(table) - 1)
    for row in range(len(kind)):
        if outcome[row] == FAIL or (kind[row] != RESET and kind[row] != SWAP):
            continue
        if kind[row] == SWAP and value[row] == expected[row] and outcome[row] == INFO:
            continue
        if value[row] == initial:
            status[key[row]] = REPEATED
            continue
        slot = _place(key[row], value[row], rows, mask)
        while table[slot] >= 0:
            other = table[slot]
            if key[other] == key[row] and value[other] == value[row]:
                status[key[row]] = REPEATED
                break
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = row


@inlined
def _creator(key: int, code: int, rows: Rows, table: Codes) -> int:
    """The cluster of a value on a key; -1 if no operation wrote it."""
    if code == rows.initial:
        return len(rows.key) + key
    mask = np.uint64(len(table) - 1)
    slot = _place(key, code, rows, mask)
    while table[slot] >= 0:
        other = table[slot]
        if rows.key[other] == key and rows.value[other] == code:
            return int(other)
        slot = (slot + np.uint64(1)) & mask
    return -1


@compiled
def _accuse(key: int, why: int, one: int, other: int, found: Blocks) -> None:
    """Keep the first reason on a key."""
    if found.status[key] == FINE:
        found.status[key] = why
        found.one[key] = one
        found.other[key] = other


@compiled
def _start(rows: Rows, first: Ints, last: Ints, happened: Flags, found: Blocks) -> None:
    """Let every write and compare-and-set be a cluster."""
    calls = len(rows.kind)
    first[calls:] = -1  # the initial value was there before everything else
    last[calls:] = -1
    happened[calls:] = True
    for row in range(calls):
        if rows.outcome[row] == FAIL or found.status[rows.key[row]] == REPEATED:
            continue
        if rows.kind[row] == RESET or rows.kind[row] == SWAP:
            first[row] = rows.complete[row] if rows.outcome[row] == OK else NEVER
            last[row] = rows.invoke[row]
            happened[row] = rows.outcome[row] == OK
            found.cluster[row] = row


@compiled
def _join(
    rows: Rows,
    table: Codes,
    source: Codes,
    first: Ints,
    last: Ints,
    happened: Flags,
    found: Blocks,
) -> bool:
    """Add reads to clusters; `source` is the cluster that a compare-and-set takes or excludes.

    Returns whether any excludes one.
    """
    kind, outcome, key, value, expected, invoke, complete, _, _ = rows
    excludes = False
    for row in range(len(kind)):
        if outcome[row] == FAIL or found.status[key[row]] == REPEATED:
            continue
        if kind[row] == SWAP or (kind[row] == DIFFER and outcome[row] == OK):
            source[row] = _creator(key[row], expected[row], rows, table)
            excludes = excludes or (kind[row] == DIFFER and source[row] >= 0)
        elif kind[row] == EQUAL and outcome[row] == OK and value[row] != ANY:
            cluster = _creator(key[row], value[row], rows, table)
            if cluster < 0:
                _accuse(key[row], PHANTOM, -1, row, found)
                continue
            if cluster < len(kind) and complete[row] < invoke[cluster]:
                _accuse(key[row], FUTURE, cluster, row, found)
            found.cluster[row] = cluster
            happened[cluster] = True
            first[cluster] = min(first[cluster], complete[row])
            last[cluster] = max(last[cluster], invoke[row])
    return excludes


@compiled
def _chain(
    kind: Kinds, key: Codes, source: Codes, happened: Flags, following: Codes, found: Blocks
) -> None:
    """Follow each compare-and-set that happened to what it took: that happened too."""
    rows = len(kind)
    for row in range(rows):
        c = row
        while c < rows and kind[c] == SWAP and happened[c]:
            taken = source[c]
            if taken < 0:
                _accuse(key[c], PHANTOM, -1, c, found)
                break
            if following[taken] == c:
                break
            if following[taken] >= 0:
                _accuse(key[c], SPLIT, taken, c, found)
                break
            following[taken] = c
            happened[taken] = True
            c = taken


@compiled
def _merge(
    kind: Kinds,
    key: Codes,
    following: Codes,
    first: Ints,
    last: Ints,
    happened: Flags,
    found: Blocks,
) -> None:
    """Give the first cluster of every block the zone of the block."""
    rows = len(kind)
    for head in range(len(first)):
        if not happened[head] or (head < rows and kind[head] != RESET):
            continue
        found.head[head] = head
        c = following[head]
        while c >= 0:
            found.head[c] = head
            if first[c] < last[head]:
                _accuse(key[c], MISORDERED, head, c, found)
            first[head] = min(first[head], first[c])
            last[head] = max(last[head], last[c])
            c = following[c]
    for row in range(rows):
        if kind[row] == SWAP and happened[row] and found.head[row] < 0:
            _accuse(key[row], CYCLE, row, row, found)


@compiled
def _sweep(kind: Kinds, key: Codes, first: Ints, last: Ints, begins: Codes, found: Blocks) -> None:
    """Accuse the first zone that contradicts the forward zone which is open on its key.

    Leaves each block that is fine so far in `begins`, at the event at which its zone begins.
    """
    rows = len(kind)
    for row in range(rows):
        if found.head[row] == row and found.status[key[row]] == FINE:
            begins[min(first[row], last[row])] = row
    end = last[rows:].copy()
    holder = np.arange(rows, len(first))
    for event in range(len(begins)):
        block = begins[event]
        if block < 0:
            continue
        k = key[block]
        if end[k] > first[block]:
            _accuse(k, CROSSED, holder[k], block, found)
        if first[block] < last[block] and last[block] > end[k]:
            end[k] = last[block]
            holder[k] = block


@compiled
def sweep(
    kind: Kinds,
    outcome: Kinds,
    key: Codes,
    value: Codes,
    expected: Codes,
    invoke: Ints,
    complete: Ints,
    initial: int,
    at: Codes,
    keys: int,
    values: int,
) -> Blocks:
    """Judge single-step calls on registers, all keys in one pass.

    The columns are those of `history.calls.Calls`; `at` is the recorded order (`split.Order`).
    """
    calls = len(kind)
    direct = values if keys * values <= 4 * calls else 0
    size = 16  # of the table of values: a power of two
    while size < max(2 * calls, keys * direct):
        size *= 2
    rows = Rows(kind, outcome, key, value, expected, invoke, complete, initial, direct)
    found = Blocks(
        np.zeros(keys, np.int8),
        np.full(keys, -1, np.int32),
        np.full(keys, -1, np.int32),
        np.full(calls, -1, np.int32),
        np.full(calls + keys, -1, np.int32),
    )
    table = np.full(size, -1, np.int32)
    _enter(rows, table, found.status)
    # If no key can be decided here, the rest would be in vain.
    if np.all(found.status == REPEATED):
        return found
    first, last = np.empty(calls + keys, np.int64), np.empty(calls + keys, np.int64)
    happened, source = np.zeros(calls + keys, np.bool_), np.full(calls, -1, np.int32)
    following = np.full(calls + keys, -1, np.int32)
    begins = np.full(len(at), -1, np.int32)
    _start(rows, first, last, happened, found)
    excludes = _join(rows, table, source, first, last, happened, found)
    own_last = last.copy()
    _chain(rows.kind, rows.key, source, happened, following, found)
    _merge(rows.kind, rows.key, following, first, last, happened, found)
    _sweep(rows.kind, rows.key, first, last, begins, found)
    if excludes:
        begin = beginnings(rows.key, rows.invoke, begins, first, last, own_last, following)
        for each in misplaced(rows.kind, rows.outcome, rows.key, source, at, begin, keys):
            if found.status[each] == FINE:
                found.status[each] = REPEATED
    return found
