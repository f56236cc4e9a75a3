"""A part of a problem: some of its operations, up to an event, searched like the whole."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Codes, Flags, Kinds
from checkers.linearizability.compiled import compiled
from checkers.linearizability.configurations import StateWords
from checkers.linearizability.deadlines import compute
from checkers.linearizability.frontier import DIED, SearchEnd, run
from checkers.linearizability.slots import Operations
from checkers.linearizability.split import DIFFER, EQUAL, TEST
from checkers.linearizability.states_met import StatesMet

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
    """The search by which a part is known to have no order."""

    bound: int  # how long pending operations live; see `deadlines`
    room: int  # configurations
    limit: int  # work


class WholeObject(NamedTuple):
    """The common data of all parts of a problem."""

    states: int
    table: Codes
    dead: int
    met: StatesMet
    first_state: int


class Notes(NamedTuple):
    """Notes of the search so far; costs are arrays of one number."""

    late: Flags  # by number in the whole problem: began after the object was last at rest
    seen: Flags  # by thing: a kept operation looks at it
    probes: NDArray[np.int64]
    cells: NDArray[np.int64]


@compiled
def part_of(left: Left, leaving: Flags, cut: int) -> Left:
    """Without some operations, up to an event; those that only look and had not returned are
    dropped."""
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
def search_part(part: Left, of: WholeObject, means: Means, words: StateWords) -> SearchEnd:
    returns, until, needed, sticky = compute(
        part.kind,
        part.start,
        part.to,
        part.pending,
        part.event,
        of.table,
        of.dead,
        of.met,
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
        of.met,
        returns,
        until,
        needed,
        sticky,
    )
    return run(operations, part.event, of.first_state, means.room, False, means.limit, words)


@compiled
def without(
    left: Left,
    leaving: Flags,
    of: WholeObject,
    means: Means,
    words: StateWords,
    notes: Notes,
) -> tuple[bool, Left, SearchEnd]:
    """Whether the others have no order; if so, they up to the return that none explains."""
    notes.probes[0] += 1
    notes.cells[0] += len(left.kind) + of.states + of.table.size // 16 + PROBE
    part = part_of(left, leaving, len(left.event))
    end = search_part(part, of, means, words)
    if end.status != DIED:
        return False, left, end
    notes.late[:] = False
    for position in range(end.quiet + 1, len(part.event)):
        notes.late[part.number[part.event[position] >> 1]] = True
    slots = end.operation.copy()
    for slot in range(len(slots)):
        if slots[slot] >= 0:
            slots[slot] = part.number[slots[slot]]
    shorter = part_of(part, np.zeros(len(part.kind), np.bool_), end.position + 1)
    named = SearchEnd(
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
