"""A violation in at most 20 calls and a few words."""

from collections.abc import Sequence

import numpy as np

from checkers.history.calls import Calls, Model, Outcome, Step
from checkers.linearizability.blocks import (
    CYCLE,
    FUTURE,
    PHANTOM,
    SPLIT,
    Blocks,
)
from checkers.linearizability.decision import Witness
from checkers.linearizability.frontier import End
from checkers.linearizability.shrink import Roles, Shrunk, shrink
from checkers.linearizability.split import EQUAL, RESET, SWAP, Codes
from checkers.linearizability.tables import Object
from checkers.linearizability.words import describe, text
from checkers.verdict import WITNESS_LIMIT

_SHOWN = 4  # configurations in words


def witness(calls: Calls, found: Object, work: int, likely: Sequence[int]) -> Witness | None:
    """Why an object is not linearizable. `likely` are numbers of operations; see `shrink`."""
    shrunk = shrink(found.problem, Roles(calls, found.rows), found.first_state, work, likely)
    if shrunk is None:
        return None
    states = found.states or _values(calls, found)
    shown = [op for op in shrunk.operations if op != shrunk.dying][1 - WITNESS_LIMIT :]
    shown = sorted([*shown, shrunk.dying])
    return Witness(
        key=found.name,
        calls=tuple(int(found.rows[op]) for op in shown),
        parts=tuple(_part(found, op, shrunk) for op in shown),
        why=_why(calls, found, shrunk),
        before=tuple(_before(calls, found, shrunk, states)),
        initial=states[found.first_state],
        left_out=len(shrunk.operations) - len(shown),
    )


def _values(calls: Calls, found: Object) -> dict[int, str]:
    """States of a register in words."""
    words = {0: text(calls, calls.initial)}
    problem = found.problem
    for op, row in enumerate(found.rows.tolist()):
        step = int(calls.step_from[row])
        if problem.kind[op] in (EQUAL, RESET, SWAP):
            words[int(problem.to[op])] = text(calls, int(calls.value[step]))
        if problem.kind[op] == SWAP:
            words[int(problem.start[op])] = text(calls, int(calls.expected[step]))
    return words


def _part(found: Object, op: int, shrunk: Shrunk) -> str:
    if op == shrunk.dying:
        return "no order explains its return"
    if found.problem.pending[op]:
        return "its outcome is unknown: may have happened at any time, or never"
    if not _returned_before(found, op, shrunk):
        return "had not returned: may have happened already, or not"
    return "had returned"


def _returned_before(found: Object, op: int, shrunk: Shrunk) -> bool:
    event = found.problem.event
    returns = np.flatnonzero(event == 2 * op + 1)
    dies = np.flatnonzero(event == 2 * shrunk.dying + 1)
    return bool(returns.size and returns[0] < dies[0])


def _why(calls: Calls, found: Object, shrunk: Shrunk) -> str:
    row = int(found.rows[shrunk.dying])
    said = f"no order explains {describe(calls, row)} by process {calls.process[row]}"
    if writer := _refused_writer(calls, row):
        return f"{said}: {writer}"
    ways = len(shrunk.end.state)
    if ways == 1:
        return f"{said}: the object could be in one way only before its return, and not in that"
    return f"{said}: none of the {ways} ways in which the object could be before its return fits"


def _refused_writer(calls: Calls, row: int) -> str:
    """Of a read of what nobody wrote successfully on its key: so, or whose write had failed."""
    step = int(calls.step_from[row])
    single = calls.step_from[row + 1] - step == 1
    if not single or calls.kind[step] != Step.READ or calls.value[step] == calls.initial:
        return ""
    same = (calls.key == calls.key[step]) & (calls.value == calls.value[step])
    steps = np.flatnonzero(same & np.isin(calls.kind, (Step.WRITE, Step.CAS)))
    if calls.model is Model.KV:
        return ""
    writers = np.searchsorted(calls.step_from, steps, side="right") - 1
    failed = calls.outcome[writers] == Outcome.FAIL
    if not failed.all():
        return ""
    if not len(writers):
        return "nobody ever wrote that"
    return f"it was written by process {calls.process[writers[0]]} only, and that had failed"


def _before(
    calls: Calls, found: Object, shrunk: Shrunk, states: Sequence[str] | dict[int, str]
) -> list[str]:
    """The configurations before the return that none survives."""
    end: End = shrunk.end
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


def _operations(end: End, each: int) -> tuple[list[int], list[int]]:
    must, may = list[int](), list[int]()
    for slot, op in enumerate(end.operation.tolist()):
        word, bit = slot // 64, 1 << slot % 64
        if op >= 0 and int(end.must[each, word]) & bit:
            must.append(op)
        if op >= 0 and int(end.may[each, word]) & bit:
            may.append(op)
    return must, may


def _list(calls: Calls, found: Object, operations: Sequence[int]) -> str:
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
