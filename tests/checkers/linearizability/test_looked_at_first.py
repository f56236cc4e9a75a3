"""What is decided without a search, and what is said of what no search decided."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from checkers.history.calls import ANY, NEVER, NIL, Calls, Model, Step
from checkers.linearizability import Budget, decide
from checkers.linearizability.choose import UNMADE
from checkers.linearizability.quick import unmade
from checkers.linearizability.split import recorded_order, split
from checkers.verdict import Verdict
from tests.checkers.linearizability.test_decide import (
    Told,
    calls_of,
    read,
    refused,
    swap,
    write,
)
from tests.support.long_calls import Load, long_calls

HARD = Load(operations=20_000, processes=60, values=5, cas=True)
TWICE = (write(0, 900, 901), write(0, 902, 903))  # values that are not unique are searched


@pytest.mark.parametrize(
    "calls",
    [
        (read(1, 0, 1),),
        (read(1, 0, 1), write(1, 2, 3), write(1, 4, 5)),
        (swap(1, 0, 0, 1),),
        (write(0, 0, 1), swap(1, 2, 2, 9), swap(3, 1, 3, 8), read(2, 4, 5)),
        (swap(1, 2, 0), swap(2, 1, 1), read(1, 2, 3)),
        (swap(0, 1, 0), read(1, 1, 2), write(0, 3, 4)),
    ],
)
def test_what_there_cannot_have_been_is_found(calls: tuple[Told, ...]) -> None:
    decision = decide(calls_of(Model.CAS_REGISTER, *calls, *TWICE), budget=Budget(work=1))
    assert decision.verdict is Verdict.INVALID
    assert decision.witness is not None
    assert strange(calls) >= 0


@pytest.mark.parametrize(
    "calls",
    [
        (read(1, 0, 3), write(1, 2, 4)),
        (swap(0, 1, 1, 9), write(0, 2, 8), read(1, 3, 4)),
        (swap(1, 2, 0), swap(0, 1, 1), write(0, 2, 3), read(2, 4, 5)),
        (swap(NIL, 1, 0), read(1, 2, 3)),
        (refused(3, 0, 1),),
    ],
)
def test_what_there_can_have_been_is_searched(calls: tuple[Told, ...]) -> None:
    decision = decide(calls_of(Model.CAS_REGISTER, *calls, *TWICE))
    assert decision.verdict is Verdict.VALID
    assert strange(calls) == -1


def strange(told: tuple[Told, ...]) -> int:
    calls = calls_of(Model.CAS_REGISTER, *told)
    problems = split(calls, recorded_order(calls).at, np.ones(1, np.bool_))
    return unmade(problems.kind, problems.start, problems.to, problems.event, 6)


def test_a_read_of_nothing_after_20_000_operations_of_60_processes() -> None:
    calls = long_calls(HARD, 1)
    end = int(calls.complete[calls.complete != NEVER].max()) + 1
    bad = with_read(calls, len(calls.values), end)
    decision = decide(bad)
    assert decision.verdict is Verdict.INVALID
    assert decision.algorithm == UNMADE
    assert decision.work < Budget().work / 2
    assert decision.witness is not None


def with_read(calls: Calls, value: int, end: int) -> Calls:
    def more(column: str, last: int) -> Any:
        before = getattr(calls, column)
        return np.append(before, np.array([last], before.dtype))

    return replace(
        calls,
        process=more("process", 9999),
        outcome=more("outcome", 0),
        invoke=more("invoke", end),
        complete=more("complete", end + 1),
        line=more("line", 0),
        step_from=more("step_from", len(calls) + 1),
        kind=more("kind", Step.READ),
        key=more("key", 0),
        value=more("value", value),
        expected=more("expected", NIL),
        values=[*calls.values, "never"],
    )


def test_a_map_that_shows_what_nobody_put_together() -> None:
    appended = [(Step.APPEND, 3, NIL, 2 * n, 2 * n + 30) for n in range(12)]
    decision = decide(calls_of(Model.KV, *appended, read(1, 90, 91)), budget=Budget(work=1))
    assert (decision.verdict, decision.algorithm) == (Verdict.INVALID, UNMADE)


@pytest.mark.parametrize("pending", [512, 2000])
def test_leaving_out_what_nobody_answered_may_be_enough(pending: int) -> None:
    calls = [write(n % 2, n) for n in range(pending)]
    calls += [write(0, 5000, 5001), read(0, 5002, 5003), write(1, 5004, 5005), read(1, 5006, 5007)]
    assert decide(calls_of(Model.REGISTER, *calls)).verdict is Verdict.VALID


def test_a_few_of_a_kind_may_be_enough() -> None:
    """More under way than there is room for, and some of them must have happened."""
    calls = [write(n % 2, n) for n in range(2000)]
    calls += [read(n % 2, 5000 + 2 * n, 5001 + 2 * n) for n in range(6)]
    assert decide(calls_of(Model.REGISTER, *calls)).verdict is Verdict.VALID


def test_more_under_way_than_there_is_room_for_is_said() -> None:
    beside = [write(n % 3, n, 3000 + n) for n in range(600)]
    decision = decide(calls_of(Model.REGISTER, *beside, read(0, 9000, 9001)))
    assert decision.verdict is Verdict.UNKNOWN
    assert decision.message == "x: more than 512 operations were under way at one moment"


def test_more_ways_than_the_budget_has_are_said() -> None:
    load = Load(operations=2_000, processes=60, values=5, cas=True, info=0.01)
    decision = decide(long_calls(load, 1), budget=Budget(configurations=4))
    assert decision.verdict is Verdict.UNKNOWN
    assert "it could be in more than 4 ways at one moment" in decision.message


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"key": [0, 1]}, "a key that does not exist"),
        ({"key": [0, -1]}, "a key that does not exist"),
        ({"value": [0, 5]}, "a value that does not exist"),
        ({"value": [ANY, 0]}, "a value that does not exist"),
        ({"value": [0, -3]}, "a value that does not exist"),
        ({"expected": [NIL, 5]}, "a value that does not exist"),
        ({"kind": [1, 5]}, "a kind of step"),
        ({"outcome": [0, 3]}, "an outcome"),
        ({"step_from": [0, 1, 3]}, "steps that belong to no call"),
        ({"step_from": [0, 2, 2]}, "steps that belong to no call"),
        ({"step_from": [0, 1]}, "steps that belong to no call"),
        ({"value": [0]}, "columns of different lengths"),
        ({"outcome": [0]}, "columns of different lengths"),
    ],
)
def test_codes_that_point_nowhere_are_refused(changed: dict[str, list[int]], said: str) -> None:
    calls = calls_of(Model.REGISTER, write(0, 0, 1), read(0, 2, 3))
    columns: dict[str, Any] = {
        name: np.array(codes, getattr(calls, name).dtype) for name, codes in changed.items()
    }
    with pytest.raises(ValueError, match=f"not a history: {said}"):
        decide(replace(calls, **columns))
    with pytest.raises(ValueError, match="an initial value"):
        decide(replace(calls, initial=5))
