"""Operations of objects other than registers, each with its key apart from its value.

Sets, counters, queues and mutexes are recognised by their operations. If a file has several, they
have a `:key`, or values `[key value]`, as jepsen.independent writes them: an operation without a
value of its own then has `[key nil]`, which distinguishes such keys from pairs that are values
themselves.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checkers.foreign.entries import Pair
from checkers.foreign.foreign_values import (
    ABSENT,
    EdnSet,
    MalformedError,
    Value,
    excerpt,
    plain,
    render,
)
from checkers.history.calls import Model, Outcome
from checkers.history.events import EventType

# The operations of each kind of object.
OPERATIONS = {
    Model.SET: ("add", "read"),
    Model.COUNTER: ("add", "inc", "increment", "dec", "decrement", "read"),
    Model.MUTEX: ("acquire", "release"),
    Model.QUEUE: ("enqueue", "dequeue", "drain"),
    Model.UNORDERED_QUEUE: ("enqueue", "dequeue", "drain"),
}
_ALONE = ("inc", "increment", "dec", "decrement")
_READS = ("read", "r", "get")
_OUTCOMES = {EventType.OK: Outcome.OK, EventType.FAIL: Outcome.FAIL, EventType.INFO: Outcome.INFO}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedCall:
    """An operation. `given` is what it was asked for, `result` what a success returned; or
    ABSENT."""

    pair: Pair
    key: str
    f: str
    given: Value
    result: Value
    outcome: Outcome

    @property
    def line(self) -> int:
        """Of its completion, or else of its invocation."""
        return (self.pair.complete or self.pair.invoke).line


def model_of(pairs: Sequence[Pair], declared: Model | None) -> Model | None:
    """The kind of object of the operations, if it is one of these; else None.

    Raises MalformedError if the names alone do not decide.
    """
    if declared is not None:
        return declared if declared in OPERATIONS else None
    names = {pair.invoke.f for pair in pairs}
    if names & {"enqueue", "dequeue", "drain"}:
        return Model.QUEUE
    if names & {"acquire", "release"}:
        return Model.MUTEX
    if names & set(_ALONE):
        return Model.COUNTER
    return _set_or_counter(pairs) if "add" in names else None


def _set_or_counter(pairs: Sequence[Pair]) -> Model:
    """Decided by the values read."""
    for call in _calls(pairs):
        if call.f not in _READS or call.result in (ABSENT, None):
            continue
        if isinstance(call.result, tuple | EdnSet):
            return Model.SET
        if type(call.result) is int:
            return Model.COUNTER
    line = pairs[0].invoke.line
    raise MalformedError(line, "a read that tells a set from a counter, or --model", "none")


def keyed_calls(pairs: Sequence[Pair], model: Model) -> dict[str, list[KeyedCall]]:
    """By key, in the order of invocation. Raises MalformedError."""
    allowed = OPERATIONS[model]
    found: dict[str, list[KeyedCall]] = {}
    for call in _calls(pairs):
        f = "read" if call.f in _READS else call.f
        if f not in allowed:
            expected = f"an operation of a {model.value} ({', '.join(allowed)})"
            raise MalformedError(call.pair.invoke.line, expected, excerpt(f or "no name"))
        found.setdefault(call.key, []).append(call)
    return found


def _calls(pairs: Sequence[Pair]) -> Iterator[KeyedCall]:
    paired = _are_paired(pairs)
    for pair in pairs:
        invoke, complete = pair.invoke, pair.complete
        outcome = Outcome.INFO if complete is None else _OUTCOMES[complete.type]
        key, given = invoke.key, invoke.value
        result = complete.value if complete is not None and outcome is Outcome.OK else ABSENT
        if paired:
            assert isinstance(given, tuple)
            key, given = given
            result = _without_key(pair, key, result)
        yield KeyedCall(
            pair=pair,
            key=plain(key),
            f=invoke.f or "",
            given=given,
            result=result,
            outcome=outcome,
        )


def _are_paired(pairs: Sequence[Pair]) -> bool:
    values = [pair.invoke.value for pair in pairs]
    pairs_all = all(isinstance(value, tuple) and len(value) == 2 for value in values)
    return pairs_all and any(isinstance(value, tuple) and value[1] is None for value in values)


def _without_key(pair: Pair, key: Value, result: Value) -> Value:
    if result is ABSENT or result is None:
        return result
    if isinstance(result, tuple) and len(result) == 2 and render(result[0]) == render(key):
        return result[1]
    assert pair.complete is not None
    raise MalformedError(
        pair.complete.line, f"a value of [{plain(key)} ...]", excerpt(render(result))
    )
