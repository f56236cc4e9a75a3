"""The things that each operation of an object makes, and those that it looks at, as codes.

For registers a thing is a value of a key, for maps a text: a read of a text looks at every text
that was written and is a part of it. For a counter there is one thing, which each addition makes.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Codes, Ints, Kinds
from checkers.history.calls import ANY, Calls, Model, Outcome, Step
from checkers.linearizability.compiled import compiled
from checkers.linearizability.split import DIFFER, EQUAL, RESET, SWAP, Problem

EVERYTHING = -1  # what an observed difference looks at


class Looks(NamedTuple):
    """Operation `op` makes `made[made_from[op] : made_from[op + 1]]`; what it looks at, likewise.

    The letters of thing `t` are `letters[letters_from[t] : letters_from[t + 1]]`, of maps only.
    """

    made_from: Codes
    made: Codes
    looked_from: Codes
    looked: Codes
    things: int
    letters_from: Codes
    letters: Codes


@compiled
def contains(looks: Looks, seen: NDArray[np.bool_], made: int, cells: Ints) -> bool:
    """Whether a text is part of an observed one."""
    if len(looks.letters_from) == 0:
        return False
    begin, end = looks.letters_from[made], looks.letters_from[made + 1]
    length = end - begin
    for thing in range(looks.things):
        if not seen[thing]:
            continue
        last = looks.letters_from[thing + 1] - length
        cells[0] += max(0, last - looks.letters_from[thing])
        for place in range(looks.letters_from[thing], last + 1):
            same = 0
            while same < length and looks.letters[place + same] == looks.letters[begin + same]:
                same += 1
            if same == length:
                return True
    return False


@compiled
def _of_register(kind: Kinds, start: Codes, to: Codes, states: int) -> Looks:
    """For one register things are its states, and each operation makes or looks at one."""
    ops = len(kind)
    made_from, looked_from = np.zeros(ops + 1, np.int32), np.zeros(ops + 1, np.int32)
    made, looked = np.empty(ops, np.int32), np.empty(ops, np.int32)
    for op in range(ops):
        makes, looks = made_from[op], looked_from[op]
        if kind[op] == RESET or kind[op] == SWAP:
            made[makes] = to[op]
            makes += 1
        if kind[op] != RESET:
            looked[looks] = to[op] if kind[op] == EQUAL else start[op]
            if kind[op] == DIFFER:
                looked[looks] = EVERYTHING
            looks += 1
        made_from[op + 1], looked_from[op + 1] = makes, looks
    nothing = np.empty(0, np.int32)
    return Looks(made_from, made, looked_from, looked, states, nothing, nothing)


def looks_of(calls: Calls, rows: Codes, problem: Problem) -> Looks:
    """For the operations of a problem, which are these calls."""
    if calls.model in (Model.REGISTER, Model.CAS_REGISTER, Model.MUTEX):
        return _of_register(problem.kind, problem.start, problem.to, problem.states)
    return _of_calls(calls, rows)


def _of_calls(calls: Calls, rows: Codes) -> Looks:
    begin, count = calls.step_from[rows], calls.step_from[rows + 1] - calls.step_from[rows]
    op = np.repeat(np.arange(len(rows), dtype=np.int32), count)
    step = np.arange(len(op)) + np.repeat(begin - (np.cumsum(count) - count), count)
    kind, value = calls.kind[step], calls.value[step]
    if calls.model is Model.COUNTER:
        value = np.zeros_like(value)  # every read looks at every addition
    makes = kind != Step.READ
    looks = ~makes & (calls.outcome[rows] == Outcome.OK)[op] & (value != ANY)
    # A key and a value as one number; NIL is -1.
    thing = calls.key[step].astype(np.int64) * (len(calls.values) + 1) + 1 + value
    known, code = np.unique(thing, return_inverse=True)
    letters_from, letters = _letters(calls, known) if calls.model is Model.KV else _NO_LETTERS
    return Looks(
        _from(op[makes], len(rows)),
        code[makes].astype(np.int32),
        _from(op[looks], len(rows)),
        code[looks].astype(np.int32),
        len(known),
        letters_from,
        letters,
    )


def _from(op: Codes, ops: int) -> Codes:
    """Where the things of each operation begin."""
    return np.searchsorted(op, np.arange(ops + 1)).astype(np.int32)


_NO_LETTERS = (np.empty(0, np.int32), np.empty(0, np.int32))


def _letters(calls: Calls, known: Ints) -> tuple[Codes, Codes]:
    codes = known % (len(calls.values) + 1) - 1
    texts = [calls.values[code] if code >= 0 else "" for code in codes.tolist()]
    ends = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    return ends, np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.int32)
