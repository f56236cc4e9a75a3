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

from checkers.linearizability.compiled import compiled, inlined
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
    slots = no_slots(len(ops.kind), words)
    scratch = (np.empty(len(words), np.uint64), np.empty(len(words), np.uint64))
    now, then, way = empty(room, words), empty(room, words), empty(room, words)
    # Operations that cease to count after an event, as chains.
    ceasing, next_ceasing = np.full(len(event), -1, np.int32), np.full(len(ops.kind), -1, np.int32)
    now.state[0] = first_state
    now.may[0, :] = np.uint64(0)
    now.must[0, :] = np.uint64(0)
    size, peak, work, cut = 1, 1, 0, False
    quiet, quiet_state, status = -1, first_state, SURVIVED
    position = 0
    for position in range(len(event)):
        op = event[position] >> 1
        if event[position] & 1 == 0:
            if ops.until[op] >= 0:
                if not _begin(slots, ops, op, now, size):
                    status = NO_SLOT
                    break
                if ops.pending[op] and ops.until[op] < len(event):
                    next_ceasing[op] = ceasing[ops.until[op]]
                    ceasing[ops.until[op]] = op
        else:
            word, bit = slots.word[slots.of[op]], slots.bit[slots.of[op]]
            if _is_involved(now, size, word, bit):
                branch = ops.needed[op] > position
                kept, ways, spent = _sort_out(
                    slots, op, branch, now, size, then, way, scratch, words
                )
                work += spent
                if ways:
                    kept, ways, spent, full = _extend(
                        slots,
                        ops,
                        op,
                        then,
                        kept,
                        way,
                        ways,
                        cut_allowed,
                        limit - work,
                        scratch,
                        words,
                    )
                    work += spent
                    cut = cut or full
                    if work > limit or (full and not cut_allowed) or kept == 0:
                        status = (
                            NO_TIME
                            if work > limit
                            else NO_ROOM
                            if full and not cut_allowed
                            else DIED
                        )
                        break
                size = kept
                copy(then, now, size, words)
                peak = max(peak, max(size, ways))
            give_back(slots, ops, op, words)
        ceased = ceasing[position]
        while ceased >= 0:
            # A pending operation that no longer counts: sorted out as if it returned unforced.
            kept, _, spent = _sort_out(slots, ceased, False, now, size, then, way, scratch, words)
            work += spent
            size = kept
            copy(then, now, size, words)
            give_back(slots, ops, ceased, words)
            ceased = next_ceasing[ceased]
        if size == 1 and slots.number[FREE] == len(slots.free):
            quiet, quiet_state = position, now.state[0]
    return End(
        status,
        position,
        work,
        peak,
        cut,
        quiet,
        quiet_state,
        now.state[:size],
        now.may[:size],
        now.must[:size],
        slots.operation,
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
