"""The easy registers in one compiled call: the sweep, then a short search of the rest.

Most histories are small. For them crossing from Python into a kernel costs more than the search,
and each returned array as much as a call: so here it is done once, for all keys, and one array is
returned. The undecided keys climb the `ladder`.
"""

from typing import NamedTuple

import numpy as np

from checkers.array_types import Codes, Flags, Ints, Kinds
from checkers.history.calls import Calls
from checkers.linearizability.blocks import REPEATED, Blocks, sweep
from checkers.linearizability.compiled import compiled
from checkers.linearizability.deadlines import EXACT, compute
from checkers.linearizability.frontier import DIED, NO_TIME, SURVIVED, run
from checkers.linearizability.slots import Operations
from checkers.linearizability.split import DIFFER, EQUAL, RESET, SWAP, Order, split_columns
from checkers.linearizability.states_met import no_states
from checkers.linearizability.well_formed import fault, refuse

# Reads of values that cannot have been made by then, found in one pass: no order explains those.
#
# A value may be there from the moment at which an operation began to write it, or began a
# compare-and-set from a value that was there. Operations that need another value by their end are
# looked for first, before any but a short search: a search finds one only once it reaches it.


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


ROOM = 256  # configurations


class Quick(NamedTuple):
    """The result of one key."""

    status: int  # of the sweep, see `blocks`
    ended: int  # how its search ended, see `frontier`; if the sweep did not decide
    work: int
    operations: int
    strange: int  # if searched: the operation that reads a value that was never written, or -1


STATUS, ENDED, WORK, OPERATIONS, STRANGE = range(5)  # columns, as in `Quick`


@compiled
def _quick(
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
    step_from: Codes,
    limit: int,
) -> tuple[int, Ints]:
    """What is wrong with the columns, see `well_formed`; a row per key."""
    wrong = fault(
        kind, outcome, key, value, expected, step_from, initial, DIFFER + 1, keys, values, True
    )
    if wrong:
        return wrong, np.empty((0, 5), np.int64)
    swept = sweep(kind, outcome, key, value, expected, invoke, complete, initial, at, keys, values)
    found = np.zeros((keys, 5), np.int64)
    found[:, STATUS], found[:, ENDED], found[:, STRANGE] = swept.status, NO_TIME, -1
    for row in range(len(kind)):
        found[key[row], OPERATIONS] += 1
    wanted = swept.status == REPEATED
    if not wanted.any():
        return 0, found
    all_of = split_columns(kind, outcome, key, value, expected, wanted, at, initial, values)
    nothing, met = np.empty((0, 0), np.int32), no_states()
    for k in range(keys):
        if not wanted[k]:
            continue
        a, b = all_of.op_from[k], all_of.op_from[k + 1]
        one_kind, start, to = all_of.kind[a:b], all_of.start[a:b], all_of.to[a:b]
        pending = all_of.pending[a:b]
        event = all_of.event[all_of.event_from[k] : all_of.event_from[k + 1]]
        returns, until, needed, sticky = compute(
            one_kind, start, to, pending, event, nothing, -1, met, all_of.states[k], EXACT
        )
        problem = Operations(
            one_kind, start, to, pending, nothing, -1, met, returns, until, needed, sticky
        )
        end = run(problem, event, 0, ROOM, False, limit, (0,))
        found[k, ENDED], found[k, WORK] = end.status, end.work
        if end.status not in (SURVIVED, DIED):
            # A short search is cheaper still, and most often enough.
            strange = unmade(one_kind, start, to, event, all_of.states[k])
            if strange >= 0:
                found[k, ENDED], found[k, STRANGE] = DIED, strange
    return 0, found


def quick(calls: Calls, order: Order, limit: int) -> list[Quick]:
    """Sweep all keys, and search the others for `limit` work each. Raises ValueError."""
    wrong, found = _quick(*_columns(calls, order), calls.step_from, limit)
    refuse(wrong)
    return [Quick(*row) for row in found.tolist()]


def swept(calls: Calls, order: Order) -> Blocks:
    """The sweep alone, with everything that shows why it accused a key."""
    return sweep(*_columns(calls, order))


def _columns(
    calls: Calls, order: Order
) -> tuple[Kinds, Kinds, Codes, Codes, Codes, Ints, Ints, int, Codes, int, int]:
    """The columns that the sweep takes."""
    return (
        calls.kind,
        calls.outcome,
        calls.key,
        calls.value,
        calls.expected,
        order.invoke,
        order.complete,
        calls.initial,
        order.at,
        len(calls.keys),
        len(calls.values),
    )
