"""The verdict on a foreign history, with its witness in the words and lines of the file."""

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from checkers.array_types import Flags, Ints
from checkers.foreign.history_file import ForeignHistory
from checkers.foreign.list_append import Lists
from checkers.foreign.logs import Log, LogCall, arrays_of, sent_twice
from checkers.foreign.objects import (
    NOTHING,
    Judged,
    Judging,
    Objects,
    Shown,
    judge_lists,
    refuted,
    valid,
)
from checkers.history.calls import Calls, Model, Outcome, Step
from checkers.history.events import EventType
from checkers.linearizability import Decision, decide, warm
from checkers.linearizability.violation import describe
from checkers.log.anomalies import WHATEVER_IS_LOST, Isolation, held_against
from checkers.log.log_witness import explain
from checkers.log.sweep import ALGORITHM, sweep
from checkers.verdict import Verdict, counted

# A hint if a value was seen before any write of it began: it may have been the initial value.


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


def judge(history: ForeignHistory) -> Judged:
    """Decide, within the default budget. A history in which nothing succeeded is unknown."""
    match history.calls:
        case Log():
            return _judge_log(history.calls, history.policies.isolation)
        case Lists():
            return judge_lists(history.calls, history.policies.isolation)
        case Objects():
            return _judge_objects(history, history.calls)
        case _:
            return _judge_calls(history, history.calls)


def _judge_objects(history: ForeignHistory, objects: Objects) -> Judged:
    started = time.perf_counter()
    accused = refuted(objects)
    if accused is not None:
        return accused
    if objects.search is not None:
        return _judge_calls(history, objects.search)
    return valid(objects, time.perf_counter() - started)


def _judge_log(log: Log, isolation: Isolation) -> Judged:
    judging = Judging(algorithm=ALGORITHM, operations=len(log.calls), keys=len(log.keys))
    nothing = not any(call.type is EventType.OK for call in log.calls)
    repeated = sent_twice(log)
    if repeated is not None:
        twice = f"{repeated.value} was sent twice to {repeated.key}"
        message = NOTHING if nothing else twice
        return judging.says(Verdict.UNKNOWN, message, 0.0)
    started = time.perf_counter()
    arrays = arrays_of(log)
    found = sweep(arrays, isolation)[1]
    seconds = time.perf_counter() - started
    held = [(one, held_against(arrays, one, isolation)) for one in found]
    bad = [one.where(chosen) for one, chosen in held if chosen.any()]
    context = tuple(
        f"not held against it: {(~chosen).sum():,} {one.anomaly}"
        for one, chosen in held
        if not chosen.all()
    )
    if log.may_lose:
        bad.sort(key=lambda one: one.anomaly not in WHATEVER_IS_LOST)
    if bad:
        started = time.perf_counter()
        case = explain(arrays, bad[0], 0)
        kinds = ", ".join(f"{len(one):,} {one.anomaly}" for one in bad)
        witness = tuple(_shown(case.key, log.calls[row], part) for row, part in case.operations)
        message = f"{case.message} ({kinds})"
        suspected = log.may_lose and bad[0].anomaly not in WHATEVER_IS_LOST
        verdict = Verdict.UNKNOWN if suspected else Verdict.INVALID
        if suspected:
            message += "; whether its run was planned to lose records, only the whole run shows"
        judged = judging.says(verdict, message, seconds, witness, context)
        return replace(judged, witness_seconds=time.perf_counter() - started)
    if nothing:
        return judging.says(Verdict.UNKNOWN, NOTHING, seconds)
    message = (
        f"{counted(len(log.calls), 'operation breaks', 'operations break')} no promise of a log"
    )
    return judging.says(Verdict.VALID, message, seconds, context=context)


def _shown(key: str, call: LogCall, part: str) -> Shown:
    entry, complete = call.pair.invoke, call.pair.complete
    return Shown(
        line=entry.line,
        completed_line=complete.line if complete is not None else 0,
        process=entry.process,
        key=key,
        what=call.f if call.type is EventType.OK else f"{call.f} ({call.type.value})",
        part=part,
    )


def _judge_calls(history: ForeignHistory, calls: Calls) -> Judged:
    warm()
    started = time.perf_counter()
    decision = decide(calls)
    seconds = time.perf_counter() - started - decision.witness_seconds
    silent = not (calls.outcome == Outcome.OK).any()
    return Judged(
        verdict=Verdict.UNKNOWN if silent else decision.verdict,
        algorithm=decision.algorithm,
        message=NOTHING if silent else decision.message.removeprefix(": "),
        operations=decision.operations,
        keys=len(calls.keys),
        seconds=seconds,
        witness_seconds=decision.witness_seconds,
        witness=_witness(history, calls, decision),
        context=(*_context(decision), *_unwritten(history, calls, decision)),
    )


def _witness(history: ForeignHistory, calls: Calls, decision: Decision) -> tuple[Shown, ...]:
    if decision.witness is None:
        return ()
    key = "" if calls.model is Model.MULTI_REGISTER else decision.witness.key
    return tuple(
        Shown(
            line=int(calls.line[row]),
            completed_line=int(history.completed_line[row]),
            process=calls.process_name(row) if calls.processes else int(calls.process[row]),
            key=key,
            what=_what(calls, row),
            part=part,
        )
        for row, part in zip(decision.witness.calls, decision.witness.parts, strict=True)
    )


def _context(decision: Decision) -> tuple[str, ...]:
    witness = decision.witness
    if witness is None:
        return ()
    lines = [f"it held {witness.initial} when this began", *witness.before]
    if witness.why not in decision.message:
        lines.append(witness.why)
    if witness.left_out:
        lines.append(f"before these {counted(witness.left_out, 'more operation')}, not shown")
    return tuple(lines)


def _unwritten(history: ForeignHistory, calls: Calls, decision: Decision) -> tuple[str, ...]:
    if decision.verdict is not Verdict.INVALID or history.policies.initial is not None:
        return ()
    return tuple(initial_hint(calls))


def _what(calls: Calls, row: int) -> str:
    """`write 3`, `cas 1 to 2 (info)`: what a call did and how it ended, unless that is ok."""
    outcome = Outcome(calls.outcome[row])
    ended = "" if outcome is Outcome.OK else f" ({outcome.name.lower()})"
    return describe(calls, row) + ended
