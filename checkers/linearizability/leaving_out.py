"""From a history that is not linearizable to a few of its operations that are not.

A part of a linearizable history may be impossible to explain (drop the write, keep the read), so
what may be left out is chosen such that leaving it out never makes an explicable history
inexplicable: whatever only looks; and whatever changes the object where nothing that is kept looks
at what it made. The end of a history may always be cut off; what had not returned by then is
pending. So if what is left has no order, the whole had none.

All of it is compiled: a history of a hundred operations is searched some twenty times, and a
crossing from Python into each search would cost more than the search.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.compiled import compiled
from checkers.linearizability.configurations import Words
from checkers.linearizability.deadlines import compute
from checkers.linearizability.frontier import DIED, End, run
from checkers.linearizability.looks import EVERYTHING, Looks, contains
from checkers.linearizability.slots import Operations
from checkers.linearizability.split import DIFFER, EQUAL, TEST, Problem

Codes = NDArray[np.int32]
Kinds = NDArray[np.int8]
Flags = NDArray[np.bool_]

PROBES = 400
CELLS = 8_000_000  # operations, states and letters looked at by all probes together
PROBE = 50  # what a probe costs beside them


class Left(NamedTuple):
    """Some operations of a problem, in its order, and their events."""

    kind: Kinds
    start: Codes
    to: Codes
    pending: Flags
    event: Codes
    number: Codes  # of each in the whole problem


class Means(NamedTuple):
    """By which search a part is known to have no order."""

    bound: int  # how long pending operations live; see `deadlines`
    room: int  # configurations
    limit: int  # work


class Object(NamedTuple):
    """What all parts of a problem have in common."""

    states: int
    table: Codes
    dead: int
    first_state: int


class Spent(NamedTuple):
    """What shrinking has cost so far, as arrays of one number."""

    probes: NDArray[np.int64]
    cells: NDArray[np.int64]


@compiled
def _part(left: Left, leaving: Flags, cut: int) -> Left:
    """Without some operations, up to an event; what only looks and had not returned is nothing."""
    ops = len(left.kind)
    ended, number = np.zeros(ops, np.bool_), np.full(ops, -1, np.int32)
    for position in range(cut):
        if left.event[position] & 1:
            ended[left.event[position] >> 1] = True
    for position in range(cut):
        op = left.event[position] >> 1
        kind = left.kind[op]
        looks = kind in (EQUAL, DIFFER, TEST)
        if not leaving[op] and (ended[op] or not looks):
            number[op] = 0
    kept = np.flatnonzero(number == 0)
    number[kept] = np.arange(len(kept))
    event, events = np.empty(cut, np.int32), 0
    for position in range(cut):
        op = left.event[position] >> 1
        if number[op] >= 0:
            event[events] = 2 * number[op] + (left.event[position] & 1)
            events += 1
    return Left(
        left.kind[kept],
        left.start[kept],
        left.to[kept],
        ~ended[kept],
        event[:events].copy(),
        left.number[kept],
    )


@compiled
def _search(part: Left, of: Object, means: Means, words: Words) -> End:
    returns, until, needed, sticky = compute(
        part.kind,
        part.start,
        part.to,
        part.pending,
        part.event,
        of.table,
        of.dead,
        of.states,
        means.bound,
    )
    operations = Operations(
        part.kind,
        part.start,
        part.to,
        part.pending,
        of.table,
        of.dead,
        returns,
        until,
        needed,
        sticky,
    )
    return run(operations, part.event, of.first_state, means.room, False, means.limit, words)


@compiled
def _without(
    left: Left, leaving: Flags, of: Object, means: Means, words: Words, late: Flags, spent: Spent
) -> tuple[bool, Left, End]:
    """Whether the others have no order; if so, they up to the return that none explains.

    `late` gets those that began after the object was last at rest, by number in the whole problem.
    """
    spent.probes[0] += 1
    spent.cells[0] += len(left.kind) + of.states + of.table.size // 16 + PROBE
    part = _part(left, leaving, len(left.event))
    end = _search(part, of, means, words)
    if end.status != DIED:
        return False, left, end
    late[:] = False
    for position in range(end.quiet + 1, len(part.event)):
        late[part.number[part.event[position] >> 1]] = True
    slots = end.operation.copy()
    for slot in range(len(slots)):
        if slots[slot] >= 0:
            slots[slot] = part.number[slots[slot]]
    shorter = _part(part, np.zeros(len(part.kind), np.bool_), end.position + 1)
    named = End(
        end.status,
        end.position,
        end.work,
        end.peak,
        end.cut,
        end.quiet,
        end.quiet_state,
        end.state,
        end.may,
        end.must,
        slots,
    )
    return True, shorter, named


@compiled
def _keep_what_is_seen(left: Left, looks: Looks, leaving: Flags, seen: Flags, spent: Spent) -> int:
    """Let nothing leave whose making is looked at by what stays; returns how many leave."""
    going = 0
    changed = True
    while changed:
        changed = False
        going = 0
        spent.cells[0] += len(left.kind)
        everything = False
        seen[:] = False
        for op in range(len(left.kind)):
            if leaving[op]:
                continue
            whole = left.number[op]
            for place in range(looks.looked_from[whole], looks.looked_from[whole + 1]):
                if looks.looked[place] == EVERYTHING:
                    everything = True
                else:
                    seen[looks.looked[place]] = True
        for op in range(len(left.kind)):
            if not leaving[op]:
                continue
            whole = left.number[op]
            for place in range(looks.made_from[whole], looks.made_from[whole + 1]):
                made = looks.made[place]
                if everything or seen[made] or contains(looks, seen, made, spent.cells):
                    leaving[op] = False
                    changed = True
            going += leaving[op]
    return going


@compiled
def _is_spent(spent: Spent) -> bool:
    return bool(spent.probes[0] > PROBES or spent.cells[0] > CELLS)


@compiled
def _latest(
    left: Left,
    end: End,
    looks: Looks,
    of: Object,
    means: Means,
    words: Words,
    late: Flags,
    seen: Flags,
    spent: Spent,
) -> tuple[Left, End]:
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
    while few < count and not _is_spent(spent):
        leaving = np.ones(len(left.kind), np.bool_)
        leaving[lookers[:few]] = False
        leaving[left.event[-1] >> 1] = False
        _keep_what_is_seen(left, looks, leaving, seen, spent)
        died, shorter, why = _without(left, leaving, of, means, words, late, spent)
        if died:
            return shorter, why
        few *= 4
    return left, end


@compiled
def _one_by_one(
    left: Left,
    end: End,
    looks: Looks,
    of: Object,
    means: Means,
    words: Words,
    late: Flags,
    seen: Flags,
    spent: Spent,
) -> tuple[Left, End]:
    """Leave out ever smaller runs of operations, until no single one can be spared."""
    size = max(1, len(left.kind) // 2)
    while not _is_spent(spent):
        before, place = len(left.kind), 0
        while place < len(left.kind) and not _is_spent(spent):
            leaving = np.zeros(len(left.kind), np.bool_)
            leaving[place : place + size] = True
            leaving[left.event[-1] >> 1] = False
            fewer = _keep_what_is_seen(left, looks, leaving, seen, spent) > 0
            if fewer:
                fewer, left, why = _without(left, leaving, of, means, words, late, spent)
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
    whole: Left, looks: Looks, of: Object, means: Means, words: Words, likely: Flags
) -> tuple[bool, Left, End]:
    """Whether the problem has no order; then as little of it as was found to have none."""
    spent = Spent(np.zeros(1, np.int64), np.zeros(1, np.int64))
    late, seen = np.zeros(len(whole.kind), np.bool_), np.zeros(looks.things, np.bool_)
    died, left, end = _without(whole, ~likely, of, means, words, late, spent)
    if not died and not likely.all():
        nothing = np.zeros(len(whole.kind), np.bool_)
        died, left, end = _without(whole, nothing, of, means, words, late, spent)
    if not died:
        return False, left, end
    if end.quiet >= 0 and end.quiet_state == of.first_state:
        early = ~late[left.number]
        died, left, why = _without(left, early, of, means, words, late, spent)
        if died:
            end = why
    left, end = _latest(left, end, looks, of, means, words, late, seen, spent)
    left, end = _one_by_one(left, end, looks, of, means, words, late, seen, spent)
    return True, left, end


class Shrunk(NamedTuple):
    """Operations that have no order, and the search that found none for them."""

    operations: Sequence[int]  # numbers in the whole problem, in the order of invocation
    returned: Sequence[bool]  # before the return that nothing explains, or it
    dying: int  # the one whose return nothing explains
    end: End


def shrink(
    problem: Problem,
    looks: Looks,
    first_state: int,
    means: Means,
    words: int,
    likely: Sequence[int],
) -> Shrunk | None:
    """The fewest operations found that have no order; None where none is found by these means.

    `likely` are tried first: a part that is known to have no order.
    """
    kind, start, to, pending, event, states, table, dead = problem
    number = np.arange(len(kind), dtype=np.int32)
    first = np.zeros(len(kind), np.bool_)
    first[list(likely)] = True
    died, left, end = _shrink(
        Left(kind, start, to, pending, event, number),
        looks,
        Object(states, table, dead, first_state),
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
