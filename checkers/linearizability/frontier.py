"""The compiled search: a just-in-time frontier of configurations, kept small by dominance.

Events are gone through once, in the recorded order (Lowe 2017; pruned further here). An operation
is applied only when a return forces it: at the return of o every configuration in which o is
outstanding is extended by applying open operations, ending with o; those that cannot are dropped.
If none is left, no order explains the history up to this event: it is not linearizable.

What keeps the frontier small, each rule keeping a configuration that covers what it drops:

* operations that only look (reads, observed failures) are satisfied as soon as the state allows;
* whatever overwrites hides the other open writes just before itself: they no longer must be
  applied, but still may be, and one that is hidden branches once more at its own return;
* of equal operations only the one that returns first is tried, pending ones last;
* a write is applied on the way only if some open operation wants its value;
* a pending operation leaves when its value can no longer be needed (`deadlines`);
* covered configurations are dropped (`configurations`);
* of several registers only what shares one with the operation that returns is applied (`slots`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Codes
from checkers.linearizability.compiled import compiled, inlined, loop
from checkers.linearizability.configurations import Bits, Configurations, StateWords, copy, empty
from checkers.linearizability.deadlines import Lives
from checkers.linearizability.slots import (
    FREE,
    Operations,
    Slots,
    begin,
    extend,
    give_back,
    is_involved,
    no_slots,
    sort_out,
)
from checkers.linearizability.split import Problem
from checkers.linearizability.states_met import (
    CROWDED,
    FULL,
    MET,
    forget,
    is_used,
    start_over,
)

SURVIVED, DIED, NO_SLOT, NO_ROOM, NO_TIME, NO_STATE = range(6)
# Places in `Board.tally`.
SIZE, PEAK, WORK, CUT, POSITION, QUIET, QUIET_STATE = range(7)


class SearchEnd(NamedTuple):
    """How a search ended, and where: the position is that of the last event it looked at."""

    status: int
    position: int
    work: int  # operations tried and configurations compared
    peak: int  # the most configurations at one moment
    cut: bool  # configurations were dropped for want of room: dying proves nothing
    quiet: int  # after this event one configuration was left and nothing open; -1: the beginning
    quiet_state: int
    state: Codes  # configurations before the last event looked at
    may: Bits
    must: Bits
    operation: Codes  # by slot: the operation in it, or -1


class Board(NamedTuple):
    """All that changes during a search."""

    slots: Slots
    now: Configurations
    then: Configurations  # after the event that is being looked at
    way: Configurations  # on the way there
    scratch: tuple[Bits, Bits]
    ceasing: Codes  # by position: an operation that ceases to count after it, or -1
    next_ceasing: Codes  # by operation: another one that does
    tally: NDArray[np.int64]


class Bounds(NamedTuple):
    limit: int
    cut_allowed: bool
    several: bool  # registers: states are numbered as they are met


@inlined
def _return(
    board: Board, ops: Operations, op: int, position: int, bounds: Bounds, words: StateWords
) -> int:
    """Let an operation return: SURVIVED, or why the search ends here."""
    slots, now, then, way, scratch, _, _, tally = board
    slot = slots.of[op]
    if not is_involved(now, tally[SIZE], slots.word[slot], slots.bit[slot]):
        give_back(slots, ops, op, words)
        return SURVIVED
    branch = ops.needed[op] > position
    kept, ways, work = sort_out(slots, op, branch, now, tally[SIZE], then, way, scratch, words)
    tally[WORK] += work
    if ways:
        left = bounds.limit - tally[WORK]
        kept, ways, work, full = extend(
            slots, ops, op, then, kept, way, ways, bounds.cut_allowed, left, scratch, words
        )
        tally[WORK] += work
        tally[CUT] |= full
        if bounds.several and ops.met.tally[FULL]:
            return NO_STATE
        if work > left:
            return NO_TIME
        if full and not bounds.cut_allowed:
            return NO_ROOM
        if kept == 0:
            return DIED
    tally[SIZE] = kept
    tally[PEAK] = max(tally[PEAK], max(kept, ways))
    copy(then, now, kept, words)
    give_back(slots, ops, op, words)
    return SURVIVED


@inlined
def _cease(board: Board, ops: Operations, position: int, words: StateWords) -> None:
    """Forget pending operations that no longer count: as if they returned, unforced."""
    slots, now, then, way, scratch, ceasing, next_ceasing, tally = board
    op = ceasing[position]
    while op >= 0:
        kept, _, work = sort_out(slots, op, False, now, tally[SIZE], then, way, scratch, words)
        tally[WORK] += work
        tally[SIZE] = kept
        copy(then, now, kept, words)
        give_back(slots, ops, op, words)
        op = next_ceasing[op]


@loop
def _go_through(
    board: Board, ops: Operations, event: Codes, bounds: Bounds, words: StateWords
) -> int:
    """All events, one after the other; returns how it ended."""
    slots, tally = board.slots, board.tally
    for position in range(len(event)):
        tally[POSITION] = position
        if bounds.several and ops.met.tally[MET] >= ops.met.tally[CROWDED]:
            tally[QUIET_STATE] = forget(ops.met, board.now.state, tally[SIZE], tally[QUIET_STATE])
        op = event[position] >> 1
        if event[position] & 1:
            status = _return(board, ops, op, position, bounds, words)
            if status != SURVIVED:
                return int(status)
        elif ops.until[op] >= 0:
            if not begin(slots, ops, op, board.now, tally[SIZE]):
                return NO_SLOT
            if ops.pending[op] and ops.until[op] < len(event):
                board.next_ceasing[op] = board.ceasing[ops.until[op]]
                board.ceasing[ops.until[op]] = op
        if board.ceasing[position] >= 0:
            _cease(board, ops, position, words)
        if tally[SIZE] == 1 and slots.number[FREE] == len(slots.free):
            tally[QUIET], tally[QUIET_STATE] = position, board.now.state[0]
    return SURVIVED


@compiled
def run(
    ops: Operations,
    event: Codes,
    first_state: int,
    room: int,
    cut_allowed: bool,
    limit: int,
    words: StateWords,
) -> SearchEnd:
    several = is_used(ops.met)
    if several:
        start_over(ops.met)
    board = Board(
        no_slots(len(ops.kind), several, words),
        empty(room, words),
        empty(room, words),
        empty(room, words),
        (np.empty(len(words), np.uint64), np.empty(len(words), np.uint64)),
        np.full(len(event), -1, np.int32),
        np.full(len(ops.kind), -1, np.int32),
        np.zeros(7, np.int64),
    )
    now, tally = board.now, board.tally
    now.state[0] = first_state
    now.may[0, :] = np.uint64(0)
    now.must[0, :] = np.uint64(0)
    tally[SIZE] = tally[PEAK] = 1
    tally[QUIET], tally[QUIET_STATE] = -1, first_state
    status = _go_through(board, ops, event, Bounds(limit, cut_allowed, several), words)
    size = tally[SIZE]
    return SearchEnd(
        status,
        tally[POSITION],
        tally[WORK],
        tally[PEAK],
        tally[CUT] != 0,
        tally[QUIET],
        tally[QUIET_STATE],
        now.state[:size],
        now.may[:size],
        now.must[:size],
        board.slots.operation,
    )


def search(
    problem: Problem,
    lives: Lives,
    *,
    words: int,
    room: int,
    limit: int,
    cut_allowed: bool = False,
    first_state: int = 0,
) -> SearchEnd:
    """Search with at most 64 * `words` operations open, `room` configurations, `limit` work.

    With `cut_allowed`, configurations without room are dropped: surviving is then still a proof,
    dying not.
    """
    kind, start, to, pending, event, _, table, dead, met = problem
    operations = Operations(kind, start, to, pending, table, dead, met, *lives)
    return run(operations, event, first_state, room, cut_allowed, limit, (0,) * words)
