"""Splits the calls of a whole history into one small problem per key.

Keys are independent (linearizability is local, Herlihy and Wing 1990), so each is decided alone. A
problem holds the operations of one key that can matter, in the order of invocation, and its events
in the recorded order; values become states numbered from 0, which is the initial one. Dropped here:
failed calls, reads without a result or that never returned, and compare-and-sets of unknown outcome
that would change nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Codes, Ints, Kinds
from checkers.history.calls import Calls
from checkers.linearizability.compiled import compiled, inlined
from checkers.linearizability.states_met import NO_STATES, StatesMet
from checkers.linearizability.well_formed import LENGTHS

# The kinds of operations of the frontier. The first four are numbered as `calls.Step`.
EQUAL, RESET, SWAP, DIFFER, EDGE, TEST = range(6)
OK, FAIL, INFO = range(3)
ANY = -2
NEVER = np.iinfo(np.int64).max
NO_TABLE = np.empty((0, 0), np.int32)
FINE, SPARSE, UNSOUND = -1, -2, -3
_PER_CALL = 8  # event indices, above which they are ranked first


class Problems(NamedTuple):
    """All keys. Operations of key k are `op_from[k] : op_from[k + 1]`, events likewise.

    An event is 2 * operation (counted from its key's first) for an invocation, + 1 for a
    completion.
    """

    row: Codes  # of the operation in the calls
    kind: Kinds
    start: Codes  # state that a SWAP needs and a DIFFER excludes
    to: Codes  # state that an EQUAL needs, a RESET or SWAP makes; the row of the table of an EDGE
    pending: NDArray[np.bool_]
    event: Codes
    op_from: Codes
    event_from: Codes
    states: Codes  # how many there are, by key


class Problem(NamedTuple):
    """One key, or one object that cannot be split by keys."""

    kind: Kinds
    start: Codes
    to: Codes
    pending: NDArray[np.bool_]
    event: Codes
    states: int  # of several registers: things, see `states_met`
    table: NDArray[np.int32] = NO_TABLE  # of EDGE and TEST: state reached from a state, or -1
    dead: int = -1  # the state that stands for all that will never be observed; -1: there is none
    met: StatesMet = NO_STATES  # of EDGE and TEST if there is no table: `to` is a transaction


@inlined
def _relevant(kind: int, outcome: int, value: int, expected: int) -> bool:
    if outcome == FAIL or (kind == EQUAL and value == ANY):
        return False
    if outcome == OK:
        return True
    return kind == RESET or (kind == SWAP and value != expected)


@inlined
def _state(value: int, initial: int, key: int, stamp: Codes, local: Codes, states: Codes) -> int:
    """The state of a value on this key; a new one is numbered when it is first met."""
    if value == initial:
        return 0
    if stamp[value + 1] != key:
        stamp[value + 1] = key
        local[value + 1] = states[key]
        states[key] += 1
    return int(local[value + 1])


@compiled
def _count(
    kind: Kinds,
    outcome: Kinds,
    key: Codes,
    value: Codes,
    expected: Codes,
    wanted: NDArray[np.bool_],
    op_from: Codes,
    event_from: Codes,
) -> None:
    for row in range(len(kind)):
        k = key[row]
        if wanted[k] and _relevant(kind[row], outcome[row], value[row], expected[row]):
            op_from[k + 1] += 1
            event_from[k + 1] += 2 if outcome[row] == OK else 1
    for k in range(len(wanted)):
        op_from[k + 1] += op_from[k]
        event_from[k + 1] += event_from[k]


@compiled
def _fill(
    kind: Kinds,
    outcome: Kinds,
    key: Codes,
    value: Codes,
    expected: Codes,
    wanted: NDArray[np.bool_],
    at: Codes,
    initial: int,
    values: int,
    found: Problems,
) -> None:
    # An array taken out of a tuple costs a count of references: once here, not once a call.
    rows, kinds, start, to, pending, events, op_from, event_from, states = found
    next_op, next_event = op_from[:-1].copy(), event_from[:-1].copy()
    op_of = np.empty(len(kind), np.int32)
    # NIL is -1, so value + 1 is a place in these.
    stamp, local = np.full(values + 1, -1, np.int32), np.empty(values + 1, np.int32)
    for row in range(len(kind)):
        k = key[row]
        op_of[row] = -1
        if wanted[k] and _relevant(kind[row], outcome[row], value[row], expected[row]):
            op_of[row] = next_op[k]
            rows[next_op[k]] = row
            next_op[k] += 1
    for k in range(len(wanted)):
        for op in range(op_from[k], op_from[k + 1]):
            row = rows[op]
            kinds[op] = kind[row]
            pending[op] = outcome[row] != OK
            if kind[row] != DIFFER:
                to[op] = _state(value[row], initial, k, stamp, local, states)
            if kind[row] == SWAP or kind[row] == DIFFER:
                start[op] = _state(expected[row], initial, k, stamp, local, states)
    for index in range(len(at)):
        row = at[index] >> 1
        if at[index] < 0 or op_of[row] < 0:
            continue
        k = key[row]
        events[next_event[k]] = 2 * (op_of[row] - op_from[k]) + (at[index] & 1)
        next_event[k] += 1


@compiled
def _order(outcome: Kinds, invoke: Ints, complete: Ints) -> tuple[int, Codes]:
    """Put invocations and completions at their indices.

    Returns a row that has none, FINE, SPARSE or UNSOUND, and the indices.
    """
    if len(outcome) != len(invoke) or len(complete) != len(invoke):
        return UNSOUND, np.empty(0, np.int32)
    high = -1
    for row in range(len(invoke)):
        high = max(high, invoke[row])
        if complete[row] != NEVER:
            high = max(high, complete[row])
    if high >= _PER_CALL * (len(invoke) + 1) or (len(invoke) and invoke.min() < 0):
        return SPARSE, np.empty(0, np.int32)
    at = np.full(high + 1, -1, np.int32)
    for row in range(len(invoke)):
        if outcome[row] == FAIL:
            continue
        if at[invoke[row]] >= 0:
            return row, at
        at[invoke[row]] = 2 * row
        if outcome[row] == OK:
            if complete[row] == NEVER or complete[row] <= invoke[row] or at[complete[row]] >= 0:
                return row, at
            at[complete[row]] = 2 * row + 1
    return FINE, at


class Order(NamedTuple):
    """The recorded order: indices from 0 on, and the event at each of them.

    `at` is 2 * call for its invocation, + 1 for its completion, -1 for neither.
    """

    invoke: Ints
    complete: Ints
    at: Codes


def recorded_order(calls: Calls) -> Order:
    """The order of events. Raises ValueError if two share an index, or a call ends too early."""
    invoke, complete = calls.invoke, calls.complete
    row, at = _order(calls.outcome, invoke, complete)
    if row == SPARSE:
        invoke, complete = _ranked(invoke, complete)
        row, at = _order(calls.outcome, invoke, complete)
    if row == UNSOUND:
        raise ValueError(f"not a history: {LENGTHS}")
    if row >= 0:
        where = f"line {calls.line[row]}" if calls.line[row] else f"call {row}"
        raise ValueError(f"not a history: {where} ends before it begins, or shares its event index")
    return Order(invoke, complete, at)


def _ranked(invoke: Ints, complete: Ints) -> tuple[Ints, Ints]:
    """Event indices from 0 on, in the same order."""
    ended = complete != NEVER
    known = np.unique(np.concatenate([invoke, complete[ended]]))
    ranked = np.full(len(invoke), NEVER, np.int64)
    ranked[ended] = np.searchsorted(known, complete[ended])
    return np.searchsorted(known, invoke), ranked


@compiled
def split_columns(
    kind: Kinds,
    outcome: Kinds,
    key: Codes,
    value: Codes,
    expected: Codes,
    wanted: NDArray[np.bool_],
    at: Codes,
    initial: int,
    values: int,
) -> Problems:
    keys = len(wanted)
    op_from, event_from = np.zeros(keys + 1, np.int32), np.zeros(keys + 1, np.int32)
    _count(kind, outcome, key, value, expected, wanted, op_from, event_from)
    ops = op_from[-1]
    found = Problems(
        np.empty(ops, np.int32),
        np.empty(ops, np.int8),
        np.zeros(ops, np.int32),
        np.zeros(ops, np.int32),
        np.empty(ops, np.bool_),
        np.empty(event_from[-1], np.int32),
        op_from,
        event_from,
        np.ones(keys, np.int32),
    )
    _fill(kind, outcome, key, value, expected, wanted, at, initial, values, found)
    return found


def split(calls: Calls, at: Codes, wanted: NDArray[np.bool_]) -> Problems:
    """The problems of the wanted keys; single-step calls on registers only."""
    columns = (calls.kind, calls.outcome, calls.key, calls.value, calls.expected)
    return split_columns(*columns, wanted, at, calls.initial, len(calls.values))


def problem(found: Problems, key: int) -> Problem:
    """One of them."""
    op, end = int(found.op_from[key]), int(found.op_from[key + 1])
    event, last = int(found.event_from[key]), int(found.event_from[key + 1])
    return Problem(
        kind=found.kind[op:end],
        start=found.start[op:end],
        to=found.to[op:end],
        pending=found.pending[op:end],
        event=found.event[event:last],
        states=int(found.states[key]),
    )
