"""Transactions that append to lists and read them, as Elle's list-append has them.

    {:type :invoke, :f :txn, :value [[:append :x 1] [:r :y nil]], :process 0}
    {:type :ok, :f :txn, :value [[:append :x 1] [:r :y [3 4]]], :process 0}

Each element is appended to its list once, so a read shows which transaction wrote before which.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checkers.foreign.entries import Pair
from checkers.foreign.foreign_values import (
    ABSENT,
    MalformedError,
    Value,
    excerpt,
    name_of,
    plain,
    render,
)
from checkers.history.calls import Model, Outcome
from checkers.history.events import EventType

_APPEND, _READS = "append", ("r", "read")
_OUTCOMES = {EventType.OK: Outcome.OK, EventType.FAIL: Outcome.FAIL, EventType.INFO: Outcome.INFO}

Elements = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListStep:
    """`appended` is None in a read; `held` in an append, and in a read without a result."""

    key: str
    appended: str | None = None
    held: Elements | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCall:
    pair: Pair
    outcome: Outcome
    steps: tuple[ListStep, ...]

    def __str__(self) -> str:
        said = [
            f"append {step.key} {step.appended}"
            if step.appended is not None
            else f"read {step.key} {_shortened(step.held)}"
            for step in self.steps
        ]
        return ", ".join(said)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """A history of lists, in the order of invocation."""

    model: Model
    calls: tuple[ListCall, ...]
    keys: tuple[str, ...]


def appends_to_lists(pairs: Sequence[Pair]) -> bool:
    """Whether any transaction does."""
    return any(
        isinstance(item, tuple) and len(item) == 3 and name_of(item[0]) == _APPEND
        for pair in pairs
        if isinstance(pair.invoke.value, tuple)
        for item in pair.invoke.value
    )


def read_lists(pairs: Sequence[Pair]) -> Lists:
    """Raises MalformedError at the first operation that is no such transaction."""
    calls = tuple(map(_call, pairs))
    keys = dict.fromkeys(step.key for call in calls for step in call.steps)
    return Lists(model=Model.LIST_APPEND, calls=calls, keys=tuple(keys))


def _call(pair: Pair) -> ListCall:
    complete = pair.complete
    outcome = Outcome.INFO if complete is None else _OUTCOMES[complete.type]
    asked = tuple(_steps(pair.invoke.line, pair.invoke.value, told=False))
    if complete is None or outcome is not Outcome.OK:
        return ListCall(pair=pair, outcome=outcome, steps=asked)
    done = tuple(_steps(complete.line, complete.value, told=True))
    if [(one.key, one.appended) for one in asked] != [(one.key, one.appended) for one in done]:
        expected = f"the transaction of line {pair.invoke.line}, with its reads filled in"
        raise MalformedError(complete.line, expected, excerpt(render(complete.value)))
    return ListCall(pair=pair, outcome=outcome, steps=done)


def _steps(line: int, value: Value, *, told: bool) -> Iterator[ListStep]:
    if not isinstance(value, tuple):
        found = "no value" if value is ABSENT else excerpt(render(value))
        raise MalformedError(line, "a transaction such as [[:append :x 1] [:r :y nil]]", found)
    for item in value:
        name = name_of(item[0]) if isinstance(item, tuple) and len(item) in (2, 3) else None
        assert isinstance(item, tuple) or name is None
        if name == _APPEND and isinstance(item, tuple) and len(item) == 3:
            yield ListStep(key=plain(item[1]), appended=render(item[2]))
        elif name in _READS and isinstance(item, tuple):
            held = item[2] if len(item) == 3 else ABSENT
            yield ListStep(key=plain(item[1]), held=_held(line, held) if told else None)
        else:
            expected = "appends and reads of lists, such as [:append :x 1] or [:r :x [1]]"
            raise MalformedError(line, expected, excerpt(render(item)))


def _held(line: int, value: Value) -> Elements:
    if value is None:
        return ()
    if isinstance(value, tuple):
        return tuple(map(render, value))
    found = "none" if value is ABSENT else excerpt(render(value))
    raise MalformedError(line, "the list that was read", found)


def _shortened(held: Elements | None) -> str:
    if held is None:
        return "?"
    return f"[{' '.join(held)}]" if len(held) <= 8 else f"[... {' '.join(held[-6:])}]"
