"""Judges a file with sets, queues, counters or lists."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from checkers.foreign.entries import ClientId, Pair
from checkers.foreign.foreign_values import MalformedError, Value, excerpt, render
from checkers.foreign.keyed_calls import KeyedCall, keyed_calls
from checkers.foreign.list_append import ListCall, Lists
from checkers.foreign.list_orders import ALGORITHM, list_anomalies
from checkers.foreign.queues import refute_queue, traffic_of
from checkers.foreign.sets import (
    Accused,
    additions_and_reads,
    counter_calls,
    elements_of,
    mutex_calls,
    out_of_bounds,
    refute_set,
)
from checkers.history.calls import Calls, Model, Outcome
from checkers.log.anomalies import Isolation
from checkers.verdict import WITNESS_LIMIT, Verdict, counted

# The judgement of a file.


NOTHING = "no operation succeeded, so there is nothing to judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An operation of the witness. `completed_line` is 0 if the file has no completion."""

    line: int
    completed_line: int
    process: ClientId
    key: str
    what: str
    part: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The judgement of a file. `context` are the lines that the witness needs beside itself.

    `seconds` is the time to decide, without the loading of `linearizability.warm`;
    `witness_seconds` is the additional time for finding the witness.
    """

    verdict: Verdict
    algorithm: str
    message: str
    operations: int
    keys: int
    seconds: float
    witness_seconds: float = 0.0
    witness: tuple[Shown, ...] = ()
    context: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """The fields of a judgement that are known before anything is decided."""

    algorithm: str
    operations: int
    keys: int

    def says(
        self,
        verdict: Verdict,
        message: str,
        seconds: float,
        witness: tuple[Shown, ...] = (),
        context: tuple[str, ...] = (),
    ) -> Judged:
        return Judged(
            verdict=verdict,
            algorithm=self.algorithm,
            message=message,
            operations=self.operations,
            keys=self.keys,
            seconds=seconds,
            witness=witness,
            context=context,
        )


_ALGORITHMS = {
    Model.SET: "one chain of reads, in stages",
    Model.QUEUE: "violations of a queue, each in one sweep",
    Model.UNORDERED_QUEUE: "violations of a queue, each in one sweep",
    Model.COUNTER: "bounds of sums",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """By key, the operations on each. `search` is the same for the search of counters; `declared`:
    the user said what they are."""

    model: Model
    by_key: Mapping[str, Sequence[KeyedCall]]
    initial: Value
    declared: bool
    search: Calls | None = None


def read_objects(
    pairs: Sequence[Pair], model: Model, initial: Value, *, declared: bool
) -> Objects | Calls:
    """A mutex is just a register. Raises MalformedError."""
    by_key = keyed_calls(pairs, model)
    if initial is not None and model not in (Model.SET, Model.COUNTER):
        said = f"nothing in a {model.value} at first"
        raise MalformedError(0, said, f"--initial {excerpt(render(initial))}")
    if model is Model.MUTEX:
        return mutex_calls(by_key)
    # Operations that do not fit the object are refused now, with their line.
    for calls in by_key.values():
        if model is Model.SET:
            additions_and_reads(calls)
        elif model is not Model.COUNTER:
            traffic_of(calls)
    if model is Model.SET:
        elements_of(initial, 0)
    return Objects(
        model=model,
        by_key=by_key,
        initial=initial,
        declared=declared,
        search=counter_calls(by_key, initial) if model is Model.COUNTER else None,
    )


def refuted(objects: Objects) -> Judged | None:
    """The violation of the first key that is not valid, or why it is unknown; else None."""
    started = time.perf_counter()
    found = [(key, _refute(objects)(calls)) for key, calls in objects.by_key.items()]
    accused = [(key, one) for key, one in found if one is not None]
    if not accused:
        return None
    key, worst = min(accused, key=lambda one: one[1].verdict is not Verdict.INVALID)
    shown = worst.parts[-WITNESS_LIMIT:]
    context = [worst.hint] if worst.hint else []
    if len(shown) < len(worst.parts):
        left = counted(len(worst.parts) - len(shown), "more operation")
        context.append(f"before these {left}, not shown")
    return _judging(objects).says(
        worst.verdict,
        f"{key}: {worst.message}" if key else worst.message,
        time.perf_counter() - started,
        tuple(_shown(call, part) for call, part in shown),
        tuple(context),
    )


def valid(objects: Objects, seconds: float) -> Judged:
    """Nothing is wrong; but if no operation succeeded, nothing is known."""
    calls = [call for those in objects.by_key.values() for call in those]
    if all(call.outcome is not Outcome.OK for call in calls):
        return _judging(objects).says(Verdict.UNKNOWN, NOTHING, seconds)
    said = f"{counted(len(calls), 'call')} on {counted(len(objects.by_key), 'key')}"
    return _judging(objects).says(Verdict.VALID, f"{said} are linearizable", seconds)


def _refute(objects: Objects) -> Callable[[Sequence[KeyedCall]], Accused | None]:
    match objects.model:
        case Model.SET:
            initial = frozenset(elements_of(objects.initial, 0))
            return lambda calls: refute_set(calls, initial)
        case Model.COUNTER:
            return lambda calls: out_of_bounds(calls, objects.initial)
        case _:
            return lambda calls: refute_queue(calls, objects.model, declared=objects.declared)


def _judging(objects: Objects) -> Judging:
    return Judging(
        algorithm=_ALGORITHMS[objects.model],
        operations=sum(map(len, objects.by_key.values())),
        keys=len(objects.by_key),
    )


def _shown(call: KeyedCall, part: str) -> Shown:
    told = call.result if call.outcome is Outcome.OK and call.f in _TELL else call.given
    said = "" if told is None else f" {render(told)}"
    ended = "" if call.outcome is Outcome.OK else f" ({call.outcome.name.lower()})"
    return _line(call.pair, call.key, f"{call.f}{_shortened(said)}{ended}", part)


_TELL = ("read", "r", "get", "dequeue", "drain")
_LONGEST = 80


def _shortened(said: str) -> str:
    return said if len(said) <= _LONGEST else said[:_LONGEST] + "..."


def _line(pair: Pair, key: str, what: str, part: str) -> Shown:
    return Shown(
        line=pair.invoke.line,
        completed_line=pair.complete.line if pair.complete is not None else 0,
        process=pair.invoke.process,
        key=key,
        what=what,
        part=part,
    )


def judge_lists(lists: Lists, isolation: Isolation) -> Judged:
    """Transactions on lists, by their promised isolation."""
    started = time.perf_counter()
    anomalies = list(list_anomalies(lists, isolation))
    seconds = time.perf_counter() - started
    anomalies.sort(key=lambda one: one.verdict is not Verdict.INVALID)
    if anomalies:
        first = anomalies[0]
        names = ", ".join(dict.fromkeys(one.name for one in anomalies))
        said, verdict = f"{first.message} ({names})", first.verdict
        witness = tuple(_of_list(lists.calls[row], part) for row, part in first.parts)
    else:
        silent = all(call.outcome is not Outcome.OK for call in lists.calls)
        transactions = counted(len(lists.calls), "transaction")
        verdict = Verdict.UNKNOWN if silent else Verdict.VALID
        said = NOTHING if silent else f"{transactions} on lists are {isolation}"
        witness = ()
    return Judged(
        verdict=verdict,
        algorithm=ALGORITHM,
        message=said,
        operations=len(lists.calls),
        keys=len(lists.keys),
        seconds=seconds,
        witness=witness[:WITNESS_LIMIT],
    )


def _of_list(call: ListCall, part: str) -> Shown:
    ended = "" if call.outcome is Outcome.OK else f" ({call.outcome.name.lower()})"
    return _line(call.pair, "", _shortened(str(call)) + ended, part)


def list_isolation(declared: Isolation | None) -> Isolation:
    """For lists, as Elle has it. Raises MalformedError for an isolation of logs only."""
    if declared in (Isolation.JEPSEN, Isolation.KAFKA):
        expected = "pl-2, serializable or strict-serializable, of transactions on lists"
        raise MalformedError(0, expected, f"--isolation {declared}")
    return declared or Isolation.STRICT_SERIALIZABLE
