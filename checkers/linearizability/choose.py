"""Choose the algorithm for each key by looking at the history, and decide.

Where the values of a key are unique, zones and blocks in one pass over all such keys; otherwise
the just-in-time frontier, key by key. Maps are taken apart by keys as well, and searched by a
table of the states somebody observed; several registers that one call may touch are one object.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from checkers.counted import counted
from checkers.history.calls import NIL, Calls, Model
from checkers.linearizability.blocks import FINE, REPEATED
from checkers.linearizability.counters import counter
from checkers.linearizability.deadlines import EXACT, lives
from checkers.linearizability.decision import (
    DEFAULT,
    Budget,
    Decision,
    KeyDecision,
    Witness,
)
from checkers.linearizability.frontier import DIED, SURVIVED, search
from checkers.linearizability.ladder import FIRST, WIDE, Settled, settle
from checkers.linearizability.leaving_out import shrink
from checkers.linearizability.looks import looks_of
from checkers.linearizability.parts import Means
from checkers.linearizability.quick import quick, swept
from checkers.linearizability.split import Order, problem, recorded_order, split
from checkers.linearizability.state_tables import SearchedObject, TooLarge, cell, registers
from checkers.linearizability.violation import contradiction, witness
from checkers.verdict import Verdict

ZONES = "zones"
LEAST = 10_000  # steps for each key, even where the budget is spent
FIRST_OF = 4  # the share of the budget for the first short search of all keys
REGISTERS = (Model.REGISTER, Model.CAS_REGISTER, Model.MUTEX)


class _Search:
    """Decides objects one after the other out of one budget."""

    def __init__(self, calls: Calls, budget: Budget, explain: bool) -> None:
        self.calls = calls
        self.budget = budget
        self.explain = explain
        self.work = 0
        self.keys: list[KeyDecision] = []
        self.witness: Witness | None = None
        self.witness_seconds = 0.0

    def settle(self, found: SearchedObject | TooLarge, left: int) -> None:
        """Decide one of so many that are left: an equal share of what may be spent on them.

        However much the others took, enough remains for what is easy.
        """
        if isinstance(found, TooLarge):
            why = f"{found.why}: more than the budget's {counted(self.budget.states, 'state')}"
            self.keys.append(_unknown(found.name, "none", len(found.rows), 0, why))
            return
        settled = settle(found.problem, self._share(left), found.first_state)
        self.work += settled.work
        if settled.verdict is Verdict.INVALID and self.explain and self.witness is None:
            self.look_for_witness(found, settled, ())
        self.keys.append(_decided(found, settled, self.budget))

    def look_for_witness(
        self, found: SearchedObject, settled: Settled | None, likely: Sequence[int]
    ) -> None:
        """See `violation.witness`."""
        began = time.perf_counter()
        self.witness = witness(self.calls, found, settled, likely)
        self.witness_seconds += time.perf_counter() - began

    def _share(self, left: int) -> Budget:
        return replace(self.budget, work=max(LEAST, (self.budget.work - self.work) // left))


def _decided(found: SearchedObject, settled: Settled, budget: Budget) -> KeyDecision:
    why = ""
    if settled.verdict is Verdict.UNKNOWN:
        why = f"not decided within {budget} ({counted(settled.peak, 'configuration')} at the peak)"
    elif settled.verdict is Verdict.INVALID:
        why = "no order explains it"
    return KeyDecision(
        key=found.name,
        verdict=settled.verdict,
        algorithm=settled.algorithm,
        operations=len(found.rows),
        work=settled.work,
        why=why,
    )


def _unknown(name: str, algorithm: str, operations: int, work: int, why: str) -> KeyDecision:
    return KeyDecision(
        key=name,
        verdict=Verdict.UNKNOWN,
        algorithm=algorithm,
        operations=operations,
        work=work,
        why=why,
    )


def decide(calls: Calls, budget: Budget, explain: bool) -> Decision:
    """See `checkers.linearizability.decide`."""
    order = recorded_order(calls)
    judged = _Search(calls, budget, explain)
    if calls.model in REGISTERS:
        _registers(judged, calls, order)
    elif calls.model is Model.KV:
        for key, rows in enumerate(_rows_by_key(calls)):
            judged.settle(cell(calls, key, rows, order.at, budget), len(calls.keys) - key)
    elif calls.model is Model.COUNTER:
        for key, rows in enumerate(_rows_by_key(calls)):
            judged.settle(counter(calls, key, rows, order.at, budget), len(calls.keys) - key)
    elif calls.model is Model.MULTI_REGISTER:
        judged.settle(registers(calls, order.at, budget), 1)
    else:
        raise ValueError(f"linearizability is not how a {calls.model.value} is judged")
    return _summary(calls, judged)


def _registers(judged: _Search, calls: Calls, order: Order) -> None:
    """The sweep and a short search for all keys; the ladder for what these leave."""
    limit = max(LEAST, judged.budget.work // (FIRST_OF * len(calls.keys) + 1))
    left: list[int] = []
    accused = died = -1
    for key, found in enumerate(quick(calls, order, limit)):
        name, operations = calls.keys[key], found.operations
        judged.work += found.work
        if found.status != REPEATED:
            judged.keys.append(_settled(name, ZONES, found.status == FINE, operations, 0))
            accused = key if found.status != FINE and accused < 0 else accused
        elif found.ended in (SURVIVED, DIED):
            valid = found.ended == SURVIVED
            judged.keys.append(_settled(name, FIRST.name, valid, operations, found.work))
            died = key if not valid and died < 0 else died
        else:
            left.append(key)
    for number, each in enumerate(_objects(calls, order, left)):
        judged.settle(each, len(left) - number)
    if judged.explain and judged.witness is None and died >= 0:
        (one,) = _objects(calls, order, [died])
        judged.look_for_witness(one, None, ())
    if judged.explain and judged.witness is None and accused >= 0:
        (one,) = _objects(calls, order, [accused])
        likely = contradiction(calls, swept(calls, order), accused, one.rows)
        judged.look_for_witness(one, None, likely)


def _settled(key: str, algorithm: str, valid: bool, operations: int, work: int) -> KeyDecision:
    return KeyDecision(
        key=key,
        verdict=Verdict.VALID if valid else Verdict.INVALID,
        algorithm=algorithm,
        operations=operations,
        work=work,
        why="" if valid else "no order explains it",
    )


def _objects(calls: Calls, order: Order, keys: list[int]) -> Iterator[SearchedObject]:
    """Registers as objects to be searched."""
    if not keys:
        return
    wanted = np.zeros(len(calls.keys), np.bool_)
    wanted[keys] = True
    problems = split(calls, order.at, wanted)
    for key in keys:
        rows = problems.row[problems.op_from[key] : problems.op_from[key + 1]]
        yield SearchedObject(calls.keys[key], rows, problem(problems, key), 0, ())


def _rows_by_key(calls: Calls) -> list[NDArray[np.int32]]:
    by_key = np.argsort(calls.key, kind="stable").astype(np.int32)
    count = np.bincount(calls.key, minlength=len(calls.keys))
    return np.split(by_key, np.cumsum(count)[:-1])


def _summary(calls: Calls, judged: _Search) -> Decision:
    worst = max(judged.keys, key=lambda key: key.verdict.value, default=_NOTHING)
    if worst.verdict is Verdict.VALID:
        message = (
            f"{counted(len(calls), 'call')} on {counted(len(judged.keys), 'key')} are linearizable"
        )
    elif judged.witness is not None:
        message = f"{judged.witness.key}: {judged.witness.why}"
    else:
        message = f"{worst.key}: {worst.why}"
    return Decision(
        model=calls.model,
        verdict=worst.verdict,
        algorithm=" + ".join(dict.fromkeys([key.algorithm for key in judged.keys])),
        message=message,
        operations=len(calls),
        work=judged.work,
        budget=judged.budget,
        keys=judged.keys,
        witness=judged.witness,
        witness_seconds=judged.witness_seconds,
    )


_NOTHING = KeyDecision(
    key="no key",
    verdict=Verdict.UNKNOWN,
    algorithm="none",
    operations=0,
    work=0,
    why="there is nothing to judge",
)


def warm() -> None:
    """Decide one read of nothing, search it and look for less of it, with the types that every
    history has."""
    none, zero = np.array([NIL], np.int32), np.zeros(1, np.int32)
    calls = Calls(
        model=Model.REGISTER,
        process=zero,
        outcome=zero.astype(np.int8),
        invoke=np.zeros(1, np.int64),
        complete=np.ones(1, np.int64),
        line=zero,
        step_from=np.arange(2, dtype=np.int32),
        kind=zero.astype(np.int8),
        key=zero,
        value=none,
        expected=none,
        keys=["r"],
        values=[],
    )
    decide(calls, DEFAULT, explain=False)
    (one,) = _objects(calls, recorded_order(calls), [0])
    for words in (1, WIDE):
        search(one.problem, lives(one.problem, EXACT), words=words, room=1, limit=1)
        looks = looks_of(calls, one.rows, one.problem)
        shrink(one.problem, looks, 0, Means(EXACT, 1, 1), words, [0])
