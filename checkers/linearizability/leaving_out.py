"""Reduces a history that is not linearizable to a few of its operations that are not.

A part of a linearizable history may be impossible to explain (drop the write, keep the read), so
operations are left out only if that never makes an explicable history inexplicable: any that only
look; and any that change the object if no kept operation looks at what they made. The end of a
history may always be cut off; operations that had not returned by then are pending. So if the rest
has no order, the whole had none.

All of it is compiled: a history of a hundred operations is searched some twenty times, and a
crossing from Python into each search would cost more than the search.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Codes, Flags, Ints, Kinds
from checkers.history.calls import ANY, Calls, Model, Outcome, Step
from checkers.linearizability.compiled import compiled
from checkers.linearizability.configurations import StateWords
from checkers.linearizability.frontier import SearchEnd
from checkers.linearizability.parts import Left, Means, Notes, WholeObject, search_part, without
from checkers.linearizability.split import DIFFER, EQUAL, RESET, SWAP, Problem
from checkers.linearizability.states_met import is_used

# The things that each operation of an object makes, and those that it looks at, as codes.
#
# For registers a thing is a value of a key, for maps a text: a read of a text looks at every text
# that was written and is a part of it. For a counter there is one thing, which each addition makes.


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


PROBES = 400
CELLS = 8_000_000  # operations, states and letters looked at by all probes together


@compiled
def _keep_what_is_seen(left: Left, looks: Looks, leaving: Flags, notes: Notes) -> int:
    """Keep every operation with a result that a kept one looks at; returns how many leave."""
    going = 0
    changed = True
    while changed:
        changed = False
        going = 0
        notes.cells[0] += len(left.kind)
        everything = False
        notes.seen[:] = False
        for op in range(len(left.kind)):
            if leaving[op]:
                continue
            whole = left.number[op]
            for place in range(looks.looked_from[whole], looks.looked_from[whole + 1]):
                if looks.looked[place] == EVERYTHING:
                    everything = True
                else:
                    notes.seen[looks.looked[place]] = True
        for op in range(len(left.kind)):
            if not leaving[op]:
                continue
            whole = left.number[op]
            for place in range(looks.made_from[whole], looks.made_from[whole + 1]):
                made = looks.made[place]
                if everything or notes.seen[made] or contains(looks, notes.seen, made, notes.cells):
                    leaving[op] = False
                    changed = True
            going += leaving[op]
    return going


@compiled
def _is_spent(notes: Notes) -> bool:
    return bool(notes.probes[0] > PROBES or notes.cells[0] > CELLS)


@compiled
def _latest(
    left: Left,
    end: SearchEnd,
    looks: Looks,
    of: WholeObject,
    means: Means,
    words: StateWords,
    notes: Notes,
) -> tuple[Left, SearchEnd]:
    """Try the last few that look, with all that they need: most often that is enough."""
    lookers = np.empty(len(left.kind), np.int32)
    count = 0
    for position in range(len(left.event) - 1, -1, -1):
        op = left.event[position] >> 1
        whole = left.number[op]
        if left.event[position] & 1 and looks.looked_from[whole] < looks.looked_from[whole + 1]:
            lookers[count] = op
            count += 1
    few = 4
    while few < count and not _is_spent(notes):
        leaving = np.ones(len(left.kind), np.bool_)
        leaving[lookers[:few]] = False
        leaving[left.event[-1] >> 1] = False
        _keep_what_is_seen(left, looks, leaving, notes)
        died, shorter, why = without(left, leaving, of, means, words, notes)
        if died:
            return shorter, why
        few *= 4
    return left, end


@compiled
def _one_by_one(
    left: Left,
    end: SearchEnd,
    looks: Looks,
    of: WholeObject,
    means: Means,
    words: StateWords,
    notes: Notes,
) -> tuple[Left, SearchEnd]:
    """Leave out ever smaller runs of operations, until no single one can be spared."""
    size = max(1, len(left.kind) // 2)
    while not _is_spent(notes):
        before, place = len(left.kind), 0
        while place < len(left.kind) and not _is_spent(notes):
            leaving = np.zeros(len(left.kind), np.bool_)
            leaving[place : place + size] = True
            leaving[left.event[-1] >> 1] = False
            fewer = _keep_what_is_seen(left, looks, leaving, notes) > 0
            if fewer:
                fewer, left, why = without(left, leaving, of, means, words, notes)
                if fewer:
                    end = why
            if not fewer:
                place += size
        if size == 1 and len(left.kind) == before:
            break
        size = max(1, size // 2)
    return left, end


@compiled
def _shrink(
    whole: Left, looks: Looks, of: WholeObject, means: Means, words: StateWords, likely: Flags
) -> tuple[bool, Left, SearchEnd]:
    """Whether the problem has no order; then a small part of it that has none."""
    notes = Notes(
        np.zeros(len(whole.kind), np.bool_),
        np.zeros(looks.things, np.bool_),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
    )
    died, left, end = without(whole, ~likely, of, means, words, notes)
    if not died and not likely.all():
        nothing = np.zeros(len(whole.kind), np.bool_)
        died, left, end = without(whole, nothing, of, means, words, notes)
    if not died:
        return False, left, end
    if end.quiet >= 0 and end.quiet_state == of.first_state:
        early = ~notes.late[left.number]
        died, left, why = without(left, early, of, means, words, notes)
        if died:
            end = why
    left, end = _latest(left, end, looks, of, means, words, notes)
    left, end = _one_by_one(left, end, looks, of, means, words, notes)
    if is_used(of.met):
        # Numbers of states are those of the last search, which may have been of a smaller part.
        end = search_part(left, of, means, words)
    return True, left, end


class Shrunk(NamedTuple):
    """Operations that have no order, and the search that found none for them."""

    operations: Sequence[int]  # numbers in the whole problem, in the order of invocation
    returned: Sequence[bool]  # before the return that nothing explains, or it
    dying: int  # nothing explains its return
    end: SearchEnd


def shrink(
    problem: Problem,
    looks: Looks,
    first_state: int,
    means: Means,
    words: int,
    likely: Sequence[int],
) -> Shrunk | None:
    """The fewest operations found that have no order; None if none is found by these means.

    `likely` are tried first: a part that is known to have no order.
    """
    kind, start, to, pending, event, states, table, dead, met = problem
    number = np.arange(len(kind), dtype=np.int32)
    first = np.zeros(len(kind), np.bool_)
    first[list(likely)] = True
    died, left, end = _shrink(
        Left(kind, start, to, pending, event, number),
        looks,
        WholeObject(states, table, dead, met, first_state),
        means,
        (0,) * words,
        first,
    )
    if not died:
        return None
    return Shrunk(
        operations=left.number.tolist(),
        returned=(~left.pending).tolist(),
        dying=int(left.number[left.event[-1] >> 1]),
        end=end,
    )
