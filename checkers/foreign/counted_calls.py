"""Counters and mutexes as `Calls`, for the search.

    {:type :invoke, :f :add, :value 2, :process 0}          also inc and dec, by one without a value
    {:type :ok, :f :read, :value 2, :process 1}
    {:type :invoke, :f :acquire, :process 0}                and :release; of a mutex

A mutex is a register of two values, taken by a compare-and-set from free to held, by any process,
like knossos.model's: it is no violation if a process releases what another holds. The value of a
counter when it is read is bounded by the additions that surely happened, and those that may have
happened by then; a read outside is refuted by that, whatever the order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checkers.foreign.accused import Accused
from checkers.foreign.entries import process_codes
from checkers.foreign.foreign_errors import MalformedError, excerpt
from checkers.foreign.foreign_values import ABSENT, Value, render
from checkers.foreign.keyed_calls import KeyedCall
from checkers.history.calls import ANY, NIL, Calls, Model, Outcome, Step

_SIGNS = {"add": 1, "inc": 1, "increment": 1, "dec": -1, "decrement": -1}
_FREE, _HELD = 0, 1
_VALUES = ("free", "held")


@dataclass(frozen=True, slots=True)
class _StepRow:
    kind: Step
    value: int
    expected: int = NIL


def counter_calls(by_key: Mapping[str, Sequence[KeyedCall]], initial: Value) -> Calls:
    """Raises MalformedError."""
    first = _number(0, 0 if initial is None else initial)
    codes = {first: 0}

    def step(call: KeyedCall) -> _StepRow:
        if call.f in _SIGNS:
            return _StepRow(Step.ADD, codes.setdefault(added(call), len(codes)))
        if call.outcome is not Outcome.OK:
            return _StepRow(Step.READ, ANY)
        read = _number(call.line, call.result)
        return _StepRow(Step.READ, codes.setdefault(read, len(codes)))

    calls, steps = _in_order(by_key), list[_StepRow]()
    for call in calls:
        steps.append(step(call))
    return _made(Model.COUNTER, calls, list(by_key), steps, list(map(str, codes)))


def mutex_calls(by_key: Mapping[str, Sequence[KeyedCall]]) -> Calls:
    """Raises MalformedError."""
    calls = _in_order(by_key)
    steps = [
        _StepRow(Step.CAS, _HELD, _FREE)
        if call.f == "acquire"
        else _StepRow(Step.CAS, _FREE, _HELD)
        for call in calls
    ]
    return _made(Model.MUTEX, calls, list(by_key), steps, list(_VALUES))


def added(call: KeyedCall) -> int:
    """By how much a counter was to rise. Raises MalformedError."""
    alone = call.f != "add" and call.given in (ABSENT, None)
    return _SIGNS[call.f] * (1 if alone else _number(call.pair.invoke.line, call.given))


def out_of_bounds(calls: Sequence[KeyedCall], initial: Value) -> Accused | None:
    """A read of a value that a counter cannot have had, whatever the order. Raises
    MalformedError."""
    reads = [call for call in calls if call.f not in _SIGNS and call.outcome is Outcome.OK]
    adds = [call for call in calls if call.f in _SIGNS and call.outcome is not Outcome.FAIL]
    first = _number(0, 0 if initial is None else initial)
    amounts = np.array([added(call) for call in adds], object)
    begun, ended = _sums(adds, amounts, ended=False), _sums(adds, amounts, ended=True)
    for call in reads:
        value = _number(call.line, call.result)
        may, did = begun.before(call.pair.completed), ended.before(call.pair.invoked)
        least, most = first + did.up + may.down, first + may.up + did.down
        if not least <= value <= most:
            return Accused(
                message=f"read {value}, when it stood between {least} and {most} in any order",
                parts=((call, "no order explains its return"),),
                hint=""
                if begun.at.size and begun.at[0] < call.pair.completed
                else f"if it stood there before all additions: --initial {value}",
            )
    return None


@dataclass(frozen=True, slots=True)
class _Sum:
    up: int
    down: int


@dataclass(frozen=True, slots=True)
class _Sums:
    """The additions up to each moment."""

    at: NDArray[np.int64]
    up: Sequence[int]
    down: Sequence[int]

    def before(self, moment: int) -> _Sum:
        place = int(np.searchsorted(self.at, moment))
        return _Sum(self.up[place], self.down[place])


def _sums(adds: Sequence[KeyedCall], amounts: NDArray[np.object_], *, ended: bool) -> _Sums:
    moments = [call.pair.completed if ended else call.pair.invoked for call in adds]
    at = np.array(moments, np.int64)
    order = np.argsort(at, kind="stable")
    up, down = [0], [0]
    for amount in amounts[order].tolist():
        up.append(up[-1] + max(amount, 0))
        down.append(down[-1] + min(amount, 0))
    return _Sums(at[order], up, down)


def _number(line: int, value: Value) -> int:
    if type(value) is int:
        return value
    found = "none" if value is ABSENT else excerpt(render(value))
    raise MalformedError(line, "a whole number, of a counter", found)


def _in_order(by_key: Mapping[str, Sequence[KeyedCall]]) -> list[KeyedCall]:
    return sorted((call for those in by_key.values() for call in those), key=_invoked)


def _invoked(call: KeyedCall) -> int:
    return call.pair.invoked


def _made(
    model: Model,
    calls: Sequence[KeyedCall],
    keys: Sequence[str],
    steps: Sequence[_StepRow],
    values: Sequence[str],
) -> Calls:
    """One step per call; the first of the values is what all keys hold at first."""
    process, names = process_codes([call.pair.invoke.process for call in calls])
    key = {name: code for code, name in enumerate(keys)}
    return Calls(
        model=model,
        process=process,
        processes=names,
        outcome=np.array([call.outcome for call in calls], np.int8),
        invoke=np.array([call.pair.invoked for call in calls], np.int64),
        complete=np.array([call.pair.completed for call in calls], np.int64),
        line=np.array([call.pair.invoke.line for call in calls], np.int32),
        step_from=np.arange(len(calls) + 1, dtype=np.int32),
        kind=np.array([step.kind for step in steps], np.int8),
        key=np.array([key[call.key] for call in calls], np.int32),
        value=np.array([step.value for step in steps], np.int32),
        expected=np.array([step.expected for step in steps], np.int32),
        keys=keys,
        values=values,
        initial=0,
    )
