"""Transactions over many registers: more states than any table has, found as they are met."""

import random
from dataclasses import replace

import numpy as np
import pytest

from checkers.history.calls import NEVER, NIL, Calls, Model, Outcome, Step
from checkers.linearizability import Budget, decide
from checkers.linearizability.several_registers import Touch, components
from checkers.verdict import Verdict
from tests.support.witnesses import window

Steps = list[tuple[Step, int, int]]  # kind, register, value


def history(*calls: tuple[int, int, Steps]) -> Calls:
    """Invocation, completion and steps of each; values are numbers below 1,000."""
    steps = [step for _, _, done in calls for step in done]
    complete = np.array([end for _, end, _ in calls], np.int64)
    registers = 1 + max(register for _, register, _ in steps)
    return Calls(
        model=Model.MULTI_REGISTER,
        process=np.arange(len(calls), dtype=np.int32),
        outcome=np.where(complete == NEVER, Outcome.INFO, Outcome.OK).astype(np.int8),
        invoke=np.array([begin for begin, _, _ in calls], np.int64),
        complete=complete,
        line=np.zeros(len(calls), np.int32),
        step_from=np.cumsum([0, *(len(done) for _, _, done in calls)]).astype(np.int32),
        kind=np.array([kind for kind, _, _ in steps], np.int8),
        key=np.array([register for _, register, _ in steps], np.int32),
        value=np.array([value for _, _, value in steps], np.int32),
        expected=np.full(len(steps), NIL, np.int32),
        keys=[f"r{register}" for register in range(registers)],
        values=[str(value) for value in range(1000)],
    )


def serial(registers: int, calls: int, seed: int) -> list[tuple[int, int, Steps]]:
    """One after the other; each writes one register anew, and reads and writes others."""
    rng, held, made = random.Random(seed), [NIL] * registers, []
    for number in range(calls):
        steps: Steps = []
        for register in rng.sample(range(registers), min(3, registers)):
            if rng.random() < 0.5:
                held[register] = number
                steps.append((Step.WRITE, register, number))
            else:
                steps.append((Step.READ, register, held[register]))
        made.append((2 * number, 2 * number + 1, steps))
    return made


@pytest.mark.parametrize("registers", [3, 17, 63, 64, 65, 300])
def test_a_serial_history_of_many_registers_is_valid_and_one_stale_read_is_not(
    registers: int,
) -> None:
    made = serial(registers, 3 * registers, registers)
    sound = decide(history(*made))
    assert sound.verdict is Verdict.VALID, sound.message
    written = [step for _, _, done in made for step in done if step[0] is Step.WRITE]
    twice = {r for r in range(registers) if sum(step[1] == r for step in written) > 1}
    stale = next(step for step in written if step[1] in twice)
    end = 2 * len(made)
    # Beside a read that is right, of a register that others join to it.
    bad = history(*made, (end, end + 1, [(Step.READ, stale[1], stale[2])]))
    decision = decide(bad)
    assert decision.verdict is Verdict.INVALID
    assert decision.witness is not None
    assert decide(window(bad, decision.witness)).verdict is Verdict.INVALID


def joined_only(registers: int) -> list[tuple[int, int, Steps]]:
    """Each register by itself is sound; two readers disagree on which of two writes was first."""
    one, other = registers - 2, registers - 1
    made = serial(registers, 2 * registers, 5)
    end = 2 * len(made)
    return [
        *made,
        (end, end + 9, [(Step.WRITE, one, 901)]),
        (end + 1, end + 10, [(Step.WRITE, other, 902)]),
        (end + 2, end + 11, [(Step.READ, one, 901), (Step.READ, other, held(made, other))]),
        (end + 3, end + 12, [(Step.READ, one, held(made, one)), (Step.READ, other, 902)]),
    ]


def held(made: list[tuple[int, int, Steps]], register: int) -> int:
    written = [s[2] for _, _, done in made for s in done if s[0] is Step.WRITE and s[1] == register]
    return written[-1] if written else NIL


@pytest.mark.parametrize("registers", [4, 30, 120])
def test_what_no_register_shows_by_itself_is_found_over_all(registers: int) -> None:
    calls = history(*joined_only(registers))
    decision = decide(calls)
    assert decision.verdict is Verdict.INVALID
    assert decision.witness is not None
    assert len(decision.witness.calls) <= 20
    assert any(f"r{registers - 1}=" in line for line in decision.witness.before)
    assert decide(window(calls, decision.witness)).verdict is Verdict.INVALID
    without = history(*joined_only(registers)[:-1])
    assert decide(without).verdict is Verdict.VALID


def test_many_registers_of_one_process_are_registers_by_themselves() -> None:
    """As many states as 17 registers of two values have are not looked at."""
    made = [
        (2 * n, 2 * n + 1, [(Step.WRITE if n % 2 == 0 else Step.READ, n // 2, 1)])
        for n in range(34)
    ]
    decision = decide(history(*made), budget=Budget(states=2))
    assert decision.verdict is Verdict.VALID
    assert len(decision.keys) == 17


def test_what_nobody_wrote_is_looked_at_first() -> None:
    made = serial(40, 200, 1)
    calls = history(*made, (400, 401, [(Step.READ, 0, 999), (Step.READ, 1, held(made, 1))]))
    decision = decide(calls, budget=Budget(work=1, states=2))
    assert decision.verdict is Verdict.INVALID
    assert "that was never written" in decision.message


@pytest.mark.parametrize(
    "steps",
    [
        [(Step.WRITE, 0, 1), (Step.READ, 0, 2)],
        [(Step.READ, 0, NIL), (Step.READ, 0, 1)],
        [(Step.READ, 1, NIL), (Step.WRITE, 1, 2), (Step.READ, 1, NIL)],
    ],
)
def test_a_transaction_that_contradicts_itself(steps: Steps) -> None:
    calls = history((0, 9, [(Step.WRITE, 0, 1)]), (1, 8, [(Step.WRITE, 1, 2)]), (2, 7, steps))
    decision = decide(calls)
    assert decision.verdict is Verdict.INVALID
    assert "it contradicts itself" in decision.message
    assert decision.witness is not None
    assert decision.witness.calls == (2,)


def test_states_that_nobody_is_in_any_more_are_forgotten() -> None:
    """Room for four states is enough for a serial history that goes through hundreds."""
    made = serial(30, 300, 2)
    assert decide(history(*made), budget=Budget(states=4)).verdict is Verdict.VALID


def test_too_many_states_at_one_moment_are_named() -> None:
    beside = [(n, 100 + n, [(Step.WRITE, n % 4, n), (Step.WRITE, 4, n)]) for n in range(8)]
    last = (200, 201, [(Step.READ, 4, 3), (Step.READ, 0, 4), (Step.READ, 1, 1)])
    calls = history(*beside, last)
    decision = decide(calls, budget=Budget(states=8))
    assert decision.verdict is Verdict.UNKNOWN
    assert "it could be in more than 8 states at one moment" in decision.message
    assert decide(calls).verdict is Verdict.VALID


def test_pending_transactions_are_whole() -> None:
    torn = history(
        (0, NEVER, [(Step.WRITE, 0, 1), (Step.WRITE, 1, 1)]),
        (1, 2, [(Step.READ, 0, 1), (Step.READ, 1, NIL)]),
    )
    assert decide(torn).verdict is Verdict.INVALID
    whole = replace(torn, value=np.array([1, 1, 1, 1], np.int32))
    assert decide(whole).verdict is Verdict.VALID


def test_registers_are_joined_over_others() -> None:
    def touched(*registers: int) -> tuple[Touch, ...]:
        return tuple(Touch(register, 0, 0) for register in registers)

    found = components(7, [touched(0, 2), touched(2, 5), touched(3), touched(1, 6)])
    assert found == [[0, 2, 5], [1, 6], [3], [4]]
