"""From a history that is not linearizable to a few of its operations that are not.

A part of a linearizable history may be impossible to explain (drop the write, keep the read), so
what may be left out is chosen such that leaving it out never makes an explicable history
inexplicable: whatever only looks; and whatever changes the object where nothing that is kept looks
at what it made. The end of a history may always be cut off; what had not returned by then is
pending. So if what is left has no order, the whole had none.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.history.calls import ANY, Calls, Model, Outcome, Step
from checkers.linearizability.decision import Budget
from checkers.linearizability.frontier import End
from checkers.linearizability.ladder import settle
from checkers.linearizability.split import DIFFER, EQUAL, TEST, Problem
from checkers.verdict import Verdict

Codes = NDArray[np.int32]
Thing = tuple[int, int] | str  # a value of a key; of maps a text

EVERYTHING: Thing = (-1, -1)  # what an observed difference looks at
PROBES = 400
CELLS = 2_000_000  # operations looked at by all probes together


class Roles:
    """By operation: what it makes, and what it looks at. Found out when asked: few are needed."""

    def __init__(self, calls: Calls, rows: Codes) -> None:
        self.calls = calls
        self.rows = rows
        self.known: dict[int, tuple[frozenset[Thing], frozenset[Thing]]] = {}

    def makes(self, op: int) -> frozenset[Thing]:
        return self._of(op)[0]

    def looks(self, op: int) -> frozenset[Thing]:
        return self._of(op)[1]

    def _of(self, op: int) -> tuple[frozenset[Thing], frozenset[Thing]]:
        if op not in self.known:
            calls, row = self.calls, self.rows[op]
            steps = range(calls.step_from[row], calls.step_from[row + 1])
            told = calls.outcome[row] == Outcome.OK
            self.known[op] = (
                frozenset(thing for step in steps for thing in _made(calls, step)),
                frozenset(thing for step in steps for thing in _seen(calls, step, told)),
            )
        return self.known[op]


def _made(calls: Calls, step: int) -> tuple[Thing, ...]:
    if calls.kind[step] in (Step.READ, Step.CAS_FAILED):
        return ()
    return (_thing(calls, step, int(calls.value[step])),)


def _seen(calls: Calls, step: int, told: bool) -> tuple[Thing, ...]:
    match Step(int(calls.kind[step])):
        case Step.READ:
            seen = int(calls.value[step])
            return (_thing(calls, step, seen),) if told and seen != ANY else ()
        case Step.CAS:
            return (_thing(calls, step, int(calls.expected[step])),)
        case Step.CAS_FAILED:
            return (EVERYTHING,)
        case _:
            return ()


def _thing(calls: Calls, step: int, code: int) -> Thing:
    if calls.model is Model.KV:
        return calls.values[code] if code >= 0 else ""
    return int(calls.key[step]), code


def _is_seen(made: frozenset[Thing], seen: set[Thing]) -> bool:
    """Of a map: what was written is part of a text that somebody read."""
    if made & seen or (made and EVERYTHING in seen):
        return True
    texts = [thing for thing in seen if isinstance(thing, str)]
    return any(isinstance(thing, str) and any(thing in text for text in texts) for thing in made)


class Shrunk(NamedTuple):
    """Operations that have no order, and the search that found none for them."""

    operations: list[int]  # numbers in the whole problem, in the order of invocation
    dying: int  # the one whose return nothing explains
    end: End


class _Part(NamedTuple):
    problem: Problem
    operations: Codes
    position: Codes  # of each event in the whole problem


def _part(whole: Problem, kept: Sequence[int], cut: int) -> _Part:
    """Some operations, up to an event; what only looks and has not returned by then is nothing."""
    chosen = np.zeros(len(whole.kind), np.bool_)
    chosen[np.asarray(kept, np.int64)] = True
    begun, ended = np.zeros_like(chosen), np.zeros_like(chosen)
    event = whole.event[:cut]
    begun[event[event & 1 == 0] >> 1] = True
    ended[event[event & 1 == 1] >> 1] = True
    looks = (whole.kind == EQUAL) | (whole.kind == DIFFER) | (whole.kind == TEST)
    chosen &= begun & (ended | ~looks)
    number = np.cumsum(chosen, dtype=np.int32) - 1
    position = np.flatnonzero(chosen[event >> 1]).astype(np.int32)
    taken = event[position]
    problem = whole._replace(
        kind=whole.kind[chosen],
        start=whole.start[chosen],
        to=whole.to[chosen],
        pending=~ended[chosen],
        event=(2 * number[taken >> 1] + (taken & 1)).astype(np.int32),
    )
    return _Part(problem, np.flatnonzero(chosen).astype(np.int32), position)


class _Shrinker:
    """Leaves out operations of one object for as long as what is left has no order."""

    def __init__(self, whole: Problem, found: Roles, first_state: int, work: int) -> None:
        self.whole = whole
        self.roles = found
        self.first_state = first_state
        self.budget = Budget(work=max(200_000, 4 * work))
        self.cut = len(whole.event)
        self.probes = 0
        self.cells = 0
        self.best: Shrunk | None = None

    def fails(self, kept: Sequence[int]) -> bool:
        """Whether these have no order; if so, they are the best so far."""
        self.probes += 1
        self.cells += len(kept) + 50
        part = _part(self.whole, kept, self.cut)
        settled = settle(part.problem, self.budget, self.first_state)
        if settled.verdict is not Verdict.INVALID:
            return False
        last = settled.end.position
        self.cut = int(part.position[last]) + 1
        begun = _part(self.whole, kept, self.cut).operations.tolist()
        dying = int(part.operations[part.problem.event[last] >> 1])
        self.best = Shrunk(begun, dying, _renumbered(settled.end, part.operations))
        return True

    def spent(self) -> bool:
        return self.probes > PROBES or self.cells > CELLS

    def without(self, kept: Sequence[int], chunk: Sequence[int]) -> list[int]:
        """What is kept if as much as may be of the chunk is left out."""
        leaving = set(chunk)
        while True:
            self.cells += len(kept)
            seen = {t for op in kept if op not in leaving for t in self.roles.looks(op)}
            needed = {op for op in leaving if _is_seen(self.roles.makes(op), seen)}
            if not needed:
                return [op for op in kept if op not in leaving]
            leaving -= needed

    def latest(self) -> None:
        """Try the last few that look, with all that they need: most often that is enough."""
        assert self.best is not None
        returned = self.whole.event[: self.cut]
        ops = [int(event) >> 1 for event in returned[returned & 1 == 1]]
        lookers = [op for op in ops if self.roles.looks(op)]
        everything = self.best.operations
        few = 4
        while few < len(lookers) and not self.spent():
            keep = {*lookers[-few:], self.best.dying}
            if self.fails(self.without(everything, [op for op in everything if op not in keep])):
                return
            few *= 4

    def one_by_one(self) -> None:
        """Leave out ever smaller chunks."""
        assert self.best is not None
        size = max(1, len(self.best.operations) // 2)
        while not self.spent():
            smaller = self.pass_over(size)
            if size == 1 and not smaller:
                return
            size = max(1, size // 2)

    def pass_over(self, size: int) -> bool:
        assert self.best is not None
        place = 0
        before = len(self.best.operations)
        while place < len(self.best.operations) and not self.spent():
            kept = self.best.operations
            chunk = [op for op in kept[place : place + size] if op != self.best.dying]
            fewer = self.without(kept, chunk)
            if len(fewer) == len(kept) or not self.fails(fewer):
                place += size
        return len(self.best.operations) < before


def _renumbered(end: End, operations: Codes) -> End:
    """With operations numbered as in the whole problem."""
    numbers = np.where(end.operation >= 0, operations[end.operation], -1)
    return end._replace(operation=numbers.astype(np.int32))


def shrink(
    whole: Problem, found: Roles, first_state: int, work: int, likely: Sequence[int]
) -> Shrunk | None:
    """The fewest operations found that have no order; None where none is found at this cost.

    `likely` are tried first: a part that is known to have no order. `work` is what finding the
    violation took.
    """
    shrinker = _Shrinker(whole, found, first_state, work)
    if not shrinker.fails(likely) and not shrinker.fails(range(len(whole.kind))):
        return None
    shrinker.latest()
    shrinker.one_by_one()
    return shrinker.best
