"""Until when an operation's effect may still be needed, and so until when it matters.

An operation of unknown outcome may take effect at any time; but if no operation that completes
later looks at the value it makes, leaving it out of an order leaves the order valid. So it counts
only until the last completion that needs its value, and not at all if there is none. Some bounds
make the search cheap where that is not enough, each with an answer that is a proof:

* `EXACT`: nothing is assumed.
* a short life: operations of unknown outcome are used only within so many events after their
  invocation. Surviving proves linearizability; dying proves nothing.
* `NONE`: unanswered operations did not happen. Surviving is a proof.
* `LATEST`: of each class of them only the few that began last may be used. Surviving is a proof.
* `STICKY`: each class of them (same kind, same states) never runs out. Dying proves a violation;
  surviving proves nothing.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Codes
from checkers.linearizability.compiled import compiled
from checkers.linearizability.split import DIFFER, EDGE, EQUAL, RESET, SWAP, TEST, Problem
from checkers.linearizability.states_met import NOT, StatesMet, is_used

EXACT = 0
STICKY = -1
NONE = -2
LATEST = -3
FEW = 8  # of each class, of LATEST
_ROUNDS = 64  # along chains of pending compare-and-sets; longer ones are needed to the end


class Lives(NamedTuple):
    """Positions are indices into `Problem.event`; without an end: the number of events."""

    returns: Codes  # position of the completion
    until: Codes  # an operation may be applied up to and including this position; -1: never
    needed: Codes  # last position at which the state that the operation makes is needed
    sticky: NDArray[np.bool_]


@compiled
def _returns(event: Codes, returns: Codes, begins: Codes) -> None:
    returns[:] = len(event)
    for position in range(len(event)):
        op = event[position] >> 1
        if event[position] & 1:
            returns[op] = position
        else:
            begins[op] = position


@compiled
def _needs(
    kind: NDArray[np.int8],
    start: Codes,
    to: Codes,
    pending: NDArray[np.bool_],
    table: NDArray[np.int32],
    dead: int,
    states: int,
    met: StatesMet,
    returns: Codes,
    begins: Codes,
) -> Codes:
    """By state, the last position at which a completion needs it; -1: there is none."""
    last = np.full(states, -1, np.int32)
    other = -1  # the last one of an observed difference, which any state may serve
    end = np.int32(returns.max() + 1 if len(returns) else 0)
    tabled = False
    for op in range(len(kind)):
        if (kind[op] == EDGE or kind[op] == TEST) and not is_used(met):
            tabled = True
        if pending[op]:
            continue
        if (kind[op] == EDGE or kind[op] == TEST) and is_used(met):
            for at in range(met.step_from[to[op]], met.step_from[to[op] + 1]):
                if met.read[at] != NOT:
                    thing = met.thing_from[met.register[at]] + met.read[at]
                    last[thing] = max(last[thing], returns[op])
        if kind[op] == EQUAL:
            last[to[op]] = max(last[to[op]], returns[op])
        elif kind[op] == SWAP:
            last[start[op]] = max(last[start[op]], returns[op])
        elif kind[op] == DIFFER:
            other = max(other, returns[op])
    if tabled:
        # States that a step of the table can turn into an observed one are needed as well; else, to
        # the end.
        if dead < 0:
            last[:] = end
        else:
            for state in range(states - 1, -1, -1):
                for edge in range(table.shape[0]):
                    reached = table[edge, state]
                    if reached != dead and reached >= 0:
                        last[state] = max(last[state], last[reached])
    for state in range(states):
        last[state] = max(last[state], other)
    for turn in range(_ROUNDS + 1):
        changed = False
        for op in range(len(kind)):
            needed = last[to[op]] if pending[op] and kind[op] == SWAP else -1
            if needed > begins[op] and needed > last[start[op]]:
                last[start[op]] = needed
                changed = True
        if not changed:
            break
        if turn == _ROUNDS:
            last[:] = end
    return last


@compiled
def _classes(kind: NDArray[np.int8], start: Codes, to: Codes, pending: NDArray[np.bool_]) -> Codes:
    """By operation, of those that are pending: a number that equal ones have in common."""
    rows = np.flatnonzero(pending)
    # Numbers of states and values stay far below 2^28.
    mixed = np.empty(len(rows), np.int64)
    for at in range(len(rows)):
        op = rows[at]
        mixed[at] = (np.int64(kind[op]) << 56) | (np.int64(start[op]) << 28) | np.int64(to[op])
    order = np.argsort(mixed)
    found = np.full(len(kind), -1, np.int32)
    number = -1
    for at in range(len(order)):
        if at == 0 or mixed[order[at]] != mixed[order[at - 1]]:
            number += 1
        found[rows[order[at]]] = number
    return found


@compiled
def _shorten(
    kind: NDArray[np.int8],
    start: Codes,
    to: Codes,
    pending: NDArray[np.bool_],
    begins: Codes,
    bound: int,
    until: Codes,
    sticky: NDArray[np.bool_],
) -> None:
    """Of each class of pending operations let only the first one live, or only the latest ones."""
    of = _classes(kind, start, to, pending)
    count = np.zeros(of.max() + 1 if len(of) else 0, np.int32)
    lately = np.full((len(count), FEW), -1, np.int32)
    for op in range(len(kind)):
        if not pending[op] or until[op] < 0:
            continue
        n = count[of[op]]
        count[of[op]] += 1
        if bound == LATEST:
            before = lately[of[op], n % FEW]
            if before >= 0:
                until[before] = min(until[before], begins[op])
            lately[of[op], n % FEW] = op
        elif n:
            until[op] = -1
        else:
            sticky[op] = True


@compiled
def compute(
    kind: NDArray[np.int8],
    start: Codes,
    to: Codes,
    pending: NDArray[np.bool_],
    event: Codes,
    table: NDArray[np.int32],
    dead: int,
    met: StatesMet,
    states: int,
    bound: int,
) -> tuple[Codes, Codes, Codes, NDArray[np.bool_]]:
    ops = len(kind)
    returns, begins = np.empty(ops, np.int32), np.empty(ops, np.int32)
    _returns(event, returns, begins)
    last = _needs(kind, start, to, pending, table, dead, states, met, returns, begins)
    until, needed = returns.copy(), np.empty(ops, np.int32)
    sticky = np.zeros(ops, np.bool_)
    for op in range(ops):
        if kind[op] == RESET or kind[op] == SWAP:
            needed[op] = last[to[op]]
        elif kind[op] == EDGE and dead >= 0:
            needed[op] = -1
            for state in range(states):
                if table[to[op], state] != dead:
                    needed[op] = max(needed[op], last[table[to[op], state]])
        elif kind[op] == EDGE and is_used(met) and pending[op]:
            needed[op] = -1
            for at in range(met.step_from[to[op]], met.step_from[to[op] + 1]):
                if met.write[at] != NOT:
                    thing = met.thing_from[met.register[at]] + met.write[at]
                    needed[op] = max(needed[op], last[thing])
        else:
            needed[op] = len(event)
        if not pending[op]:
            continue
        until[op] = needed[op] if needed[op] > begins[op] and bound != NONE else -1
        if bound > 0 and until[op] > begins[op] + bound:
            until[op] = begins[op] + bound
    if bound in (STICKY, LATEST):
        _shorten(kind, start, to, pending, begins, bound, until, sticky)
    return returns, until, needed, sticky


def lives(problem: Problem, bound: int) -> Lives:
    """How long each operation counts under a bound: one of those above, or a number of events."""
    kind, start, to, pending, event, states, table, dead, met = problem
    return Lives(*compute(kind, start, to, pending, event, table, dead, met, states, bound))
