"""The effects of an event on configurations: operations begin, are applied, are forgotten."""

import numpy as np

from checkers.linearizability.compiled import inlined
from checkers.linearizability.configurations import (
    GONE,
    Bits,
    Configurations,
    StateWords,
    append,
    insert,
)
from checkers.linearizability.slots import (
    ACTING,
    Operations,
    Slots,
    is_first_of_its_kind,
    leads_on,
    of_use,
    only_looks,
    satisfy,
    step,
    take,
)
from checkers.linearizability.split import EDGE, RESET
from checkers.linearizability.states_met import is_used


@inlined
def begin(slots: Slots, ops: Operations, op: int, now: Configurations, size: int) -> bool:
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
def is_involved(now: Configurations, size: int, word: int, bit: np.uint64) -> bool:
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
    words: StateWords,
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
def sort_out(
    slots: Slots,
    op: int,
    branch: bool,
    now: Configurations,
    size: int,
    then: Configurations,
    way: Configurations,
    scratch: tuple[Bits, Bits],
    words: StateWords,
) -> tuple[int, int, int]:
    """At the end of an operation: which configurations survive unchanged, and which are on the way
    to apply it.

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
def extend(
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
    words: StateWords,
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
    tries = slots.number[ACTING]
    if is_used(ops.met):
        tries = of_use(slots, op, may, words)
    while at < ways and work <= limit and (cut_allowed or not cut):
        state = way.state[at]
        for index in range(tries if state != GONE else 0):
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
