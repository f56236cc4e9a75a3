"""Delta debugging: the least part of something that still fails (Zeller and Hildebrandt, 2002)."""

from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def ddmin(items: tuple[T, ...], fails: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """A part of `items`, in order, of which nothing can be left out; the whole must fail.

    `fails` is never asked about the whole. It is asked about nothing at all first: often enough
    the bug needs none of them.
    """
    if items and fails(()):
        return ()
    parts = 2
    while len(items) > 1:
        found = _smaller(items, min(parts, len(items)), fails)
        if found is not None:
            # After a part, begin anew with halves; after a complement, go on as fine as before.
            parts = 2 if 2 * len(found) <= len(items) else max(2, parts - 1)
            items = found
        elif parts >= len(items):
            break
        else:
            parts *= 2
    return items


def _smaller(
    items: tuple[T, ...], parts: int, fails: Callable[[tuple[T, ...]], bool]
) -> tuple[T, ...] | None:
    """A part that fails, or else all without a part; None where everything is needed."""
    bounds = [len(items) * number // parts for number in range(parts + 1)]
    chunks = [items[a:b] for a, b in pairwise(bounds)]
    for chunk in chunks:
        if fails(chunk):
            return chunk
    if parts == 2:
        return None  # the complements are the parts
    for number in range(parts):
        rest = tuple(item for k, chunk in enumerate(chunks) if k != number for item in chunk)
        if fails(rest):
            return rest
    return None


def least(high: int, low: int, fails: Callable[[int], bool]) -> int:
    """A small number from `low` to `high` that fails, where `high` does.

    Small ones are asked about first, as they cost least: doubled until one fails, then halved. What
    fails with some need not fail with every larger number; what is returned was seen to, or is
    `high`.
    """
    reach = low
    while reach < high and not fails(reach):
        low, reach = reach + 1, 2 * reach + 1
    high = min(reach, high)
    while low < high:
        middle = (low + high) // 2
        if fails(middle):
            high = middle
        else:
            low = middle + 1
    return high
