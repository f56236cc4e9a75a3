"""The array form of a history of logs, on which all kernels run; built from a run or from a file.

Rows of *operations* are in the order of invocation. A *value* is known by a code: code `c` below
`len(sent)` is the record in row `c` of `sent`, codes above are values that were polled and never
sent, and `CORRUPT` is a record with bytes that no client sent. Values of different keys have
different codes. Records are in the order of their operations and, within one, key by key in its
order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from checkers.array_types import Codes, Flags, Ints, Kinds

CORRUPT = -1  # the value code of a record that was damaged on its way
NO_OFFSET = -1  # the offset of a record if its producer was given none
EVERY_KEY = -1  # the key of a reset that gives up all keys
NONE = -1  # an operation, key, offset or value that a case does not have


class Acks(IntEnum):
    """What a producer waits for; codes of `SentRecords.acks`."""

    ALL = -1
    NONE = 0
    LEADER = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOperations:
    process: Codes
    outcome: Kinds  # `checkers.history.calls.Outcome`
    invoke: Ints  # event indices
    complete: Ints  # NEVER if it has not returned
    final: Flags  # of the final reads
    processes: Sequence[str] = ()  # names by `process`; if empty, processes are numbers

    def __len__(self) -> int:
        return len(self.process)

    def process_name(self, row: int) -> str:
        """The name of an operation's process, as in the history."""
        process = int(self.process[row])
        return self.processes[process] if self.processes else str(process)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRecords:
    """Row `c` is the record with the value code `c`."""

    op: Codes
    step: Codes  # which micro-operation of its operation, from 0
    key: Codes
    value: Ints  # as recorded; for a file, where values are texts, the code
    offset: Ints  # NO_OFFSET if unknown
    acks: Kinds

    def __len__(self) -> int:
        return len(self.op)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolledRecords:
    """`rebalanced`: the key changed hands during the operation, so its order is not binding."""

    op: Codes
    step: Codes  # as in `SentRecords`
    key: Codes
    offset: Ints
    value: Codes
    rebalanced: Flags

    def __len__(self) -> int:
        return len(self.op)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Runs of records of one batch in one answer to a poll, and what the answer said about the log.

    `row` is the last of them in `PolledRecords`. Only where the high watermark was recorded.
    """

    row: Codes
    epoch: Codes  # leader epoch of the batch
    high_watermark: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Resets:
    """Consumers with a changed position: the next poll of `key` need not continue.

    Nor need the polls of that operation itself: a rebalance comes during a poll. A reset of every
    key may except some, each named once: those continue.
    """

    op: Codes
    key: Codes  # or EVERY_KEY
    kept_by: Codes  # operations that reset all keys but
    kept: Codes  # these


@dataclass(frozen=True, slots=True, kw_only=True)
class LogArrays:
    ops: LogOperations
    sent: SentRecords
    polled: PolledRecords
    answers: Answers
    resets: Resets
    keys: Sequence[str]
    epochs: Codes  # by key: the highest leader epoch in any probe; -1 without one
    values: int  # codes are below it
    name: Callable[[int], str]  # of a value code, for a reader
    silent: Flags  # by operation: under a subscription that records no rebalance


def no_steps(records: int) -> Codes:
    """For operations of one micro-operation each: all are the first. Takes no memory."""
    return np.broadcast_to(np.int32(0), records)


NO_ANSWERS = Answers(
    row=np.empty(0, np.int32), epoch=np.empty(0, np.int32), high_watermark=np.empty(0, np.int64)
)
