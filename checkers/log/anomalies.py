"""The names of the anomalies of a log, and cases of them as arrays.

Names are those of Jepsen's Kafka workload where it has one, and for cycles those of Adya and Elle;
ours are PHANTOM, CORRUPT, FUTURE_READ, REALTIME_SEND, PAST_HIGH_WATERMARK, HIGH_WATERMARK_BACK and
VANISHED.

The shortest cycle through operations that depend on each other: the one that a person should
see.

What fails no test even if nothing was lost: the kind of workload allows it.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import compress

import numpy as np

from checkers.array_types import Codes, Flags, Ints
from checkers.log.arrays import NONE, LogArrays
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


class Anomaly(StrEnum):
    """The most basic ones first: if offsets contradict each other, wrong orders follow from it."""

    CORRUPT = "corrupt"
    PHANTOM = "phantom"
    FUTURE_READ = "future-read"
    G1A = "G1a"
    INCONSISTENT_OFFSETS = "inconsistent-offsets"
    DUPLICATE = "duplicate"
    PRECOMMITTED_READ = "precommitted-read"
    G1C = "G1c"
    G1C_REALTIME = "G1c-realtime"
    G0 = "G0"
    G0_REALTIME = "G0-realtime"
    G1B = "G1b"
    G_SINGLE = "G-single"
    G_SINGLE_REALTIME = "G-single-realtime"
    G2 = "G2"
    G2_REALTIME = "G2-realtime"
    LOST_WRITE = "lost-write"
    VANISHED = "vanished"
    UNSEEN = "unseen"
    PAST_HIGH_WATERMARK = "poll-past-high-watermark"
    HIGH_WATERMARK_BACK = "nonmonotonic-high-watermark"
    NONMONOTONIC_SEND = "nonmonotonic-send"
    REALTIME_SEND = "nonmonotonic-send-realtime"
    INT_NONMONOTONIC_SEND = "int-nonmonotonic-send"
    INT_SEND_SKIP = "int-send-skip"
    INT_NONMONOTONIC_POLL = "int-nonmonotonic-poll"
    INT_POLL_SKIP = "int-poll-skip"
    NONMONOTONIC_POLL = "nonmonotonic-poll"
    POLL_SKIP = "poll-skip"


# Sends of several producers interleave, so the records of one transaction need not be adjacent.
ALWAYS_ALLOWED = frozenset({Anomaly.INT_SEND_SKIP})
# A consumer has no known position if its group moves partitions unrecorded.
UNBOUND_BY_SILENCE = frozenset({Anomaly.POLL_SKIP, Anomaly.NONMONOTONIC_POLL})
# No loss of records explains these.
WHATEVER_IS_LOST = frozenset(
    {
        Anomaly.CORRUPT,
        Anomaly.PHANTOM,
        Anomaly.FUTURE_READ,
        Anomaly.G1A,
        Anomaly.PRECOMMITTED_READ,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """All cases of one anomaly: row `i` of each array is case `i`.

    `one` and `other` are the operations that show it, `other` the one that reveals it; `offset` and
    `value` are theirs, NONE if they have none. `cycles` is filled for cases that are cycles, and
    else empty.
    """

    anomaly: Anomaly
    key: Codes
    one: Codes
    other: Codes
    one_offset: Ints
    other_offset: Ints
    one_value: Codes
    other_value: Codes
    cycles: tuple[Cycle, ...] = ()

    def __len__(self) -> int:
        return len(self.key)

    def where(self, chosen: Flags) -> "Cases":
        """The chosen cases only."""
        return Cases(
            anomaly=self.anomaly,
            key=self.key[chosen],
            one=self.one[chosen],
            other=self.other[chosen],
            one_offset=self.one_offset[chosen],
            other_offset=self.other_offset[chosen],
            one_value=self.one_value[chosen],
            other_value=self.other_value[chosen],
            cycles=tuple(compress(self.cycles, chosen)),
        )


def cases(
    anomaly: Anomaly,
    key: Codes,
    *,
    other: Codes,
    one: Codes | None = None,
    one_offset: Ints | None = None,
    other_offset: Ints | None = None,
    one_value: Codes | None = None,
    other_value: Codes | None = None,
    cycles: tuple[Cycle, ...] = (),
) -> Cases:
    """Cases with NONE wherever nothing is given."""
    no_code, no_offset = np.full(len(key), NONE, np.int32), np.full(len(key), NONE, np.int64)
    return Cases(
        anomaly=anomaly,
        key=key,
        one=no_code if one is None else one,
        other=other,
        one_offset=no_offset if one_offset is None else one_offset,
        other_offset=no_offset if other_offset is None else other_offset,
        one_value=no_code if one_value is None else one_value,
        other_value=no_code if other_value is None else other_value,
        cycles=cycles,
    )


def in_order(found: Iterable[Cases]) -> list[Cases]:
    """Those that have cases, in the order of `Anomaly`."""
    rank = list(Anomaly)
    return sorted((one for one in found if len(one)), key=lambda one: rank.index(one.anomaly))


class Isolation(StrEnum):
    """What transactions are promised of each other; each level includes the one before.

    JEPSEN is what Jepsen's Kafka workload insists on by default: no cycle fails its test, for it
    allows every G0 and, as it counts ww, every G1c. A workload that reads uncommitted has to use
    it. KAFKA is what read-committed consumers are promised: a transaction is seen once it is
    committed, so two transactions cannot have polled each other's records. Their sends interleave,
    so every cycle that needs a ww is normal, over real time too. PL_2 is Adya's read committed,
    which isolates sends: neither G0 nor G1c. It does not forbid G1b here, since a poll ends
    anywhere. SERIALIZABLE is PL-3: neither G1b, G-single nor G2. STRICT_SERIALIZABLE also orders
    transactions of which one began after the other ended, for polls too: they may not lag.
    """

    JEPSEN = "jepsen"
    KAFKA = "kafka"
    PL_2 = "pl-2"
    SERIALIZABLE = "serializable"
    STRICT_SERIALIZABLE = "strict-serializable"

    @property
    def anti(self) -> bool:
        """Whether the records that a poll did not see yet count."""
        return self in (Isolation.SERIALIZABLE, Isolation.STRICT_SERIALIZABLE)


def held_against(log: LogArrays, found: Cases, isolation: Isolation) -> Flags:
    """By case: whether it breaks a promise, if nothing that was promised is lost.

    What Jepsen allows wherever any consumer subscribes is allowed to those that do, see
    `subscriptions`.
    """
    if found.anomaly in ALWAYS_ALLOWED:
        return np.zeros(len(found), np.bool_)
    if found.anomaly in UNBOUND_BY_SILENCE:
        return ~(log.silent[found.one] | log.silent[found.other])
    if found.anomaly is Anomaly.G1B:
        return np.full(len(found), isolation.anti)
    if found.cycles:
        return np.array([_forbidden(cycle, isolation) for cycle in found.cycles], np.bool_)
    return np.ones(len(found), np.bool_)


def _forbidden(cycle: Cycle, isolation: Isolation) -> bool:
    anti, over_time = cycle.has(Dependency.RW), cycle.has(Dependency.RT)
    match isolation:
        case Isolation.JEPSEN:
            return False
        case Isolation.KAFKA:
            return not anti and not cycle.has(Dependency.WW)
        case Isolation.PL_2:
            return not anti
        case Isolation.SERIALIZABLE:
            return not (anti and over_time)
        case Isolation.STRICT_SERIALIZABLE:
            return True
