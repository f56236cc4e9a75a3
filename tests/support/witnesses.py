"""A witness as a history of its own, to be judged by somebody else."""

from dataclasses import replace

import numpy as np

from checkers.history.calls import Calls
from checkers.linearizability import Witness


def window(calls: Calls, witness: Witness) -> Calls:
    """The calls of the witness alone."""
    rows = list(witness.calls)
    steps = [s for row in rows for s in range(calls.step_from[row], calls.step_from[row + 1])]
    lengths = [calls.step_from[row + 1] - calls.step_from[row] for row in rows]
    return replace(
        calls,
        process=calls.process[rows],
        outcome=calls.outcome[rows],
        invoke=calls.invoke[rows],
        complete=calls.complete[rows],
        line=calls.line[rows],
        step_from=np.cumsum([0, *lengths]).astype(np.int32),
        kind=calls.kind[steps],
        key=calls.key[steps],
        value=calls.value[steps],
        expected=calls.expected[steps],
    )
