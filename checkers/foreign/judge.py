"""The verdict on a foreign history, with its witness in the words and lines of the file."""

import time
from dataclasses import dataclass, replace

import numpy as np

from checkers.counted import counted
from checkers.foreign.history_file import ForeignHistory
from checkers.foreign.log_arrays import arrays_of, sent_twice
from checkers.foreign.logs import Log, LogCall
from checkers.history.calls import ANY, NIL, Calls, Model, Outcome, Step
from checkers.history.events import EventType
from checkers.linearizability import Decision, decide, warm
from checkers.linearizability.call_words import describe
from checkers.log.allowances import Isolation, held_against
from checkers.log.case_words import explain
from checkers.log.sweep import ALGORITHM, sweep
from checkers.verdict import Verdict

_NOTHING = "no operation succeeded, so there is nothing to judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An operation of the witness. `completed_line` is 0 where the file has no completion."""

    line: int
    completed_line: int
    process: int
    key: str
    what: str
    part: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What is said of a file. `context` are the lines that the witness needs beside itself.

    `seconds` is the time to decide, once what `linearizability.warm` loads is loaded;
    `witness_seconds` is what looking for the witness took beside it.
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


def judge(history: ForeignHistory) -> Judged:
    """Decide, within the default budget. A history in which nothing succeeded is unknown."""
    if isinstance(history.calls, Log):
        return _judge_log(history.calls, history.policies.isolation)
    return _judge_calls(history, history.calls)


def _judge_log(log: Log, isolation: Isolation) -> Judged:
    nothing = not any(call.type is EventType.OK for call in log.calls)
    repeated = sent_twice(log)
    if repeated is not None:
        twice = f"{repeated.value} was sent twice to {repeated.key}"
        message = _NOTHING if nothing else twice
        return _judged_log(log, Verdict.UNKNOWN, message, 0.0)
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
    if bad:
        started = time.perf_counter()
        case = explain(arrays, bad[0], 0)
        kinds = ", ".join(f"{len(one):,} {one.anomaly}" for one in bad)
        witness = tuple(_shown(case.key, log.calls[row], part) for row, part in case.operations)
        message = f"{case.message} ({kinds})"
        judged = _judged_log(log, Verdict.INVALID, message, seconds, witness, context)
        return replace(judged, witness_seconds=time.perf_counter() - started)
    if nothing:
        return _judged_log(log, Verdict.UNKNOWN, _NOTHING, seconds)
    message = (
        f"{counted(len(log.calls), 'operation breaks', 'operations break')} no promise of a log"
    )
    return _judged_log(log, Verdict.VALID, message, seconds, context=context)


def _judged_log(
    log: Log,
    verdict: Verdict,
    message: str,
    seconds: float,
    witness: tuple[Shown, ...] = (),
    context: tuple[str, ...] = (),
) -> Judged:
    return Judged(
        verdict=verdict,
        algorithm=ALGORITHM,
        message=message,
        operations=len(log.calls),
        keys=len(log.keys),
        seconds=seconds,
        witness=witness,
        context=context,
    )


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
        message=_NOTHING if silent else decision.message.removeprefix(": "),
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
            process=int(calls.process[row]),
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
    """A hint where one value was read that no write can have made: it may have been there first."""
    if decision.verdict is not Verdict.INVALID or history.policies.initial is not None:
        return ()
    reads = calls.kind == Step.READ
    steps_of_failed = np.repeat(calls.outcome == Outcome.FAIL, np.diff(calls.step_from))
    read = set(calls.value[reads].tolist())
    written = set(calls.value[~reads & ~steps_of_failed].tolist())
    strange = sorted(read - written - {ANY, NIL, calls.initial})
    if len(strange) != 1 or calls.model is Model.KV:
        return ()
    value = calls.values[strange[0]]
    tried = (calls.value[~reads] == strange[0]).any()
    what = f"no write of {value} succeeded" if tried else f"{value} was never written"
    return (f"{what}; if it was there before all writes: --initial '{value}'",)


def _what(calls: Calls, row: int) -> str:
    """`write 3`, `cas 1 to 2 (info)`: what a call did and how it ended, where that is not ok."""
    outcome = Outcome(calls.outcome[row])
    ended = "" if outcome is Outcome.OK else f" ({outcome.name.lower()})"
    return describe(calls, row) + ended
