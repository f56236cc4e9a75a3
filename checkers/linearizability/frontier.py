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
* a pending operation leaves when nobody can need its value any more (`deadlines`);
* covered configurations are dropped (`configurations`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.compiled import compiled, inlined, loop
from checkers.linearizability.configurations import (
    GONE,
    Bits,
    Codes,
    Configurations,
    Words,
    append,
    copy,
    empty,
    insert,
)
from checkers.linearizability.deadlines import Lives
from checkers.linearizability.slots import (
    ACTING,
    FREE,
    Operations,
    Slots,
    give_back,
    is_first_of_its_kind,
    leads_on,
    no_slots,
    only_looks,
    satisfy,
    step,
    take,
)
from checkers.linearizability.split import EDGE, RESET, Problem

SURVIVED, DIED, NO_SLOT, NO_ROOM, NO_TIME = range(5)
# Places in `Board.tally`.
SIZE, PEAK, WORK, CUT, POSITION, QUIET, QUIET_STATE = range(7)


class End(NamedTuple):
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


@inlined
def _begin(slots: Slots, ops: Operations, op: int, now: Configurations, size: int) -> bool:
    """Let an operation begin in every configuration; whether there was a slot for it."""
    slot = take(slots, ops, op)
    if slot < 0:
        return False
    word, bit = slots.word[slot], slots.bit[slot]
    looks = only_looks(ops, op)
    for c in range(size):
        if not looks:
            now.may[c, word] |= bit
        if not ops.pending[op] and (not looks or step(ops, op, now.state[c]) < 0):
            now.must[c, word] |= bit
    return True


@inlined
def _is_involved(now: Configurations, size: int, word: int, bit: np.uint64) -> bool:
    """Whether any configuration has this operation's bit."""
    involved = np.uint64(0)
    for c in range(size):
        involved |= (now.may[c, word] | now.must[c, word]) & bit
    return bool(involved)


@inlined
def _without(
    now: Configurations,
    size: int,
    then: Configurations,
    kept: int,
    word: int,
    bit: np.uint64,
    scratch: tuple[Bits, Bits],
    words: Words,
) -> tuple[int, int]:
    """Add to `then` those that no longer may apply an operation, but did not have to.

    Before, none covered another; one that lost a bit may be covered now, but covers none of those
    that did not. So only these are compared, and against those that `then` has already.
    """
    may, must = scratch
    work = 0
    for c in range(size):
        if now.must[c, word] & bit or not now.may[c, word] & bit:
            continue
        for w in range(len(words)):
            may[w] = now.may[c, w]
            must[w] = now.must[c, w]
        may[word] &= ~bit
        kept, looked = insert(now.state[c], may, must, then, kept, False, words)
        work += looked
    return kept, work


@inlined
def _sort_out(
    slots: Slots,
    op: int,
    branch: bool,
    now: Configurations,
    size: int,
    then: Configurations,
    way: Configurations,
    scratch: tuple[Bits, Bits],
    words: Words,
) -> tuple[int, int, int]:
    """At the end of an operation: who survives as it is, and who is on the way to apply it.

    `branch`: one in which it was hidden may also apply it now. Returns both sizes and the work.
    """
    word, bit = slots.word[slots.of[op]], slots.bit[slots.of[op]]
    kept, ways, changed = 0, 0, 0
    for c in range(size):
        outstanding = now.must[c, word] & bit
        if outstanding or (branch and now.may[c, word] & bit):
            ways = append(now, c, way, ways, words)
        if not outstanding and now.may[c, word] & bit:
            changed += 1
        elif not outstanding:
            kept = append(now, c, then, kept, words)
    work = kept + ways
    if changed:
        kept, looked = _without(now, size, then, kept, word, bit, scratch, words)
        work += looked
    return kept, ways, work


@inlined
def _extend(
    slots: Slots,
    ops: Operations,
    op: int,
    then: Configurations,
    kept: int,
    way: Configurations,
    ways: int,
    cut_allowed: bool,
    limit: int,
    scratch: tuple[Bits, Bits],
    words: Words,
) -> tuple[int, int, int, bool]:
    """Apply operations in all configurations on the way, until `op` is applied or content.

    Returns how many were kept, how many were on the way, the work, whether any had no room.
    """
    word, bit = slots.word[slots.of[op]], slots.bit[slots.of[op]]
    looks = only_looks(ops, op)
    may, must = scratch
    work = 0
    cut = False
    at = 0
    while at < ways and work <= limit and (cut_allowed or not cut):
        state = way.state[at]
        for index in range(slots.number[ACTING] if state != GONE else 0):
            slot = slots.acting[index]
            o = slots.operation[slot]
            if not way.may[at, slots.word[slot]] & slots.bit[slot]:
                continue
            work += 1
            if o != op and not is_first_of_its_kind(slots, ops, slot, way, at, words):
                continue
            kind = ops.kind[o]
            reached = step(ops, o, state)
            if reached < 0 or (o != op and kind == EDGE and reached == ops.dead):
                continue
            for w in range(len(words)):
                may[w] = way.may[at, w]
                must[w] = way.must[at, w]
                if kind == RESET:
                    must[w] &= ~slots.hideable[w]
            if not ops.sticky[o]:
                may[slots.word[slot]] &= ~slots.bit[slot]
            must[slots.word[slot]] &= ~slots.bit[slot]
            wanted = satisfy(slots, ops, reached, must) or kind != RESET
            if o == op or (looks and not must[word] & bit):
                may[word] &= ~bit
                grown, looked = insert(reached, may, must, then, kept, False, words)
                kept = grown if grown >= 0 else kept
            elif wanted or leads_on(slots, ops, reached, may):
                grown, looked = insert(reached, may, must, way, ways, True, words)
                ways = grown if grown >= 0 else ways
            else:
                continue
            work += looked
            cut = cut or grown < 0
        at += 1
    return kept, ways, work, cut


@inlined
def _return(
    board: Board, ops: Operations, op: int, position: int, bounds: Bounds, words: Words
) -> int:
    """Let an operation return: SURVIVED, or why the search ends here."""
    slots, now, then, way, scratch, _, _, tally = board
    slot = slots.of[op]
    if not _is_involved(now, tally[SIZE], slots.word[slot], slots.bit[slot]):
        give_back(slots, ops, op, words)
        return SURVIVED
    branch = ops.needed[op] > position
    kept, ways, work = _sort_out(slots, op, branch, now, tally[SIZE], then, way, scratch, words)
    tally[WORK] += work
    if ways:
        left = bounds.limit - tally[WORK]
        kept, ways, work, full = _extend(
            slots, ops, op, then, kept, way, ways, bounds.cut_allowed, left, scratch, words
        )
        tally[WORK] += work
        tally[CUT] |= full
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
def _cease(board: Board, ops: Operations, position: int, words: Words) -> None:
    """Forget pending operations that count no longer: as if they returned, unforced."""
    slots, now, then, way, scratch, ceasing, next_ceasing, tally = board
    op = ceasing[position]
    while op >= 0:
        kept, _, work = _sort_out(slots, op, False, now, tally[SIZE], then, way, scratch, words)
        tally[WORK] += work
        tally[SIZE] = kept
        copy(then, now, kept, words)
        give_back(slots, ops, op, words)
        op = next_ceasing[op]


@loop
def _go_through(board: Board, ops: Operations, event: Codes, bounds: Bounds, words: Words) -> int:
    """All events, one after the other; returns how it ended."""
    slots, tally = board.slots, board.tally
    for position in range(len(event)):
        tally[POSITION] = position
        op = event[position] >> 1
        if event[position] & 1:
            status = _return(board, ops, op, position, bounds, words)
            if status != SURVIVED:
                return int(status)
        elif ops.until[op] >= 0:
            if not _begin(slots, ops, op, board.now, tally[SIZE]):
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
    words: Words,
) -> End:
    board = Board(
        no_slots(len(ops.kind), words),
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
    status = _go_through(board, ops, event, Bounds(limit, cut_allowed), words)
    size = tally[SIZE]
    return End(
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
) -> End:
    """Search with at most 64 * `words` operations open, `room` configurations, `limit` work.

    With `cut_allowed` what finds no room is dropped: surviving is then still a proof, dying not.
    """
    kind, start, to, pending, event, _, table, dead = problem
    operations = Operations(kind, start, to, pending, table, dead, *lives)
    return run(operations, event, first_state, room, cut_allowed, limit, (0,) * words)
