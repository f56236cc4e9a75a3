"""The two lines of an operation: its key, the request, the result."""

from dataclasses import dataclass

from checkers.foreign.entries import HistoryLine
from checkers.foreign.foreign_errors import MalformedError, excerpt
from checkers.foreign.foreign_values import ABSENT, Value, plain, render
from checkers.foreign.operations import Act, Guess, MicroOperation, micro_operations
from checkers.foreign.pairs import Pair
from checkers.history.calls import Outcome
from checkers.history.events import EventType

_OUTCOMES = {EventType.OK: Outcome.OK, EventType.FAIL: Outcome.FAIL, EventType.INFO: Outcome.INFO}


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationLines:
    """The contents of an operation's lines, its key apart from its values."""

    pair: Pair
    act: Act
    outcome: Outcome
    key: Value
    given: Value
    result: Value  # ABSENT if the completion has none, or is missing


def tell(pair: Pair, act: Act, guess: Guess) -> OperationLines:
    """Raises MalformedError if the completion is of another key."""
    complete = pair.complete
    outcome = Outcome.INFO if complete is None else _OUTCOMES[complete.type]
    key, given = pair.invoke.key, pair.invoke.value
    result = complete.value if complete is not None else ABSENT
    if guess.paired:
        assert isinstance(given, tuple)
        key, given = given
        result = _without_key(complete, key, result)
    elif (
        complete is not None and complete.key is not ABSENT and render(complete.key) != render(key)
    ):
        raise MalformedError(
            complete.line, f"the key {plain(key)} of line {pair.invoke.line}", plain(complete.key)
        )
    return OperationLines(pair=pair, act=act, outcome=outcome, key=key, given=given, result=result)


def _without_key(complete: HistoryLine | None, key: Value, value: Value) -> Value:
    """The value in `[key value]`. A line of a crash or failure may carry anything, an error
    mostly."""
    if isinstance(value, tuple) and len(value) == 2 and render(value[0]) == render(key):
        return value[1]
    if complete is None or complete.type is not EventType.OK or value in (ABSENT, None):
        return ABSENT
    raise MalformedError(complete.line, f"a value of [{plain(key)} ...]", excerpt(render(value)))


def transaction(told: OperationLines) -> list[MicroOperation]:
    """The steps, as completed if they were: that is where the reads are.

    Raises MalformedError.
    """
    asked = micro_operations(told.pair.invoke)
    complete = told.pair.complete
    if told.outcome is not Outcome.OK or complete is None:
        return asked
    done = micro_operations(complete)
    for before, after in zip(asked, done, strict=False):
        written = before.act is Act.WRITE and render(before.value) != render(after.value)
        if before.act is not after.act or render(before.key) != render(after.key) or written:
            break
    else:
        if len(asked) == len(done):
            return done
    raise MalformedError(
        complete.line,
        f"the transaction of line {told.pair.invoke.line}, with its reads filled in",
        excerpt(render(complete.value)),
    )


def is_same(told: OperationLines) -> bool:
    """Whether the completion has the value of the invocation, or none."""
    return told.result in (ABSENT, None) or render(told.result) == render(told.given)


def require_same(told: OperationLines) -> None:
    """Raises MalformedError if the completion differs from the request."""
    complete = told.pair.complete
    if complete is not None and told.outcome is Outcome.OK and not is_same(told):
        raise MalformedError(
            complete.line,
            f"the value {render(told.given)} that line {told.pair.invoke.line} invoked",
            excerpt(render(told.result)),
        )
