"""Reads of values that cannot have been made by then, found in one pass: no order explains those.

A value may be there from the moment at which an operation began to write it, or began a
compare-and-set from a value that was there. Operations that need another value by their end are
looked for first, before any but a short search: a search finds one only once it reaches it.
"""

import numpy as np

from checkers.array_types import Codes, Flags, Kinds
from checkers.linearizability.compiled import compiled
from checkers.linearizability.split import EQUAL, RESET, SWAP


@compiled
def _make(
    state: int, made: Flags, to: Codes, waits: Codes, next_waiting: Codes, stack: Codes
) -> None:
    """A state is there, and all that compare-and-sets under way make of it."""
    made[state] = True
    stack[0] = state
    height = 1
    while height:
        height -= 1
        op = waits[stack[height]]
        waits[stack[height]] = -1
        while op >= 0:
            if not made[to[op]]:
                made[to[op]] = True
                stack[height] = to[op]
                height += 1
            op = next_waiting[op]


@compiled
def unmade(kind: Kinds, start: Codes, to: Codes, event: Codes, states: int) -> int:
    """The first operation that returned before the state that it needs can have been there, or -1.

    For one register; the columns are those of `split.Problem`.
    """
    made = np.zeros(states, np.bool_)
    waits = np.full(states, -1, np.int32)  # by state: a compare-and-set from it that has begun
    next_waiting = np.full(len(kind), -1, np.int32)
    stack = np.empty(states, np.int32)
    made[0] = True
    for position in range(len(event)):
        op = event[position] >> 1
        if event[position] & 1:
            if (kind[op] == EQUAL and not made[to[op]]) or (
                kind[op] == SWAP and not made[start[op]]
            ):
                return int(op)
        elif kind[op] == RESET or (kind[op] == SWAP and made[start[op]]):
            if not made[to[op]]:
                _make(to[op], made, to, waits, next_waiting, stack)
        elif kind[op] == SWAP:
            next_waiting[op] = waits[start[op]]
            waits[start[op]] = op
    return -1
