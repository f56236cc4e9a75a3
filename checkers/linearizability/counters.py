"""Counters: states are all possible sums, and a read needs one of them.

Sums are counted in units of the additions' common divisor, from the least possible one. No read has
to prove whether an addition with an unknown outcome took place: it may at any time, so all of them
stay open to the end, and equal ones are tried once.
"""

from math import gcd

import numpy as np

from checkers.array_types import Codes
from checkers.counted import counted
from checkers.history.calls import ANY, NIL, Calls, Outcome, Step
from checkers.linearizability.decision import Budget
from checkers.linearizability.split import EDGE, EQUAL, Problem
from checkers.linearizability.state_tables import SearchedObject, TooLarge, events


def counter(
    calls: Calls, key: int, rows: Codes, at: Codes, budget: Budget
) -> SearchedObject | TooLarge:
    """One counter: its additions, and the sums it was read at. Raises ValueError for other
    steps."""
    kinds = calls.kind[rows]
    if not np.isin(kinds, (Step.READ, Step.ADD)).all():
        raise ValueError("not a history of a counter: only add and read are known")
    untold = (kinds == Step.READ) & (
        (calls.outcome[rows] != Outcome.OK) | (calls.value[rows] == ANY)
    )
    rows = rows[(calls.outcome[rows] != Outcome.FAIL) & ~untold]
    first = number_of(calls, calls.initial)
    numbers = [number_of(calls, code) for code in calls.value[rows].tolist()]
    adds = (calls.kind[rows] == Step.ADD).tolist()
    added = [number for number, is_add in zip(numbers, adds, strict=True) if is_add]
    unit = gcd(*added) or 1
    low = first + sum(number for number in added if number < 0)
    states = (sum(map(abs, added)) // unit) + 2  # the last is for impossible sums
    steps = list(dict.fromkeys(added))
    name = calls.keys[key]
    if states * len(steps) > budget.cells:
        many = f"{counted(states, 'state')} of a counter and {counted(len(steps), 'addition')}"
        return TooLarge(name, rows, f"{many}: more than the {budget.cells:,} cells of a table")
    if states > budget.states:
        many = counted(states, "state")
        return TooLarge(name, rows, f"{many} of a counter: more than {budget.states:,}")
    nowhere = states - 1
    table = np.full((len(steps), states), -1, np.int32)
    for row, step in enumerate(steps):
        reached = np.arange(nowhere) + step // unit
        table[row, :nowhere] = np.where((reached >= 0) & (reached < nowhere), reached, -1)
    place = {step: row for row, step in enumerate(steps)}

    def state(number: int) -> int:
        found, rest = divmod(number - low, unit)
        return found if rest == 0 and 0 <= found < nowhere else nowhere

    to = [
        place[number] if is_add else state(number)
        for number, is_add in zip(numbers, adds, strict=True)
    ]
    made = Problem(
        kind=np.where(adds, EDGE, EQUAL).astype(np.int8),
        start=np.zeros(len(rows), np.int32),
        to=np.array(to, np.int32),
        pending=calls.outcome[rows] != Outcome.OK,
        event=events(at, rows, len(calls)),
        states=states,
        table=table,
    )
    words = [*(str(low + unit * each) for each in range(nowhere)), "an impossible sum"]
    return SearchedObject(name, rows, made, state(first), words)


def number_of(calls: Calls, code: int) -> int:
    """The number that a value of a counter is; nil is 0."""
    return 0 if code == NIL else int(calls.values[code])
