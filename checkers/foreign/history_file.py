"""A file becomes a `ForeignHistory`: unpacked, recognized, read, paired, understood."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from checkers.foreign.build import build
from checkers.foreign.detect import READERS, Format, FormatReader, detect
from checkers.foreign.foreign_errors import MalformedError, UnreadableHistoryError
from checkers.foreign.foreign_values import Value, name_of
from checkers.foreign.logs import Log, is_log, read_log
from checkers.foreign.operations import Act, act_of, guess
from checkers.foreign.pairs import Pair, pair
from checkers.foreign.policies import CasFailures, NilReads, Policies
from checkers.foreign.source import read_text
from checkers.history.calls import Calls, Model
from checkers.log.allowances import Isolation


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What the user says of a file; None leaves it to the file and its format."""

    model: Model | None = None
    cas_failures: CasFailures | None = None
    nil_reads: NilReads | None = None
    initial: Value = None
    isolation: Isolation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignHistory:
    """A file as it was understood. `completed_line` has the line of each completion, 0: none."""

    path: Path
    format: Format
    model_why: str
    policies: Policies
    calls: Calls | Log
    completed_line: NDArray[np.int32]


def read_history(path: Path, declared: Declared) -> ForeignHistory:
    """Raises UnreadableHistoryError, whose message is one line: file, line, expected, found."""
    try:
        return _read(path, declared)
    except MalformedError as error:
        where = f"{path}, line {error.line}" if error.line else f"{path}"
        raise UnreadableHistoryError(f"{where}: {error}") from error


def read_calls(path: Path, declared: Declared) -> Calls:
    """The calls alone. Raises UnreadableHistoryError, also for logs, which have none."""
    calls = read_history(path, declared).calls
    if isinstance(calls, Log):
        raise UnreadableHistoryError(f"{path}: expected calls of registers or maps, found a log")
    return calls


def _read(path: Path, declared: Declared) -> ForeignHistory:
    text = read_text(path)
    format_ = detect(text)
    pairs = pair(READERS[format_].read(text))
    if not pairs:
        raise MalformedError(0, "at least one operation", f"none in this {format_.value}")
    completed_line = np.array(
        [one.complete.line if one.complete is not None else 0 for one in pairs], np.int32
    )
    if is_log(pairs) or declared.model is Model.LOG:
        return ForeignHistory(
            path=path,
            format=format_,
            model_why=_log_why(declared),
            policies=_policies(READERS[format_], declared, elle=False),
            calls=read_log(pairs),
            completed_line=completed_line,
        )
    acts = [act_of(one) for one in pairs]
    guessed = guess(pairs, acts, declared.model)
    elle = guessed.model is Model.KV or _speaks_elle(pairs, acts)
    policies = _policies(READERS[format_], declared, elle=elle)
    return ForeignHistory(
        path=path,
        format=format_,
        model_why=guessed.why,
        policies=policies,
        calls=build(pairs, acts, guessed, policies),
        completed_line=completed_line,
    )


def _log_why(declared: Declared) -> str:
    """Raises MalformedError where something else was declared."""
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
    """Elle's `[:r :x nil]` saw what was there at first, Knossos' `[:read :x nil]` nothing."""
    for one, act in zip(pairs, acts, strict=True):
        if act is Act.TXN and isinstance(one.invoke.value, tuple):
            for item in one.invoke.value:
                return isinstance(item, tuple) and bool(item) and name_of(item[0]) in ("r", "w")
    return False
