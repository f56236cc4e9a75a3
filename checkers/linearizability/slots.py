"""Open operations, each in a slot: a bit in the words of a configuration."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Codes
from checkers.linearizability.compiled import compiled, inlined, loop
from checkers.linearizability.configurations import (
    GONE,
    Bits,
    Configurations,
    StateWords,
    append,
    insert,
)
from checkers.linearizability.split import DIFFER, EDGE, EQUAL, RESET, SWAP, TEST
from checkers.linearizability.states_met import StatesMet, clash, is_used, state_after

# Places in `Slots.number`.
FREE, ACTING, LOOKING = range(3)


class Operations(NamedTuple):
    """What the search knows of a problem; see `split.Problem` and `deadlines.Lives`."""

    kind: NDArray[np.int8]
    start: Codes
    to: Codes
    pending: NDArray[np.bool_]
    table: NDArray[np.int32]
    dead: int
    met: StatesMet
    returns: Codes
    until: Codes
    needed: Codes
    sticky: NDArray[np.bool_]


class Slots(NamedTuple):
    word: NDArray[np.int64]  # by slot: which word its bit is in
    bit: Bits
    free: Codes  # a stack
    operation: Codes  # by slot: the operation in it, or -1
    of: Codes  # by operation: its slot
    earlier: Bits  # by slot, bits of equal operations that return earlier
    hideable: Bits  # operations that an overwriting one may hide
    # by slot, bits of those that it must be ordered with; for several registers only
    clashing: Bits
    acting: Codes  # slots of what changes the state
    looking: Codes  # slots of what only looks
    number: NDArray[np.int64]  # how many are FREE, ACTING, LOOKING


@inlined
def step(ops: Operations, op: int, state: int) -> int:
    """The state after an operation, or -1 if it is not possible."""
    kind = ops.kind[op]
    if kind == EQUAL:
        return state if state == ops.to[op] else -1
    if kind == RESET:
        return int(ops.to[op])
    if kind == SWAP:
        return int(ops.to[op]) if state == ops.start[op] else -1
    if kind == DIFFER:
        return state if state != ops.start[op] else -1
    if is_used(ops.met):
        return int(state_after(ops.met, ops.to[op], state))
    return int(ops.table[ops.to[op], state])


@inlined
def only_looks(ops: Operations, op: int) -> bool:
    kind = ops.kind[op]
    return bool(kind in (EQUAL, DIFFER, TEST))


@compiled
def no_slots(operations: int, several: bool, words: StateWords) -> Slots:
    """All free. `several`: for several registers."""
    slots = 64 * len(words)
    word, bit, free = (
        np.empty(slots, np.int64),
        np.empty(slots, np.uint64),
        np.empty(slots, np.int32),
    )
    for slot in range(slots):
        word[slot] = slot >> 6
        bit[slot] = np.uint64(1) << np.uint64(slot & 63)
        free[slot] = slots - 1 - slot
    number = np.zeros(3, np.int64)
    number[FREE] = slots
    return Slots(
        word,
        bit,
        free,
        np.full(slots, -1, np.int32),
        np.full(operations, -1, np.int32),
        np.zeros((slots, len(words)), np.uint64),
        np.zeros(len(words), np.uint64),
        np.zeros((slots if several else 0, len(words)), np.uint64),
        np.empty(slots, np.int32),
        np.empty(slots, np.int32),
        number,
    )


@inlined
def take(slots: Slots, ops: Operations, op: int) -> int:
    """A slot for an operation that begins; -1 if there is none."""
    if slots.number[FREE] == 0:
        return -1
    slots.number[FREE] -= 1
    slot = slots.free[slots.number[FREE]]
    slots.of[op] = slot
    slots.operation[slot] = op
    if is_used(ops.met):
        _compare(slots, ops, slot, slots.acting, slots.number[ACTING])
        _compare(slots, ops, slot, slots.looking, slots.number[LOOKING])
    if only_looks(ops, op):
        slots.looking[slots.number[LOOKING]] = slot
        slots.number[LOOKING] += 1
        return int(slot)
    for index in range(slots.number[ACTING]):
        rival = slots.acting[index]
        o = slots.operation[rival]
        if ops.kind[o] != ops.kind[op] or ops.start[o] != ops.start[op] or ops.to[o] != ops.to[op]:
            continue
        if ops.returns[op] < ops.returns[o]:
            slots.earlier[rival, slots.word[slot]] |= slots.bit[slot]
        else:
            slots.earlier[slot, slots.word[rival]] |= slots.bit[rival]
    slots.acting[slots.number[ACTING]] = slot
    slots.number[ACTING] += 1
    if ops.kind[op] == RESET or (ops.kind[op] == EDGE and ops.dead >= 0):
        slots.hideable[slots.word[slot]] |= slots.bit[slot]
    return int(slot)


@loop
def _compare(slots: Slots, ops: Operations, slot: int, among: Codes, count: int) -> None:
    """Note which open operations clash with the one in a slot."""
    for index in range(count):
        other = among[index]
        if clash(ops.met, ops.to[slots.operation[slot]], ops.to[slots.operation[other]]):
            slots.clashing[slot, slots.word[other]] |= slots.bit[other]
            slots.clashing[other, slots.word[slot]] |= slots.bit[slot]


@loop
def _relate(slots: Slots, among: Codes, count: int, related: Bits, words: StateWords) -> bool:
    """Add operations that clash with a related one; whether there are any."""
    more = np.uint64(0)
    for index in range(count):
        slot = among[index]
        if related[slots.word[slot]] & slots.bit[slot]:
            for w in range(len(words)):
                more |= slots.clashing[slot, w] & ~related[w]
                related[w] |= slots.clashing[slot, w]
    return bool(more)


@loop
def of_use(slots: Slots, op: int, related: Bits, words: StateWords) -> int:
    """Put the operations in front that may have to be applied before an operation returns; how many
    those are.

    Any other that is applied before it may as well be applied after it: no chain of shared
    registers connects the two. `related` is overwritten.
    """
    slot = slots.of[op]
    for w in range(len(words)):
        related[w] = np.uint64(0)
    related[slots.word[slot]] = slots.bit[slot]
    more = True
    while more:
        more = _relate(slots, slots.acting, slots.number[ACTING], related, words)
        more |= _relate(slots, slots.looking, slots.number[LOOKING], related, words)
    count = 0
    for index in range(slots.number[ACTING]):
        slot = slots.acting[index]
        if related[slots.word[slot]] & slots.bit[slot]:
            slots.acting[index] = slots.acting[count]
            slots.acting[count] = slot
            count += 1
    return count


@inlined
def give_back(slots: Slots, ops: Operations, op: int, words: StateWords) -> None:
    """Free the slot of an operation that no configuration has a bit of any more."""
    slot = slots.of[op]
    word, bit = slots.word[slot], slots.bit[slot]
    among = slots.looking if only_looks(ops, op) else slots.acting
    which = LOOKING if only_looks(ops, op) else ACTING
    slots.number[which] -= 1
    last = slots.number[which]
    for index in range(last):
        if among[index] == slot:
            among[index] = among[last]
            break
    for index in range(slots.number[ACTING]):
        slots.earlier[slots.acting[index], word] &= ~bit
    for w in range(len(words)):
        slots.earlier[slot, w] = np.uint64(0)
    if is_used(ops.met):
        for w in range(len(words)):
            slots.clashing[slot, w] = np.uint64(0)
        for other in range(len(slots.clashing)):
            slots.clashing[other, word] &= ~bit
    slots.hideable[word] &= ~bit
    slots.operation[slot] = -1
    slots.free[slots.number[FREE]] = slot
    slots.number[FREE] += 1


@inlined
def is_first_of_its_kind(
    slots: Slots, ops: Operations, slot: int, among: Configurations, at: int, words: StateWords
) -> bool:
    """Whether no equal operation that returns earlier may be applied instead.

    For steps of a table, those that must be applied are not compared with those that only may:
    applying either leaves something that the other does not.
    """
    edge = ops.kind[slots.operation[slot]] == EDGE
    outstanding = among.must[at, slots.word[slot]] & slots.bit[slot]
    for w in range(len(words)):
        rivals = among.may[at, w] & slots.earlier[slot, w]
        if edge and outstanding:
            rivals &= among.must[at, w]
        elif edge:
            rivals &= ~among.must[at, w]
        if rivals:
            return False
    return True


@inlined
def satisfy(slots: Slots, ops: Operations, state: int, must: Bits) -> bool:
    """Remove operations from `must` that only look and fit the state; whether there was any."""
    any_was = False
    for index in range(slots.number[LOOKING]):
        slot = slots.looking[index]
        outstanding = must[slots.word[slot]] & slots.bit[slot]
        if outstanding and step(ops, slots.operation[slot], state) >= 0:
            must[slots.word[slot]] &= ~slots.bit[slot]
            any_was = True
    return any_was


@inlined
def leads_on(slots: Slots, ops: Operations, state: int, may: Bits) -> bool:
    """Whether an operation that may be applied, and does not overwrite, is possible in this
    state."""
    for index in range(slots.number[ACTING]):
        slot = slots.acting[index]
        op = slots.operation[slot]
        if ops.kind[op] != RESET and may[slots.word[slot]] & slots.bit[slot]:
            reached = step(ops, op, state)
            if reached >= 0 and reached != ops.dead:
                return True
    return False


# The effects of an event on configurations: operations begin, are applied, are forgotten.


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
