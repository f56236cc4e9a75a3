"""Turns paired lines into `Calls`: what each operation did, to which key, in codes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from checkers.foreign.entries import HistoryLine, Pair, process_codes
from checkers.foreign.foreign_values import (
    ABSENT,
    EdnSet,
    MalformedError,
    Value,
    excerpt,
    plain,
    render,
)
from checkers.foreign.operations import Act, Guess, MicroOperation, micro_operations
from checkers.foreign.source import CasFailures, NilReads, Policies
from checkers.history.calls import ANY, NIL, Calls, Model, Outcome, Step
from checkers.history.events import EventType

# The two lines of an operation: its key, the request, the result.


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


_STEPS = {Act.WRITE: Step.WRITE, Act.APPEND: Step.APPEND}


@dataclass(slots=True)
class _Codes:
    """Values numbered as they are met; equal ones once."""

    by_text: dict[str, int] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)

    def of(self, value: Value, shown: str | None = None) -> int:
        text = render(value)
        code = self.by_text.get(text)
        if code is None:
            code = self.by_text[text] = len(self.shown)
            self.shown.append(text if shown is None else shown)
        return code


@dataclass(frozen=True, slots=True)
class _StepRow:
    kind: Step
    key: int
    value: int
    expected: int = NIL


@dataclass(slots=True)
class _Builder:
    guess: Guess
    policies: Policies
    texts: bool  # values are strings to be put together, not names of values
    keys: _Codes = field(default_factory=_Codes)
    values: _Codes = field(default_factory=_Codes)
    rows: list[_StepRow] = field(default_factory=list)

    def add(self, told: OperationLines) -> Outcome:
        """Append the steps of one operation; its outcome, which a policy may change."""
        match told.act:
            case Act.TXN:
                self.rows += [self._micro(told, step) for step in transaction(told)]
            case Act.READ:
                value = self._read(told, told.result)
                self.rows.append(_StepRow(Step.READ, self._key(told.key), value))
            case Act.CAS:
                return self._compare_and_set(told)
            case Act.DELETE:
                self._require_no_value(told)
                self.rows.append(_StepRow(Step.WRITE, self._key(told.key), NIL))
            case Act.WRITE | Act.APPEND:
                written = self._written(told)
                self.rows.append(_StepRow(_STEPS[told.act], self._key(told.key), written))
        return told.outcome

    def initial(self) -> int:
        value = self.policies.initial
        if not self.texts:
            return self._code(value, 0)
        return self._code("" if value is None else plain(value), 0)

    def _key(self, key: Value) -> int:
        return self.keys.of(key, plain(key))

    def _code(self, value: Value, line: int) -> int:
        if value is None:
            return NIL
        if isinstance(value, tuple | dict | EdnSet):
            # The results of reads of a set, a bank or a versioned register are judged by other
            # rules.
            expected = "a number, string, keyword or nil to be the value of a register"
            raise MalformedError(line, expected, excerpt(render(value)))
        return self.values.of(value, plain(value) if self.texts else None)

    def _read(self, told: OperationLines, value: Value) -> int:
        complete = told.pair.complete
        if complete is None or told.outcome is not Outcome.OK:
            return ANY
        if value is ABSENT:
            raise MalformedError(complete.line, "the value that was read", "none")
        if value is not None:
            return self._code(value, complete.line)
        if self.policies.nil_reads is NilReads.ANY:
            return ANY
        return self.initial() if self.texts else NIL

    def _written(self, told: OperationLines) -> int:
        if told.given is ABSENT:
            raise MalformedError(told.pair.invoke.line, f"a value to {told.act.value}", "none")
        if told.act is Act.APPEND and told.given is None:
            raise MalformedError(told.pair.invoke.line, "a string to append", "nil")
        require_same(told)
        return self._code(told.given, told.pair.invoke.line)

    def _require_no_value(self, told: OperationLines) -> None:
        if told.given is not ABSENT and told.given is not None:
            found = excerpt(render(told.given))
            raise MalformedError(told.pair.invoke.line, "a delete without a value", found)

    def _compare_and_set(self, told: OperationLines) -> Outcome:
        if not isinstance(told.given, tuple) or len(told.given) != 2:
            found = "no value" if told.given is ABSENT else excerpt(render(told.given))
            raise MalformedError(told.pair.invoke.line, "a cas of [old new]", found)
        require_same(told)
        old, new = told.given
        failed = told.outcome is Outcome.FAIL and is_same(told)
        observed = failed and self.policies.cas_failures is CasFailures.OBSERVED
        kind = Step.CAS_FAILED if observed else Step.CAS
        line = told.pair.invoke.line
        codes = self._code(new, line), self._code(old, line)
        self.rows.append(_StepRow(kind, self._key(told.key), *codes))
        return Outcome.OK if observed else told.outcome

    def _micro(self, told: OperationLines, step: MicroOperation) -> _StepRow:
        if step.act is Act.WRITE:
            written = self._code(step.value, told.pair.invoke.line)
            return _StepRow(Step.WRITE, self._key(step.key), written)
        return _StepRow(Step.READ, self._key(step.key), self._read(told, step.value))


def build(pairs: Sequence[Pair], acts: Sequence[Act], guess: Guess, policies: Policies) -> Calls:
    """Raises MalformedError if a line lacks what its operation needs."""
    told = [tell(pair, act, guess) for pair, act in zip(pairs, acts, strict=True)]
    builder = _Builder(guess=guess, policies=policies, texts=_are_texts(told, guess.model))
    initial = builder.initial()
    outcome = np.empty(len(pairs), np.int8)
    step_from = np.zeros(len(pairs) + 1, np.int32)
    for row, one in enumerate(told):
        outcome[row] = builder.add(one)
        step_from[row + 1] = len(builder.rows)
    rows = builder.rows
    process, names = process_codes([pair.invoke.process for pair in pairs])
    return Calls(
        model=guess.model,
        process=process,
        processes=names,
        outcome=outcome,
        invoke=np.array([pair.invoked for pair in pairs], np.int64),
        complete=np.array([pair.completed for pair in pairs], np.int64),
        line=_int32([pair.invoke.line for pair in pairs]),
        step_from=step_from,
        kind=np.array([row.kind for row in rows], np.int8),
        key=_int32([row.key for row in rows]),
        value=_int32([row.value for row in rows]),
        expected=_int32([row.expected for row in rows]),
        keys=builder.keys.shown,
        values=builder.values.shown,
        initial=initial,
    )


def _int32(numbers: list[int]) -> NDArray[np.int32]:
    return np.array(numbers, np.int32)


def _are_texts(told: Sequence[OperationLines], model: Model) -> bool:
    """A map of strings begins with empty ones, and an append makes longer ones of them."""
    if model is not Model.KV:
        return False
    other = next((value for one in told for value in _values(one) if not _is_text(value[1])), None)
    if other is not None and any(one.act is Act.APPEND for one in told):
        raise MalformedError(other[0], "strings, as some are appended", excerpt(render(other[1])))
    return other is None


def _values(told: OperationLines) -> Iterator[tuple[int, Value]]:
    """With their lines; the value of a fail or info is no value of the map."""
    yield told.pair.invoke.line, told.given
    if told.pair.complete is not None and told.outcome is Outcome.OK:
        yield told.pair.complete.line, told.result


def _is_text(value: Value) -> bool:
    return value is None or value is ABSENT or isinstance(value, str)
