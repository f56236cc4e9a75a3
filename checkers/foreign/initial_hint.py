"""A hint if a value was seen before any write of it began: it may have been the initial value."""

from collections.abc import Iterator

import numpy as np

from checkers.array_types import Flags, Ints
from checkers.history.calls import Calls, Model, Outcome, Step

_WITHOUT = (Model.KV, Model.MUTEX)  # texts are put together, and a mutex is free at first


def initial_hint(calls: Calls) -> Iterator[str]:
    """At most one: if all such reads and compare-and-sets saw the same value."""
    if calls.model in _WITHOUT:
        return
    call = np.repeat(np.arange(len(calls)), np.diff(calls.step_from))
    happened = calls.outcome[call] == Outcome.OK
    seen = _place(calls, np.where(calls.kind == Step.READ, calls.value, calls.expected))
    looks = happened & np.isin(calls.kind, (Step.READ, Step.CAS)) & (seen >= 0)
    made, writes = _place(calls, calls.value), np.isin(calls.kind, (Step.WRITE, Step.CAS))
    writes &= made >= 0
    strange = seen[looks & _before_all(calls, call, seen, made, writes)] % len(calls.values or [0])
    values = np.unique(strange)
    values = values[values != calls.initial]
    if len(values) != 1:
        return
    value, code = calls.values[values[0]], int(values[0])
    tried = calls.value[writes & (calls.value == code)]
    failed = (calls.outcome[call[writes & (calls.value == code)]] == Outcome.FAIL).all()
    if not len(tried):
        what = f"{value} was never written"
    elif failed:
        what = f"no write of {value} succeeded"
    else:
        what = f"{value} was seen before any write of it began"
    yield f"{what}; if it was there before all writes: --initial '{value}'"


def _place(calls: Calls, value: np.ndarray[tuple[int], np.dtype[np.int32]]) -> Ints:
    """A key and a value as one number; below 0 if there is no such value."""
    place: Ints = calls.key.astype(np.int64) * len(calls.values) + value
    return np.where(value >= 0, place, -1)


def _before_all(calls: Calls, call: Ints, seen: Ints, made: Ints, writes: Flags) -> Flags:
    """By step: whether its call ended before any write of the value that it saw began."""
    writes = writes & (calls.outcome[call] != Outcome.FAIL)
    known, at = np.unique(made[writes], return_inverse=True)
    first = np.full(len(known), np.iinfo(np.int64).max)
    np.minimum.at(first, at, calls.invoke[call[writes]])
    # One more, which no value has: so every index exists.
    known, first = np.append(known, -2), np.append(first, np.iinfo(np.int64).max)
    place = np.searchsorted(known[:-1], seen)
    before: Flags = (known[place] != seen) | (calls.complete[call] < first[place])
    return before
