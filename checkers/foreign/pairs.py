"""Pairs invocations and completions: one process does one thing after another."""

from collections.abc import Iterable
from dataclasses import dataclass

from checkers.foreign.entries import ClientId, HistoryLine
from checkers.foreign.foreign_errors import MalformedError
from checkers.history.calls import NEVER
from checkers.history.events import EventType


@dataclass(slots=True, kw_only=True)
class Pair:
    """An operation. `invoked` and `completed` are indices in the order of all entries."""

    invoke: HistoryLine
    invoked: int
    complete: HistoryLine | None = None
    completed: int = NEVER


def pair(entries: Iterable[HistoryLine]) -> list[Pair]:
    """In the order of invocation; an operation without completion ran when the history ended.

    Raises MalformedError if the lines cannot be those of processes that do one thing at a time and
    end with their first `info`.
    """
    pairs: list[Pair] = []
    last: dict[ClientId, Pair] = {}  # by process
    for place, entry in enumerate(entries):
        before = last.get(entry.process)
        if entry.type is EventType.INVOKE:
            _require_free(entry, before)
            last[entry.process] = Pair(invoke=entry, invoked=place)
            pairs.append(last[entry.process])
        else:
            _complete(_require_open(entry, before), entry, place)
    return pairs


def _require_free(entry: HistoryLine, before: Pair | None) -> None:
    if before is None:
        return
    who = f"process {entry.process}"
    if before.complete is None:
        raise MalformedError(
            entry.line,
            f"{who} to complete what it invoked on line {before.invoke.line}",
            "another invocation",
        )
    if before.complete.type is EventType.INFO:
        raise MalformedError(
            entry.line,
            f"nothing of {who} after its info on line {before.complete.line}",
            "an invocation (what crashed goes on under a new number)",
        )


def _require_open(entry: HistoryLine, before: Pair | None) -> Pair:
    if before is None or before.complete is not None:
        raise MalformedError(
            entry.line,
            f"an invocation by process {entry.process} first",
            f"its {entry.type.value} of nothing that is open",
        )
    f = before.invoke.f
    if entry.f is not None and f is not None and entry.f != f:
        raise MalformedError(
            entry.line,
            f"the completion of {f} that process {entry.process} invoked on line "
            f"{before.invoke.line}",
            f"one of {entry.f}",
        )
    return before


def _complete(pair: Pair, entry: HistoryLine, place: int) -> None:
    pair.complete = entry
    if entry.type is not EventType.INFO:
        pair.completed = place
