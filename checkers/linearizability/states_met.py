"""States of several registers at once, numbered as a search meets them.

The states that transactions over many registers can leave are a product of values that no table
holds; those that they did leave come one after another. A state is a row of values, one per
register, and is found by hashing. If there is no room for another one, those that no configuration
is in are forgotten first.

Values of a register are numbered from 0, which is the initial one. A *thing* is a value of a
register, numbered through all of them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Codes, Ints
from checkers.linearizability.compiled import compiled, inlined, loop

NOT = -1  # the value if a step does not read, or does not write
MET, FULL, CROWDED = range(3)  # places in `StatesMet.tally`


class StatesMet(NamedTuple):
    """The steps of transaction `t` are `step_from[t] : step_from[t + 1]`, one for each register
    that it touches, by rising numbers of registers."""

    step_from: Codes
    register: Codes
    read: Codes  # the value that has to be there, or NOT
    write: Codes  # the value that is there afterwards, or NOT
    thing_from: Codes  # by register: the number of its initial value
    values: Codes  # rows of values by state, and one more row to write on
    mixed: NDArray[np.uint64]  # by state: its hash
    places: Codes  # by hash: a state, or -1
    moved: Codes  # by state: its number once some are forgotten
    tally: Ints  # MET so far; whether it was FULL; how many are CROWDED


def _none() -> StatesMet:
    nothing = np.empty(0, np.int32)
    tally = np.zeros(3, np.int64)
    tally[CROWDED] = 1
    none = np.empty((0, 0), np.int32)
    empty = np.empty(0, np.uint64)
    return StatesMet(
        nothing, nothing, nothing, nothing, nothing, none, empty, nothing, nothing, tally
    )


# For objects that are searched otherwise; the second makes the same inside a kernel.
NO_STATES = _none()
no_states = compiled(_none)


@inlined
def is_used(met: StatesMet) -> bool:
    return len(met.mixed) > 0


@inlined
def _mix(register: int, value: int) -> np.uint64:
    mixed = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(register + 1) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return mixed ^ (mixed >> np.uint64(29))


@loop
def _enter(met: StatesMet, state: int) -> None:
    """Put a new state where it will be found."""
    mask = np.uint64(len(met.places) - 1)
    place = met.mixed[state] & mask
    while met.places[place] >= 0:
        place = (place + np.uint64(1)) & mask
    met.places[place] = state


@loop
def start_over(met: StatesMet) -> None:
    """Keep the initial state only, which is 0."""
    met.places[:] = -1
    met.values[0, :] = 0
    met.mixed[0] = np.uint64(0)
    _enter(met, 0)
    room = len(met.mixed)
    met.tally[MET], met.tally[FULL], met.tally[CROWDED] = 1, 0, max(2, room // 2)


@loop
def state_after(met: StatesMet, transaction: int, state: int) -> int:
    """The state after a transaction; -1 if it is impossible, or if there is no room (FULL)."""
    begin, end = met.step_from[transaction], met.step_from[transaction + 1]
    mixed = met.mixed[state]
    changes = False
    for step in range(begin, end):
        there = met.values[state, met.register[step]]
        if met.read[step] != NOT and met.read[step] != there:
            return -1
        if met.write[step] != NOT and met.write[step] != there:
            changes = True
            mixed ^= _mix(met.register[step], there) ^ _mix(met.register[step], met.write[step])
    if not changes:
        return state
    room = len(met.mixed)
    for register in range(met.values.shape[1]):
        met.values[room, register] = met.values[state, register]
    for step in range(begin, end):
        if met.write[step] != NOT:
            met.values[room, met.register[step]] = met.write[step]
    mask = np.uint64(len(met.places) - 1)
    place = mixed & mask
    while met.places[place] >= 0:
        other = met.places[place]
        if met.mixed[other] == mixed:
            same = True
            for register in range(met.values.shape[1]):
                if met.values[other, register] != met.values[room, register]:
                    same = False
                    break
            if same:
                return int(other)
        place = (place + np.uint64(1)) & mask
    new = met.tally[MET]
    if new == room:
        met.tally[FULL] = 1
        return -1
    met.tally[MET] += 1
    for register in range(met.values.shape[1]):
        met.values[new, register] = met.values[room, register]
    met.mixed[new] = mixed
    met.places[place] = new
    return int(new)


@loop
def forget(met: StatesMet, state: Codes, size: int, also: int) -> int:
    """Keep the initial state, the first `size` of `state`, and `also`; returns its new number."""
    moved = met.moved
    moved[: met.tally[MET]] = -1
    moved[0] = moved[also] = 0
    for at in range(size):
        moved[state[at]] = 0
    kept = 0
    for old in range(met.tally[MET]):
        if moved[old] < 0:
            continue
        moved[old] = kept
        for register in range(met.values.shape[1]):
            met.values[kept, register] = met.values[old, register]
        met.mixed[kept] = met.mixed[old]
        kept += 1
    for at in range(size):
        state[at] = moved[state[at]]
    met.places[:] = -1
    for new in range(kept):
        _enter(met, new)
    room = len(met.mixed)
    met.tally[MET] = kept
    met.tally[CROWDED] = kept + max(1, (room - kept) // 2)
    return int(moved[also])


@loop
def clash(met: StatesMet, one: int, other: int) -> bool:
    """Whether the order of two transactions matters: they share a register that one writes."""
    a, b = met.step_from[one], met.step_from[other]
    while a < met.step_from[one + 1] and b < met.step_from[other + 1]:
        if met.register[a] < met.register[b]:
            a += 1
        elif met.register[a] > met.register[b]:
            b += 1
        elif met.write[a] != NOT or met.write[b] != NOT:
            return True
        else:
            a += 1
            b += 1
    return False
