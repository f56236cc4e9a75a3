"""A node's chance in a story: the same in every run, and told."""

import random
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import SupportsLenAndGetItem

T = TypeVar("T")


class Draws(random.Random):
    """Election time-outs in hundredths of their range, unless the story has planned the next ones.

    `told` hears of each, in ns. Whom to ask is drawn apart, so that it shifts no time-out.
    """

    def __init__(self, *, seed: str, planned_ns: deque[int], told: Callable[[int], None]) -> None:
        super().__init__()
        self._time_outs = random.Random(f"{seed}:time-outs")
        self._choices = random.Random(f"{seed}:choices")
        self._planned_ns = planned_ns
        self._told = told

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        assert (stop, step) == (None, 1), "only an election time-out T is drawn, as T + [0, T)"
        drawn = self._time_outs.randrange(100) * start // 100
        if self._planned_ns:
            drawn = self._planned_ns.popleft() - start
            assert 0 <= drawn < start, "planned outside of [T, 2T)"
        self._told(start + drawn)
        return drawn

    def choice(self, seq: "SupportsLenAndGetItem[T]") -> T:
        return self._choices.choice(seq)
