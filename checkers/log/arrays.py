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

# Small numbers for pairs of a group and a nearly dense number in it, without sorting.
#
# Offsets within a partition and the values of one process are counted up by one: a table from the
# lowest to the highest of each group has few empty places.


_SPARSE = 8  # places for each pair, above which they are too sparse for a table
_SLACK = 1024
NOWHERE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Group `g` has the places from `begins[g]` on, for the numbers from `low[g]` on."""

    low: Ints
    begins: Ints  # one longer than the groups

    @property
    def size(self) -> int:
        return int(self.begins[-1])

    def of_known(self, group: Ints | Codes, number: Ints) -> Ints:
        """Places of pairs that the table was made for. They rise with the number in a group."""
        return number + (self.begins[:-1] - self.low)[group]

    def find(self, group: Ints | Codes, number: Ints) -> Ints:
        """Places of any pairs; NOWHERE for pairs that the table has no place for."""
        inside = (group >= 0) & (group < len(self.low))
        known = np.where(inside, group, 0)
        place = self.of_known(known, number)
        inside &= (number >= self.low[known]) & (place < self.begins[1:][known])
        return np.where(inside, place, NOWHERE)


def addresses(group: Ints | Codes, number: Ints, groups: int) -> Addresses | None:
    """None if groups or numbers are too sparse. Numbers are not negative."""
    most = _SPARSE * len(group) + _SLACK
    if groups > most:
        return None
    low = np.full(groups, np.iinfo(np.int64).max, np.int64)
    high = np.full(groups, -1, np.int64)
    np.minimum.at(low, group, number)
    np.maximum.at(high, group, number)
    sizes = np.where(high >= 0, high - low + 1, 0)
    if float(sizes.astype(np.float64).sum()) > most:
        return None
    low[high < 0] = 0
    return Addresses(low=low, begins=np.concatenate([[0], np.cumsum(sizes)]))


# Operations under a subscription that moves partitions unrecorded.
#
# A group may give a partition to another consumer and back between two polls. If the history
# records it, the consumer's order is binding in between; if not, its positions are unknown until it
# is assigned partitions again. The order of other processes is always binding.


def silent_subscriptions(process: Codes, *, subscribed: Ints, assigned: Ints, told: Ints) -> Flags:
    """By operation: whether it lies between a `subscribe` of its process and the next assignment.

    All are rows of operations: those that subscribed, those that assigned partitions, and those
    that recorded a rebalance. A process that records one rebalance records all: it is not silent.
    """
    ops = len(process)
    silent = np.zeros(ops, np.bool_)
    if not len(subscribed):
        return silent
    subscribes, tells = silent.copy(), silent.copy()
    subscribes[subscribed], tells[told] = True, True
    marks = subscribes.copy()
    marks[assigned] = True
    # Process by process: a stretch begins with each mark, and with each process.
    by_process = np.argsort(process, kind="stable")
    own, marked = process[by_process], marks[by_process]
    begins = marked.copy()
    begins[0] = True
    begins[1:] |= own[1:] != own[:-1]
    stretch = np.cumsum(begins) - 1
    telling = np.zeros(stretch[-1] + 1, np.bool_)
    telling[stretch[tells[by_process] & ~marked]] = True
    quiet = subscribes[by_process[begins]] & ~telling
    silent[by_process] = quiet[stretch] & ~marked
    return silent


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
    node: Codes | None = None  # the broker that was asked; -1, or no array, if that is unknown

    def node_of(self, rows: Codes | Ints) -> Codes:
        """The brokers that these operations asked."""
        return np.full(len(rows), -1, np.int32) if self.node is None else self.node[rows]

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
