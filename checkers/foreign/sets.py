"""Judges sets that only grow, read as a whole: `add` of an element, `read` of all. Also counters
and mutexes as `Calls`, and the results of all judges of objects.

    {:type :invoke, :f :add, :value 3, :process 0}
    {:type :ok, :f :read, :value #{1 3}, :process 1}

Such a history is linearizable if all reads can be put into one chain, each holding all that the one
before it held, and if no operation ended before one that has to come earlier began. An addition
comes before the first read that holds its element, and after the last that does not; elements that
were never read were added after all of them. Additions between two neighbours of the chain are
independent of each other, and so are equal reads. So stages of additions and of reads follow each
other, and an operation that ended before one of an earlier stage began refutes the history. Of
several additions of one element the first to begin counts.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from checkers.foreign.entries import process_codes
from checkers.foreign.foreign_values import ABSENT, EdnSet, MalformedError, Value, excerpt, render
from checkers.foreign.keyed_calls import KeyedCall
from checkers.history.calls import ANY, NIL, Calls, Model, Outcome, Step
from checkers.verdict import Verdict

# The results of the judges of single objects: nothing wrong, or a violation with its operations.


@dataclass(frozen=True, slots=True, kw_only=True)
class Accused:
    """`parts` are the operations that show it, each with the part it plays, in that order."""

    message: str
    parts: tuple[tuple[KeyedCall, str], ...] = ()
    verdict: Verdict = Verdict.INVALID
    hint: str = ""  # what the user may state about the file, if that is how it was


# Counters and mutexes as `Calls`, for the search.
#
#     {:type :invoke, :f :add, :value 2, :process 0}          also inc and dec, by one without a
#     value {:type :ok, :f :read, :value 2, :process 1} {:type :invoke, :f :acquire, :process 0}
#     and :release; of a mutex
#
# A mutex is a register of two values, taken by a compare-and-set from free to held, by any process,
# like knossos.model's: it is no violation if a process releases what another holds. The value of a
# counter when it is read is bounded by the additions that surely happened, and those that may have
# happened by then; a read outside is refuted by that, whatever the order.


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


_SHOWN = 3  # elements in a sentence


@dataclass(slots=True)
class _Stage:
    """The additions after one read of the chain, up to the next; and the equal reads."""

    adds: list[KeyedCall] = field(default_factory=list)
    reads: list[KeyedCall] = field(default_factory=list)
    again: list[KeyedCall] = field(default_factory=list)  # in it or after it, of existing elements


def elements_of(value: Value, line: int) -> tuple[str, ...]:
    """The elements of a set or list; none for nil. Raises MalformedError for anything else."""
    if value is None:
        return ()
    if isinstance(value, EdnSet):
        return value.elements
    if isinstance(value, tuple):
        return tuple(map(render, value))
    found = "none" if value is ABSENT else excerpt(render(value))
    raise MalformedError(line, "a set such as #{1 2} or [1 2]", found)


def additions_and_reads(
    calls: Sequence[KeyedCall],
) -> tuple[dict[str, list[KeyedCall]], list[tuple[KeyedCall, tuple[str, ...]]]]:
    """Additions by their element, and successful reads with their elements.

    Raises MalformedError.
    """
    adds: dict[str, list[KeyedCall]] = {}
    for call in calls:
        if call.f == "add":
            adds.setdefault(_element(call), []).append(call)
    reads = [
        (call, elements_of(call.result, call.line))
        for call in calls
        if call.f != "add" and call.outcome is Outcome.OK and call.result is not None
    ]
    return adds, reads


def refute_set(calls: Sequence[KeyedCall], initial: frozenset[str]) -> Accused | None:
    """Why no order explains the calls on one set; None if one does."""
    adds, reads = additions_and_reads(calls)
    for call, elements in reads:
        accused = _of_one_read(call, elements, adds, initial)
        if accused is not None:
            return accused
    chain = sorted(((call, frozenset(held)) for call, held in reads), key=lambda one: len(one[1]))
    for (smaller, held), (larger, holds) in pairwise(chain):
        if not held <= holds:
            missing, more = _some(held - holds), _some(holds - held)
            return Accused(
                message=f"one read holds {missing} without {more}, another {more} without "
                f"{missing}: neither can come first",
                parts=((smaller, f"without {more}"), (larger, f"without {missing}")),
            )
    return _refuted(list(_stages(chain, adds, initial)))


def _element(call: KeyedCall) -> str:
    if call.given is ABSENT:
        raise MalformedError(call.pair.invoke.line, "an element to add", "none")
    return render(call.given)


def _of_one_read(
    call: KeyedCall,
    elements: Sequence[str],
    adds: dict[str, list[KeyedCall]],
    initial: frozenset[str],
) -> Accused | None:
    counts = Counter(elements)
    twice = [element for element, count in counts.items() if count > 1]
    if twice:
        return Accused(
            message=f"a read holds {_some(twice)} more than once", parts=((call, "no set does"),)
        )
    gone = initial - counts.keys()
    if gone:
        message = f"a read is without {_some(gone)}, which was there from the first"
        return Accused(message=message, parts=((call, f"without {_some(gone)}"),))
    for element in counts:
        if element in initial:
            continue
        tried = adds.get(element, [])
        if all(each.outcome is Outcome.FAIL for each in tried):
            why = "the adding of which had failed" if tried else "which was never added"
            return Accused(
                message=f"a read holds {element}, {why}",
                parts=(*((each, "failed") for each in tried[:1]), (call, f"holds {element}")),
                hint=f"if it was there before all additions: --initial '#{{{element}}}'",
            )
    return None


def _stages(
    chain: Sequence[tuple[KeyedCall, frozenset[str]]],
    adds: dict[str, list[KeyedCall]],
    initial: frozenset[str],
) -> Iterator[_Stage]:
    before: frozenset[str] = initial
    stage: _Stage | None = None
    for call, held in chain:
        if stage is None or held != before:
            if stage is not None:
                yield stage
            stage = _Stage()
            for element in held - before:
                happened = [one for one in adds[element] if one.outcome is not Outcome.FAIL]
                happened.sort(key=lambda one: one.pair.invoked)
                stage.adds.append(happened[0])
                stage.again += happened[1:]
            before = held
        stage.reads.append(call)
    if stage is not None:
        yield stage
    yield _Stage(
        again=[
            one
            for element, those in adds.items()
            if element not in before
            for one in those
            if one.outcome is Outcome.OK
        ]
    )


def _refuted(stages: Sequence[_Stage]) -> Accused | None:
    """By an operation that ended before one that has to come earlier began."""
    latest: KeyedCall | None = None  # to begin, of all that come before
    shown: KeyedCall | None = None  # a read of the same stage
    for stage in stages:
        for first, others in ((stage.adds, stage.again), (stage.reads, ())):
            for call in (*first, *others):
                if latest is not None and call.pair.completed < latest.pair.invoked:
                    return _late(latest, shown, call)
            for call in first:
                if latest is None or call.pair.invoked > latest.pair.invoked:
                    latest, shown = call, stage.reads[0]
    return None


def _late(latest: KeyedCall, shown: KeyedCall | None, call: KeyedCall) -> Accused:
    """`call` ended before `latest` began, which comes first; between them is what `shown` read."""
    began = f"began only when {_words(call)} had ended"
    if latest.f != "add" and call.f == "add":
        what = f"it does not hold {render(call.given)}, which had been added"
        parts = ((call, "had ended"), (latest, f"does not hold {render(call.given)}"))
        return Accused(message=f"a read {began}, and yet {what}", parts=parts)
    if latest.f != "add":
        parts = ((call, "holds more"), (latest, "holds less, and began later"))
        return Accused(message=f"a read {began}, and yet it holds less", parts=parts)
    element = render(latest.given)
    if call.f != "add":
        parts = ((call, f"holds {element}"), (latest, "began only then"))
        return Accused(message=f"a read held {element} before its addition began", parts=parts)
    assert shown is not None
    message = f"add {element} {began}, and yet a read holds {element} and not {render(call.given)}"
    between = (shown, f"holds {element}, not {render(call.given)}")
    return Accused(message=message, parts=((call, "had ended"), (latest, "began later"), between))


def _words(call: KeyedCall) -> str:
    return f"add {render(call.given)}" if call.f == "add" else "another"


def _some(elements: Sequence[str] | frozenset[str]) -> str:
    shown = sorted(elements)[:_SHOWN]
    more = len(elements) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
