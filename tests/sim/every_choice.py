"""All that something random can do: it is run again for every sequence of draws."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import SupportsLenAndGetItem

T = TypeVar("T")


class Script(Random):
    """Draws as it is told to, and notes among how many it could choose each time."""

    def __init__(self, told: Sequence[int]) -> None:
        super().__init__(0)
        self.told = list(told)
        self.options: list[int] = []

    def _draw(self, options: int) -> int:
        index = len(self.options)
        self.options.append(options)
        if index == len(self.told):
            self.told.append(0)
        return self.told[index]

    def random(self) -> float:
        """Very small or very large: whatever a share is compared with, both sides are taken."""
        return (0.0, 0.999999)[self._draw(2)]

    def randint(self, a: int, b: int) -> int:
        return a + self._draw(b - a + 1)

    def choice(self, seq: "SupportsLenAndGetItem[T]") -> T:
        return seq[self._draw(len(seq))]


def outcomes(act: Callable[[Random], T]) -> Iterator[T]:
    """What `act` comes to for every sequence of draws, in order; some may be equal."""
    told: list[int] = []
    while True:
        script = Script(told)
        yield act(script)
        told = script.told
        while told and told[-1] + 1 == script.options[len(told) - 1]:
            told.pop()
        if not told:
            return
        told[-1] += 1
