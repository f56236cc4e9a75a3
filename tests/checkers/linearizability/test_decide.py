"""What is decided, by which algorithm, within which budget, and how it is explained."""

import time
from dataclasses import replace

import numpy as np
import pytest

from checkers.history.calls import ANY, NEVER, NIL, Calls, Model, Outcome, Step
from checkers.linearizability import Budget, decide, warm
from checkers.verdict import Verdict
from tests.support.long_calls import Load, long_calls
from tests.support.witnesses import window

NAMES = ("1", "2", "3", "a", "ab")
Told = tuple[Step, int, int, int, int]  # kind, value, expected, invoke, complete


def calls_of(model: Model, *told: Told) -> Calls:
    """One key; values are codes of NAMES; without a completion it is an `info`."""
    kind, value, expected, invoke, complete = np.array(told, np.int64).reshape(-1, 5).T
    count = len(told)
    return Calls(
        model=model,
        process=np.arange(count, dtype=np.int32),
        outcome=np.where(complete == NEVER, Outcome.INFO, Outcome.OK).astype(np.int8),
        invoke=invoke.copy(),
        complete=complete.copy(),
        line=np.zeros(count, np.int32),
        step_from=np.arange(count + 1, dtype=np.int32),
        kind=kind.astype(np.int8),
        key=np.zeros(count, np.int32),
        value=value.astype(np.int32),
        expected=expected.astype(np.int32),
        keys=["x"],
        values=NAMES,
    )


def write(value: int, invoke: int, complete: int = NEVER) -> Told:
    return Step.WRITE, value, NIL, invoke, complete


def read(value: int, invoke: int, complete: int) -> Told:
    return Step.READ, value, NIL, invoke, complete


def swap(expected: int, value: int, invoke: int, complete: int = NEVER) -> Told:
    return Step.CAS, value, expected, invoke, complete


def refused(expected: int, invoke: int, complete: int) -> Told:
    return Step.CAS_FAILED, NIL, expected, invoke, complete


VALID: dict[str, tuple[Told, ...]] = {
    "a write hides another one": (write(0, 0, 5), write(1, 1, 4), read(1, 6, 7)),
    "the same value again": (write(0, 0, 1), write(1, 2, 3), write(0, 4, 5), read(0, 6, 7)),
    "a hidden write is the last one after all": (
        write(0, 0, 9),
        write(1, 1, 4),
        read(1, 5, 6),
        read(0, 10, 11),
    ),
    "a chain of swaps": (write(0, 0, 1), swap(0, 1, 2, 3), swap(1, 2, 4, 5), read(2, 6, 7)),
    "a pending swap that was seen": (write(0, 0, 1), swap(0, 1, 2), read(1, 6, 7)),
    "a refusal beside a swap": (write(0, 0, 1), swap(0, 1, 2, 5), refused(0, 3, 4)),
    "a read that told nothing": (write(0, 0, 1), read(ANY, 2, 3)),
}
INVALID: dict[str, tuple[Told, ...]] = {
    "an old value": (write(0, 0, 1), write(1, 2, 3), write(0, 4, 5), read(1, 6, 7)),
    "one value swapped twice": (write(0, 0, 1), swap(0, 1, 2, 3), swap(0, 2, 4, 5)),
    "a swap of what nobody wrote": (swap(2, 1, 0, 1),),
    "swaps in a circle": (write(2, 0, 1), swap(0, 1, 2, 5), swap(1, 0, 3, 4)),
    "a refusal by the value that was there": (write(0, 0, 1), refused(0, 2, 3), read(0, 4, 5)),
    "a read inside a chain, too late": (write(0, 0, 1), swap(0, 1, 2, 3), read(0, 4, 5)),
    "nothing again": (write(0, 0, 1), read(NIL, 2, 3)),
}


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    warm()


@pytest.mark.parametrize("name", VALID)
def test_valid(name: str) -> None:
    decision = decide(calls_of(Model.CAS_REGISTER, *VALID[name]))
    assert (decision.verdict, decision.witness) == (Verdict.VALID, None)


@pytest.mark.parametrize("name", INVALID)
def test_invalid(name: str) -> None:
    calls = calls_of(Model.CAS_REGISTER, *INVALID[name])
    decision = decide(calls)
    assert decision.verdict is Verdict.INVALID
    assert decision.witness is not None
    assert decision.witness.why in decision.message
    again = decide(window(calls, decision.witness))
    assert again.verdict is Verdict.INVALID


def test_a_read_of_what_nobody_wrote_says_so() -> None:
    phantom = decide(calls_of(Model.REGISTER, write(0, 0, 1), read(1, 2, 3)))
    assert "that was never written" in phantom.message
    calls = calls_of(Model.REGISTER, write(1, 0, 1), read(1, 2, 3))
    failed = decide(replace(calls, outcome=np.array([Outcome.FAIL, 0], np.int8)))
    assert "only, and that had failed" in failed.message


def test_what_is_unique_is_swept_and_what_is_not_is_searched() -> None:
    unique = calls_of(Model.REGISTER, write(0, 0, 1), read(0, 2, 3))
    twice = calls_of(Model.REGISTER, write(0, 0, 1), write(0, 2, 3))
    assert decide(unique).algorithm == "zones"
    assert decide(twice).algorithm == "just-in-time frontier"


def test_appends_to_a_map() -> None:
    two = ((Step.APPEND, 3, NIL, 0, 1), (Step.APPEND, 3, NIL, 2, 3))
    assert decide(calls_of(Model.KV, *two, read(3, 4, 5))).verdict is Verdict.INVALID
    one = calls_of(Model.KV, (Step.APPEND, 3, NIL, 0, 1), read(3, 2, 3), read(4, 4, 5))
    assert decide(one).verdict is Verdict.INVALID
    assert decide(calls_of(Model.KV, *two)).verdict is Verdict.VALID


def test_several_registers_are_one_object() -> None:
    """Two calls that each see the other's write, and two that each miss it."""
    calls = calls_of(
        Model.MULTI_REGISTER, write(0, 0, 5), read(1, 1, 4), write(1, 2, 6), read(0, 3, 7)
    )
    both = replace(
        calls,
        process=calls.process[:2],
        outcome=calls.outcome[:2],
        invoke=np.array([0, 1]),
        complete=np.array([2, 3]),
        line=calls.line[:2],
        step_from=np.array([0, 2, 4], np.int32),
        key=np.array([0, 1, 1, 0], np.int32),
        keys=["x", "y"],
    )
    assert decide(both).verdict is Verdict.INVALID
    missed = replace(both, value=np.array([0, NIL, 1, 0], np.int32))
    assert decide(missed).verdict is Verdict.VALID


def test_failed_calls_are_ignored() -> None:
    calls = calls_of(Model.REGISTER, write(0, 0, 1), write(1, 2, 3), read(0, 4, 5))
    failed = replace(calls, outcome=np.array([0, Outcome.FAIL, 0], np.int8))
    assert decide(failed).verdict is Verdict.VALID


def test_sparse_event_indices_mean_the_same() -> None:
    calls = calls_of(Model.REGISTER, write(0, 0, 1), write(1, 2, 3), read(0, 4, 5))
    far = replace(calls, invoke=calls.invoke * 10**9, complete=calls.complete * 10**9)
    assert decide(far).verdict is Verdict.INVALID


@pytest.mark.parametrize("complete", [0, 2])
def test_what_is_no_history_is_refused(complete: int) -> None:
    calls = calls_of(Model.REGISTER, write(0, 0, 3), write(1, 2, 4))
    with pytest.raises(ValueError, match="not a history"):
        decide(replace(calls, complete=np.array([complete, 4])))


def test_a_log_is_judged_elsewhere() -> None:
    with pytest.raises(ValueError, match="log"):
        decide(calls_of(Model.LOG, write(0, 0, 1)))


def test_the_budget_ends_the_search_and_is_named() -> None:
    load = Load(operations=3_000, processes=60, values=5, cas=True, info=0.01)
    began = time.monotonic()
    decision = decide(long_calls(load, 1), budget=Budget(work=200_000))
    assert decision.verdict is Verdict.UNKNOWN
    assert f"{decision.keys[0].work:,} steps" in decision.message
    assert decision.work > 100_000
    assert decision.work < 2_000_000
    assert time.monotonic() - began < 30


def test_more_states_than_the_budget_has_are_unknown() -> None:
    calls = calls_of(Model.KV, (Step.APPEND, 3, NIL, 0, 1), read(3, 2, 3))
    decision = decide(calls, budget=Budget(states=1))
    assert decision.verdict is Verdict.UNKNOWN
    assert "states" in decision.message


def test_a_violation_is_not_hidden_by_a_key_that_is_not_decided() -> None:
    hard = long_calls(Load(operations=3_000, processes=60, values=5, cas=True, info=0.01), 1)
    bad = calls_of(
        Model.CAS_REGISTER, write(0, 0, 1), write(1, 2, 3), write(0, 4, 5), read(1, 6, 7)
    )
    both = _side_by_side(hard, bad)
    decision = decide(both, budget=Budget(work=200_000))
    assert {key.verdict for key in decision.keys} == {Verdict.UNKNOWN, Verdict.INVALID}
    assert decision.verdict is Verdict.INVALID
    assert decision.witness is not None
    assert decision.witness.key == "y"


def _side_by_side(one: Calls, other: Calls) -> Calls:
    """Two histories of one key each as one of two keys, the second after the first."""
    last = int(max(one.invoke.max(), one.complete[one.complete != NEVER].max())) + 1
    count = len(one) + len(other)
    return replace(
        one,
        process=np.concatenate([one.process, other.process]),
        outcome=np.concatenate([one.outcome, other.outcome]),
        invoke=np.concatenate([one.invoke, other.invoke + last]),
        complete=np.concatenate([one.complete, other.complete + last]),
        line=np.zeros(count, np.int32),
        step_from=np.arange(count + 1, dtype=np.int32),
        kind=np.concatenate([one.kind, other.kind]),
        key=np.repeat(np.array([0, 1], np.int32), [len(one), len(other)]),
        value=np.concatenate([one.value, other.value]),
        expected=np.concatenate([one.expected, other.expected]),
        keys=["x", "y"],
    )


@pytest.mark.parametrize(("values", "seed"), [(0, 3), (5, 1)])
def test_a_long_history_with_one_wrong_read_is_explained_in_few_calls(
    values: int, seed: int
) -> None:
    load = Load(operations=20_000, processes=5, values=values, cas=True, damaged=True)
    calls = long_calls(load, seed)
    decision = decide(calls)
    assert decision.verdict is Verdict.INVALID
    assert decision.witness is not None
    assert len(decision.witness.calls) <= 20
    assert decision.witness.before
