"""Sets of configurations in which none is worth less than another: antichains.

A configuration is what the object may be at one moment: its state, the open operations that may
still be applied (`may`) and those that have to be before they return (`must`), as bits by slot.
One covers another iff the state is the same, its `must` is within and its `may` contains the
other's: whatever happens next, it survives whenever the other does. Only the best are kept.

Bits are words of 64. How many is the length of a tuple, which numba knows when it compiles: so
there is one source, and its loops over words are unrolled for each number of words in use.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Codes
from checkers.linearizability.compiled import compiled, inlined, loop

Bits = NDArray[np.uint64]
StateWords = tuple[int, ...]
GONE = -1  # the state of a configuration that a better one replaced in place


class Configurations(NamedTuple):
    state: Codes
    may: Bits  # a row of words each
    must: Bits


@compiled
def empty(room: int, words: StateWords) -> Configurations:
    return Configurations(
        np.empty(room, np.int32),
        np.empty((room, len(words)), np.uint64),
        np.empty((room, len(words)), np.uint64),
    )


@inlined
def append(
    source: Configurations, at: int, into: Configurations, size: int, words: StateWords
) -> int:
    """Add a copy of one that is known neither to be covered nor to cover; returns the new size."""
    into.state[size] = source.state[at]
    for word in range(len(words)):
        into.may[size, word] = source.may[at, word]
        into.must[size, word] = source.must[at, word]
    return size + 1


@inlined
def copy(source: Configurations, into: Configurations, size: int, words: StateWords) -> None:
    for at in range(size):
        append(source, at, into, at, words)


@loop
def insert(
    state: int,
    may: Bits,
    must: Bits,
    into: Configurations,
    size: int,
    keep: bool,
    words: StateWords,
) -> tuple[int, int]:
    """Add a configuration unless one covers it, and remove those that it covers.

    `keep` marks removed ones as GONE instead of moving others into their place. Returns the new
    size and how many were looked at; the size is -1 if there is no room.
    """
    index = 0
    looked = 1
    while index < size:
        if into.state[index] != state:
            index += 1
            continue
        looked += 1
        covered = True
        covers = True
        for word in range(len(words)):
            a, n = into.may[index, word], into.must[index, word]
            if may[word] & ~a or n & ~must[word]:
                covered = False
            if a & ~may[word] or must[word] & ~n:
                covers = False
        if covered:
            return size, looked
        if covers and not keep:
            size -= 1
            into.state[index] = into.state[size]
            for word in range(len(words)):
                into.may[index, word] = into.may[size, word]
                into.must[index, word] = into.must[size, word]
            continue
        if covers:
            into.state[index] = GONE
        index += 1
    if size == len(into.state):
        return -1, looked
    into.state[size] = state
    for word in range(len(words)):
        into.may[size, word] = may[word]
        into.must[size, word] = must[word]
    return size + 1, looked + (size >> 3)
