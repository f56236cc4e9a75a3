"""The shortest cycle through operations that depend on each other: the one that a person should
see."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from checkers.log.arrays import NONE
from checkers.log.dependencies import Dependency

WORK = 2_000_000  # steps to spend on finding shorter cycles, some seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyStep:
    """`after` depends on `before`, both rows of operations, by records `one` and `other` of a key;
    a step of real time has neither."""

    before: int
    after: int
    kind: Dependency
    key: int = NONE
    one: int = NONE
    other: int = NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """Each step begins with the operation at which the one before it ends; the last leads back."""

    steps: tuple[DependencyStep, ...]

    def has(self, kind: Dependency) -> bool:
        return any(step.kind is kind for step in self.steps)


@dataclass(slots=True)
class Purse:
    """Steps that the search for short cycles may still take, in all components together."""

    left: int = WORK

    @property
    def empty(self) -> bool:
        return self.left <= 0


@dataclass(slots=True, kw_only=True)
class Component:
    """Operations of one strongly connected component, and the steps between them.

    `span` gives invocation and completion of an operation, the latter None if it never surely
    ended; it is not used without `real_time`.
    """

    operations: Sequence[int]
    steps: Sequence[DependencyStep]
    span: Callable[[int], tuple[int, int | None]]
    real_time: bool
    purse: Purse
    _from: dict[int, list[DependencyStep]] = field(default_factory=dict)
    _begun: list[tuple[int, int]] = field(default_factory=list)  # invocation and operation

    def __post_init__(self) -> None:
        for step in self.steps:
            self._from.setdefault(step.before, []).append(step)
        if self.real_time:
            self._begun = sorted((self.span(op)[0], op) for op in self.operations)

    def shortest(self) -> Cycle:
        """Of all cycles; once the purse is empty, of those through the operations tried so far."""
        best: Cycle | None = None
        for start in self.operations:
            found = self._path(start, start, len(best.steps) if best else len(self.operations) + 1)
            if found is not None:
                best = Cycle(steps=tuple(found))
            if best is not None and (self.purse.empty or len(best.steps) == 2):
                break
        assert best is not None, "a component without a cycle"
        return best

    def shortest_with_one(self, singles: Sequence[DependencyStep]) -> Cycle | None:
        """Of those that take exactly one of `singles`, and otherwise steps of the component."""
        best: Cycle | None = None
        for single in singles:
            if self.purse.empty:
                break
            limit = len(best.steps) - 1 if best else len(self.operations) + 1
            found = self._path(single.after, single.before, limit)
            if found is not None:
                best = Cycle(steps=(single, *found))
        return best

    def _path(self, start: int, goal: int, limit: int) -> list[DependencyStep] | None:
        """The shortest way, of one step or more but fewer than `limit`; None if there is none."""
        came: dict[int, DependencyStep] = {}
        level, unreached, length = [start], len(self._begun), 0
        while level and length + 1 < limit:
            length += 1
            following: list[int] = []
            for op in level:
                begun, unreached = self._begun_after(op, unreached)
                for step in (*self._from.get(op, ()), *begun):
                    self.purse.left -= 1
                    if step.after not in came:
                        came[step.after] = step
                        following.append(step.after)
            if goal in came:
                return list(_back(came, start, goal))[::-1]
            level = following
        return None

    def _begun_after(self, op: int, unreached: int) -> tuple[list[DependencyStep], int]:
        """Steps of real time to operations not yet reached so; they are the last to begin."""
        if not self.real_time:
            return [], unreached
        end = self.span(op)[1]
        if end is None:
            return [], unreached
        first = bisect_left(self._begun, (end, NONE))
        begun = self._begun[first:unreached]
        steps = [DependencyStep(before=op, after=each, kind=Dependency.RT) for _, each in begun]
        return steps, min(first, unreached)


def _back(came: dict[int, DependencyStep], start: int, goal: int) -> Iterator[DependencyStep]:
    step = came[goal]
    yield step
    while step.before != start:
        step = came[step.before]
        yield step
