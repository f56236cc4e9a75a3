"""Refuses a malformed history before a kernel follows its codes: kernels do no bounds checks."""

from checkers.array_types import Codes, Kinds
from checkers.history.calls import ANY, NIL, Calls, Model, Step
from checkers.linearizability.compiled import compiled

# Codes of outcomes, and of reads, as `split` and the sweeps have them.
_OUTCOMES, _READ = 3, 0
LENGTHS = "columns of different lengths"
FAULTS = (
    "",
    LENGTHS,
    "steps that belong to no call, or several in one",
    "a kind of step that does not exist",
    "an outcome that does not exist",
    "a key that does not exist",
    "a value that does not exist",
    "an initial value that does not exist",
)


@compiled
def fault(
    kind: Kinds,
    outcome: Kinds,
    key: Codes,
    value: Codes,
    expected: Codes,
    step_from: Codes,
    initial: int,
    kinds: int,
    keys: int,
    values: int,
    single: bool,
) -> int:
    """Which of FAULTS the columns of a history have; 0: none. `single`: one step per call.

    `kinds`, `keys` and `values` are how many of each there are.

    The loops have no branches, so that many rows are checked in one instruction.
    """
    rows, steps = len(outcome), len(kind)
    if len(key) != steps or len(value) != steps or len(expected) != steps:
        return 1
    if len(step_from) != rows + 1 or step_from[0] != 0 or step_from[rows] != steps:
        return 2
    if not NIL <= initial < values:
        return 7
    bad = 0
    for row in range(rows):
        bad |= step_from[row + 1] - step_from[row] < (1 if single else 0)
    if bad or (single and steps != rows):
        return 2
    for row in range(rows):
        bad |= (outcome[row] < 0) | (outcome[row] >= _OUTCOMES)
    if bad:
        return 4
    for step in range(steps):
        bad |= (kind[step] < 0) | (kind[step] >= kinds)
    if bad:
        return 3
    for step in range(steps):
        bad |= (key[step] < 0) | (key[step] >= keys)
    if bad:
        return 5
    for step in range(steps):
        bad |= (value[step] < ANY) | (value[step] >= values)
        bad |= (expected[step] < NIL) | (expected[step] >= values)
        # Only a read value may be unknown.
        bad |= (value[step] == ANY) & (kind[step] != _READ)
    return 6 if bad else 0


def require_sound(calls: Calls) -> None:
    """Raises ValueError."""
    refuse(
        fault(
            calls.kind,
            calls.outcome,
            calls.key,
            calls.value,
            calls.expected,
            calls.step_from,
            calls.initial,
            len(Step),
            len(calls.keys),
            len(calls.values),
            calls.model is not Model.MULTI_REGISTER,
        )
    )


def refuse(found: int) -> None:
    """Raises ValueError for one of FAULTS."""
    if found:
        raise ValueError(f"not a history: {FAULTS[found]}")
