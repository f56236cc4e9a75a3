"""Histories of any object, as the readers make them and the linearizability checkers take them.

A *call* is one operation, invocation and completion paired; rows are in the order of invocation.
Times are event indices: the place of the invocation and of the completion in the recorded order,
all distinct, never a clock. What a call did is one or more *steps* (several only for
multi-registers), kept in flat arrays: the steps of call `c` are `step_from[c] : step_from[c + 1]`.
Keys and values are interned: codes into `keys` and `values`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum

import numpy as np
from numpy.typing import NDArray

NEVER = np.iinfo(np.int64).max  # completion of a call of which it is not known whether it happened
NIL = -1  # the value code of an object that was never written, and of Jepsen's nil
ANY = -2  # the value code of a read with an unknown result: it matches any value


class Model(Enum):
    """The kind of object that the history is of. Names as on the command line."""

    REGISTER = "register"
    CAS_REGISTER = "cas-register"
    MULTI_REGISTER = "multi-register"
    KV = "kv"
    LOG = "log"
    LIST_APPEND = "list-append"
    SET = "set"
    COUNTER = "counter"
    MUTEX = "mutex"
    QUEUE = "queue"  # first in, first out
    UNORDERED_QUEUE = "unordered-queue"


class Step(IntEnum):
    """What a step does; codes of `Calls.kind`."""

    READ = 0  # `value` is what it returned
    WRITE = 1  # `value` is what it wrote
    CAS = 2  # from `expected` to `value`; happened
    CAS_FAILED = 3  # observed that the object was not `expected`
    APPEND = 4  # in KV: `value` was appended to the existing string
    ADD = 5  # in COUNTER: the number in `value` was added


class Outcome(IntEnum):
    OK = 0
    FAIL = 1  # surely did not happen
    INFO = 2  # may happen at any time after its invocation, or never


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """One history. All arrays of calls have the same length, and so have all arrays of steps."""

    model: Model
    process: NDArray[np.int32]
    outcome: NDArray[np.int8]
    invoke: NDArray[np.int64]
    complete: NDArray[np.int64]  # NEVER for INFO and for a call that never completed
    line: NDArray[np.int32]  # of the invocation in its file, from 1; 0 if there is no file
    step_from: NDArray[np.int32]  # one longer than the calls
    kind: NDArray[np.int8]
    key: NDArray[np.int32]
    value: NDArray[np.int32]
    expected: NDArray[np.int32]  # of CAS and CAS_FAILED; NIL otherwise
    keys: Sequence[str]
    values: Sequence[str]
    processes: Sequence[str] = ()  # names by `process`; if empty, processes are numbers
    initial: int = NIL  # what every object holds at first: a code into `values`, or NIL

    def __len__(self) -> int:
        return len(self.process)

    def process_name(self, row: int) -> str:
        """The name of a call's process, as in the history."""
        process = int(self.process[row])
        return self.processes[process] if self.processes else str(process)
