"""Makes a `ForeignHistory` of a file: unpacked, recognised, read, paired, interpreted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from checkers.foreign import own_events
from checkers.foreign.build import build
from checkers.foreign.detect import READERS, Format, FormatReader, detect
from checkers.foreign.entries import Pair
from checkers.foreign.foreign_values import (
    ABSENT,
    MalformedError,
    UnreadableHistoryError,
    Value,
    name_of,
)
from checkers.foreign.keyed_calls import model_of
from checkers.foreign.list_append import Lists, appends_to_lists, read_lists
from checkers.foreign.logs import Log, is_log, read_log
from checkers.foreign.objects import Objects, list_isolation, read_objects
from checkers.foreign.operations import Act, act_of, guess
from checkers.foreign.source import CasFailures, NilReads, Policies, read_data
from checkers.history.calls import Calls, Model
from checkers.history.events import EventType
from checkers.log.anomalies import Isolation

# Reads that name their key only in the answer, if the values of a history are `[key value]`.
#
#     {:type :invoke, :f :read, :value nil, :process 1}
#     {:type :ok, :f :read, :value [:x 3], :process 1}
#
# No register has a value of two elements here, so if everything written is a pair, and everything
# read as well, its first part is a key. A read without its key read nothing at all.


def with_keys(pairs: Sequence[Pair], acts: Sequence[Act]) -> tuple[list[Pair], list[Act]]:
    """The same with the key in the invocation of each read, if the history has keys that way."""
    if not any(map(_is_untold, pairs, acts)) or not all(map(_may_be_keyed, pairs, acts)):
        return list(pairs), list(acts)
    kept = [(_told(pair, act), act) for pair, act in zip(pairs, acts, strict=True)]
    told = [(pair, act) for pair, act in kept if pair is not None]
    return [pair for pair, _ in told], [act for _, act in told]


def _is_untold(pair: Pair, act: Act) -> bool:
    """Whether a read has no key where it began, and returned a pair."""
    return act is Act.READ and not _is_pair(pair.invoke.value) and _is_pair(_result(pair))


def _may_be_keyed(pair: Pair, act: Act) -> bool:
    if act is Act.TXN or pair.invoke.key is not ABSENT:
        return False
    if act is not Act.READ:
        return _is_pair(pair.invoke.value)
    asked, result = pair.invoke.value, _result(pair)
    known = asked in (ABSENT, None) or _is_pair(asked) or (type(asked) is tuple and len(asked) == 1)
    return known and (result is ABSENT or _is_pair(result))


def _told(pair: Pair, act: Act) -> Pair | None:
    if act is not Act.READ or _is_pair(pair.invoke.value):
        return pair
    asked, result = pair.invoke.value, _result(pair)
    if isinstance(asked, tuple):
        return replace(pair, invoke=replace(pair.invoke, value=(asked[0], None)))
    if not isinstance(result, tuple):
        return None
    return replace(pair, invoke=replace(pair.invoke, value=(result[0], None)))


def _result(pair: Pair) -> Value:
    """The value that a read returned; ABSENT if it did not succeed."""
    complete = pair.complete
    return ABSENT if complete is None or complete.type is not EventType.OK else complete.value


def _is_pair(value: Value) -> bool:
    return isinstance(value, tuple) and len(value) == 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The user's statements about a file; None leaves it to the file and its format."""

    model: Model | None = None
    cas_failures: CasFailures | None = None
    nil_reads: NilReads | None = None
    initial: Value = None
    isolation: Isolation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignHistory:
    """A file as it was understood. `completed_line` has the line of each completion, 0: none.

    `left_out` has the contents of the file that are not judged, by name, with their numbers.
    """

    path: Path
    format: Format
    model_why: str
    policies: Policies
    calls: Calls | Log | Lists | Objects
    completed_line: NDArray[np.int32]
    left_out: Mapping[str, int] = field(default_factory=dict)


def read_history(path: Path, declared: Declared) -> ForeignHistory:
    """Raises UnreadableHistoryError with a message of one line: file, line, expected, found."""
    try:
        return _read(path, declared)
    except MalformedError as error:
        where = f"{path}, line {error.line}" if error.line else f"{path}"
        raise UnreadableHistoryError(f"{where}: {error}") from error


def read_calls(path: Path, declared: Declared) -> Calls:
    """The calls alone. Raises UnreadableHistoryError, also for logs, which have none."""
    calls = read_history(path, declared).calls
    if not isinstance(calls, Calls):
        raise UnreadableHistoryError(
            f"{path}: expected calls of registers or maps, found a {calls.model.value}"
        )
    return calls


def _read(path: Path, declared: Declared) -> ForeignHistory:
    data = read_data(path)
    format_ = detect(data)
    everything = READERS[format_].read(data)
    is_own = format_ is Format.EVENTS
    pairs, left_out = own_events.chosen(everything) if is_own else (everything, {})
    if not pairs:
        raise MalformedError(0, "at least one operation", f"none in this {format_.value}")
    if declared.model is Model.LIST_APPEND or (declared.model is None and appends_to_lists(pairs)):
        return ForeignHistory(
            path=path,
            format=format_,
            model_why="as told" if declared.model else "something is appended in transactions",
            policies=replace(
                _policies(READERS[format_], declared, elle=True),
                isolation=list_isolation(declared.isolation),
            ),
            calls=read_lists(pairs),
            completed_line=_completed_lines(pairs),
        )
    model = model_of(pairs, declared.model)
    if model is not None:
        return _of_objects(path, format_, pairs, model, declared)
    if is_log(pairs) or declared.model is Model.LOG:
        log_why = _log_why(declared)
        _require_order(format_, pairs[0])
        return ForeignHistory(
            path=path,
            format=format_,
            model_why=log_why,
            policies=_policies(READERS[format_], declared, elle=False),
            calls=own_events.read_log(pairs, everything) if is_own else read_log(pairs),
            completed_line=_completed_lines(pairs),
            left_out=left_out,
        )
    pairs, acts = with_keys(pairs, [act_of(one) for one in pairs])
    guessed = guess(pairs, acts, declared.model)
    elle = guessed.model is Model.KV or _speaks_elle(pairs, acts)
    policies = _policies(READERS[format_], declared, elle=elle)
    return ForeignHistory(
        path=path,
        format=format_,
        model_why=guessed.why,
        policies=policies,
        calls=build(pairs, acts, guessed, policies),
        completed_line=_completed_lines(pairs),
        left_out=left_out,
    )


def _of_objects(
    path: Path, format_: Format, pairs: list[Pair], model: Model, declared: Declared
) -> ForeignHistory:
    names = sorted({pair.invoke.f for pair in pairs if pair.invoke.f is not None})
    told = declared.model is not None
    return ForeignHistory(
        path=path,
        format=format_,
        model_why="as told" if told else f"its operations are {', '.join(names)}",
        policies=_policies(READERS[format_], declared, elle=True),
        calls=read_objects(pairs, model, declared.initial, declared=told),
        completed_line=_completed_lines(pairs),
    )


def _completed_lines(pairs: list[Pair]) -> NDArray[np.int32]:
    lines = [one.complete.line if one.complete is not None else 0 for one in pairs]
    return np.array(lines, np.int32)


def _require_order(format_: Format, first: Pair) -> None:
    """Raises MalformedError if clients do several things at a time: a consumer has a position, from
    which the next poll continues."""
    if format_ is Format.PORCUPINE:
        found = f"{first.invoke.f} in {format_.value}"
        raise MalformedError(first.invoke.line, "a log as Jepsen's Kafka workload has it", found)


def _log_why(declared: Declared) -> str:
    """Raises MalformedError if something else was declared."""
    if declared.model is Model.LOG:
        return "as told"
    if declared.model is not None:
        raise MalformedError(0, f"operations of a {declared.model.value}", "sends and polls")
    return "something is sent or polled"


def _policies(reader: FormatReader, declared: Declared, *, elle: bool) -> Policies:
    """As declared, else as the tool that wrote the file has it: Elle's nil is a value."""
    nil_reads = NilReads.VALUE if elle else reader.nil_reads
    return Policies(
        cas_failures=declared.cas_failures or reader.cas_failures,
        nil_reads=declared.nil_reads or nil_reads,
        initial=declared.initial,
        isolation=declared.isolation or Isolation.KAFKA,
    )


def _speaks_elle(pairs: list[Pair], acts: list[Act]) -> bool:
    """Elle's `[:r :x nil]` saw the initial value, Knossos' `[:read :x nil]` nothing."""
    for one, act in zip(pairs, acts, strict=True):
        if act is Act.TXN and isinstance(one.invoke.value, tuple):
            for item in one.invoke.value:
                return isinstance(item, tuple) and bool(item) and name_of(item[0]) in ("r", "w")
    return False
