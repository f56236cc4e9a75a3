"""What is no history of calls is refused before a kernel follows its codes: none looks where they
point to."""

from checkers.array_types import Codes, Kinds
from checkers.history.calls import ANY, NIL, Calls, Model, Step
from checkers.linearizability.compiled import compiled

# Codes of outcomes, and of reads, as `split` and the sweeps have them.
_OUTCOMES, _READ = 3, 0
LENGTHS = "columns of different lengths"
FAULTS = (
    "",
    LENGTHS,
    "steps that are of no call, or several of one",
    "a kind of step that there is not",
    "an outcome that there is not",
    "a key that there is not",
    "a value that there is not",
    "an initial value that there is not",
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
    """Which of FAULTS the columns of a history have; 0: none. `single`: a step a call.

    `kinds`, `keys` and `values` are how many of each there are.

    Nothing is branched on inside of the loops, so that many rows are looked at in one instruction.
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
        # Only what was read may be untold.
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
