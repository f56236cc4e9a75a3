"""Observed failures of compare-and-set, placed into the order that the blocks allow.

A failure says only that the object did not hold one value. With every value written once that
value is there during one stretch of any order, so nearly every failure fits beside it. One order
is made, each block as early as its calls and the blocks before it permit, and each failure is
looked for a moment in its interval at which the object holds something else. If all find one, that
order with them in it is the proof. If one does not, another order might have room for it: such a
key is not decided here.
"""

import numpy as np

from checkers.array_types import Codes, Ints, Kinds
from checkers.linearizability.compiled import compiled
from checkers.linearizability.split import DIFFER, OK


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
