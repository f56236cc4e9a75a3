"""A violation in at most 20 calls and a few words."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Codes
from checkers.history.calls import ANY, NIL, Calls, Model, Outcome, Step
from checkers.linearizability.blocks import CYCLE, FUTURE, PHANTOM, SPLIT, Blocks
from checkers.linearizability.decision import DEFAULT, Witness
from checkers.linearizability.frontier import SearchEnd
from checkers.linearizability.ladder import FIRST, WIDEST, Settled
from checkers.linearizability.leaving_out import Shrunk, looks_of, shrink
from checkers.linearizability.parts import Means
from checkers.linearizability.several_registers import SearchedObject, StatesInWords
from checkers.linearizability.split import DIFFER
from checkers.verdict import WITNESS_LIMIT

# What calls did, in words.


def text(calls: Calls, code: int) -> str:
    """A value as the history spells it; `nil` also for one that was not observed."""
    return "nil" if code in (NIL, ANY) else calls.values[code]


def describe(calls: Calls, row: int) -> str:
    """What a call did: `read 3`, `cas 1 to 2`, `append "x"`."""
    steps = range(calls.step_from[row], calls.step_from[row + 1])
    return ", ".join(_step(calls, step) for step in steps)


def _step(calls: Calls, step: int) -> str:
    value = _quoted(calls, int(calls.value[step]))
    expected = _quoted(calls, int(calls.expected[step]))
    at = f"{calls.keys[calls.key[step]]} " if calls.model is Model.MULTI_REGISTER else ""
    if calls.model is Model.MUTEX:
        return "acquire" if calls.value[step] != calls.initial else "release"
    match Step(int(calls.kind[step])):
        case Step.READ:
            return f"read {at}{value}"
        case Step.WRITE:
            return f"write {at}{value}"
        case Step.CAS:
            return f"cas {at}{expected} to {value}"
        case Step.CAS_FAILED:
            return f"cas {at}{expected} to {value}, refused"
        case Step.APPEND:
            return f"append {at}{value}"
        case Step.ADD:
            return f"add {value}"


def _quoted(calls: Calls, code: int) -> str:
    """Texts, unlike numbers, may be empty or hold commas."""
    if code == ANY:
        return "?"
    said = text(calls, code)
    return f'"{said}"' if calls.model is Model.KV and code != NIL else said


_SHOWN = 4  # configurations in words
_LEAST = 200_000  # work for each search, even if the violation was found by less


def witness(
    calls: Calls, found: SearchedObject, settled: Settled | None, likely: Sequence[int]
) -> Witness | None:
    """Why an object is not linearizable; `settled` if a search found that out.

    `likely` are numbers of operations that are known to have no order, or all if none are.
    """
    shrunk = _shrunk(calls, found, settled, likely or range(len(found.rows)))
    if shrunk is None:
        return None
    states = found.states or _Values(calls, found)
    if isinstance(states, StatesInWords):
        states = states.among(shrunk.operations)
    others = [at for at, op in enumerate(shrunk.operations) if op != shrunk.dying]
    shown = sorted([*others[1 - WITNESS_LIMIT :], shrunk.operations.index(shrunk.dying)])
    return Witness(
        key=found.name,
        calls=tuple(int(found.rows[shrunk.operations[at]]) for at in shown),
        parts=tuple(_part(found, at, shrunk) for at in shown),
        why=_why(calls, found, shrunk),
        before=tuple(_before(calls, found, shrunk, states)),
        initial=states[found.first_state],
        left_out=len(shrunk.operations) - len(shown),
    )


def _shrunk(
    calls: Calls, found: SearchedObject, settled: Settled | None, likely: Sequence[int]
) -> Shrunk | None:
    """By the search that found the violation; after a sweep, by a narrow one or else a wide one."""
    rungs = [settled.rung] if settled is not None else [FIRST, WIDEST]
    limit = max(_LEAST, 4 * settled.work if settled is not None else 0)
    looks = looks_of(calls, found.rows, found.problem)
    for rung in rungs:
        means = Means(rung.bound, min(rung.room, DEFAULT.configurations), limit)
        shrunk = shrink(found.problem, looks, found.first_state, means, rung.words, likely)
        if shrunk is not None:
            return shrunk
    return None


class _Values:
    """States of a register in words."""

    def __init__(self, calls: Calls, found: SearchedObject) -> None:
        self._calls = calls
        self._found = found

    def __getitem__(self, state: int) -> str:
        calls, problem = self._calls, self._found.problem
        if state == 0:
            return text(calls, calls.initial)
        made = (problem.to == state) & (problem.kind != DIFFER)
        if made.any():
            return text(calls, int(calls.value[self._step(made)]))
        return text(calls, int(calls.expected[self._step(problem.start == state)]))

    def _step(self, chosen: NDArray[np.bool_]) -> int:
        return int(self._calls.step_from[self._found.rows[int(np.argmax(chosen))]])


def _part(found: SearchedObject, at: int, shrunk: Shrunk) -> str:
    op = shrunk.operations[at]
    if op == shrunk.dying:
        return "no order explains its return"
    if found.problem.pending[op]:
        return "its outcome is unknown: may have happened at any time, or never"
    if not shrunk.returned[at]:
        return "had not returned: may have happened already, or not"
    return "had returned"


def _why(calls: Calls, found: SearchedObject, shrunk: Shrunk) -> str:
    row = int(found.rows[shrunk.dying])
    said = f"no order explains {describe(calls, row)} by process {calls.process_name(row)}"
    if writer := _refused_writer(calls, row):
        return f"{said}: {writer}"
    ways = len(shrunk.end.state)
    if ways == 1:
        return f"{said}: the object could be in one way only before its return, and not in that"
    return f"{said}: none of the {ways} ways in which the object could be before its return fits"


def _refused_writer(calls: Calls, row: int) -> str:
    """For a read of a value that no successful write on its key has: that, or the write that had
    failed."""
    step = int(calls.step_from[row])
    single = calls.step_from[row + 1] - step == 1
    if not single or calls.kind[step] != Step.READ or calls.value[step] == calls.initial:
        return ""
    if calls.model in (Model.KV, Model.COUNTER):
        return ""
    steps = np.flatnonzero((calls.key == calls.key[step]) & (calls.value == calls.value[step]))
    kinds = calls.kind[steps]
    steps = steps[(kinds == Step.WRITE) | (kinds == Step.CAS)]
    writers = np.searchsorted(calls.step_from, steps, side="right") - 1
    failed = calls.outcome[writers] == Outcome.FAIL
    if not failed.all():
        return ""
    if not len(writers):
        return "that was never written"
    return (
        f"it was written by process {calls.process_name(int(writers[0]))} only, and that had failed"
    )


def _before(
    calls: Calls, found: SearchedObject, shrunk: Shrunk, states: Sequence[str] | _Values
) -> list[str]:
    """The configurations before the return that none survives."""
    end: SearchEnd = shrunk.end
    said = []
    for each in range(min(len(end.state), _SHOWN)):
        must, may = _operations(end, each)
        left = [op for op in may if op not in must]
        line = f"it holds {states[int(end.state[each])]}"
        if must:
            line += "; yet to happen: " + _list(calls, found, must)
        if left:
            line += "; may still happen: " + _list(calls, found, left)
        said.append(line)
    if len(end.state) > _SHOWN:
        said.append(f"and {len(end.state) - _SHOWN} more")
    return said


def _operations(end: SearchEnd, each: int) -> tuple[list[int], list[int]]:
    must, may = list[int](), list[int]()
    for slot, op in enumerate(end.operation.tolist()):
        word, bit = slot // 64, 1 << slot % 64
        if op >= 0 and int(end.must[each, word]) & bit:
            must.append(op)
        if op >= 0 and int(end.may[each, word]) & bit:
            may.append(op)
    return must, may


def _list(calls: Calls, found: SearchedObject, operations: Sequence[int]) -> str:
    said = [describe(calls, int(found.rows[op])) for op in operations[:6]]
    if len(operations) > len(said):
        said.append(f"{len(operations) - len(said)} more")
    return ", ".join(said)


def contradiction(calls: Calls, found: Blocks, key: int, rows: Codes) -> list[int]:
    """Numbers of the operations, among `rows`, of the blocks by which a key was accused."""
    status, one, other = found.status[key], int(found.one[key]), int(found.other[key])
    cluster = found.cluster[rows]
    head = np.where(cluster >= 0, found.head[cluster], -1)
    if status == PHANTOM:
        chosen = rows == other
    elif status == FUTURE:
        chosen = (rows == other) | (rows == one)
    elif status == CYCLE:
        chosen = (head < 0) & (calls.kind[rows] == Step.CAS)
    elif status == SPLIT:
        chosen = (head == found.head[one]) | (rows == other)
    else:
        chosen = (head == found.head[one]) | (head == found.head[other])
    return np.flatnonzero(chosen & (calls.outcome[rows] != Outcome.FAIL)).tolist()
