"""Chooses the algorithm for each key by looking at the history, and decides.

If the values of a key are unique, zones and blocks in one pass over all such keys; otherwise the
just-in-time frontier, key by key; and a read of an impossible value before that gets long. Maps are
split by keys as well, and searched by a table of the observed states. For transactions over several
registers each register is judged by itself, and those that transactions join once more as one
object.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import gcd

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Codes
from checkers.history.calls import ANY, NIL, Calls, Model, Outcome, Step
from checkers.linearizability.blocks import FINE, REPEATED
from checkers.linearizability.deadlines import EXACT, lives
from checkers.linearizability.decision import DEFAULT, Budget, Decision, KeyDecision, Witness
from checkers.linearizability.frontier import DIED, SURVIVED, search
from checkers.linearizability.ladder import FIRST, WIDE, Settled, not_decided, settle
from checkers.linearizability.leaving_out import looks_of, shrink
from checkers.linearizability.parts import Means
from checkers.linearizability.quick import quick, swept
from checkers.linearizability.several_registers import (
    Projected,
    SearchedObject,
    TooLarge,
    cell,
    components,
    events,
    joined,
    name_of,
    projected,
    transactions,
)
from checkers.linearizability.split import (
    EDGE,
    EQUAL,
    Order,
    Problem,
    problem,
    recorded_order,
    split,
)
from checkers.linearizability.violation import contradiction, describe, witness
from checkers.linearizability.well_formed import require_sound
from checkers.verdict import Verdict, counted

# Counters: states are all possible sums, and a read needs one of them.
#
# Sums are counted in units of the additions' common divisor, from the least possible one. No read
# has to prove whether an addition with an unknown outcome took place: it may at any time, so all of
# them stay open to the end, and equal ones are tried once.


def counter(
    calls: Calls, key: int, rows: Codes, at: Codes, budget: Budget
) -> SearchedObject | TooLarge:
    """One counter: its additions, and the sums it was read at. Raises ValueError for other
    steps."""
    kinds = calls.kind[rows]
    if not np.isin(kinds, (Step.READ, Step.ADD)).all():
        raise ValueError("not a history of a counter: only add and read are known")
    untold = (kinds == Step.READ) & (
        (calls.outcome[rows] != Outcome.OK) | (calls.value[rows] == ANY)
    )
    rows = rows[(calls.outcome[rows] != Outcome.FAIL) & ~untold]
    first = number_of(calls, calls.initial)
    numbers = [number_of(calls, code) for code in calls.value[rows].tolist()]
    adds = (calls.kind[rows] == Step.ADD).tolist()
    added = [number for number, is_add in zip(numbers, adds, strict=True) if is_add]
    unit = gcd(*added) or 1
    low = first + sum(number for number in added if number < 0)
    states = (sum(map(abs, added)) // unit) + 2  # the last is for impossible sums
    steps = list(dict.fromkeys(added))
    name = calls.keys[key]
    if states * len(steps) > budget.cells:
        many = f"{counted(states, 'state')} of a counter and {counted(len(steps), 'addition')}"
        return TooLarge(name, rows, f"{many}: more than the {budget.cells:,} cells of a table")
    if states > budget.states:
        many = counted(states, "state")
        return TooLarge(name, rows, f"{many} of a counter: more than {budget.states:,}")
    nowhere = states - 1
    table = np.full((len(steps), states), -1, np.int32)
    for row, step in enumerate(steps):
        reached = np.arange(nowhere) + step // unit
        table[row, :nowhere] = np.where((reached >= 0) & (reached < nowhere), reached, -1)
    place = {step: row for row, step in enumerate(steps)}

    def state(number: int) -> int:
        found, rest = divmod(number - low, unit)
        return found if rest == 0 and 0 <= found < nowhere else nowhere

    to = [
        place[number] if is_add else state(number)
        for number, is_add in zip(numbers, adds, strict=True)
    ]
    made = Problem(
        kind=np.where(adds, EDGE, EQUAL).astype(np.int8),
        start=np.zeros(len(rows), np.int32),
        to=np.array(to, np.int32),
        pending=calls.outcome[rows] != Outcome.OK,
        event=events(at, rows, len(calls)),
        states=states,
        table=table,
    )
    words = [*(str(low + unit * each) for each in range(nowhere)), "an impossible sum"]
    return SearchedObject(name, rows, made, state(first), words)


def number_of(calls: Calls, code: int) -> int:
    """The number that a value of a counter is; nil is 0."""
    return 0 if code == NIL else int(calls.values[code])


ZONES = "zones"
UNMADE = "values that can be there"
_ITSELF = "it contradicts itself"
LEAST = 10_000  # steps for each key, even if the budget is spent
FIRST_OF = 4  # the share of the budget for the first short search of all keys
_AT_ONCE = 64  # the values of so many registers are compared in little time
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
        """Decide one of this many that are left: an equal share of what may be spent on them.

        However much the others took, enough remains for easy ones.
        """
        if isinstance(found, TooLarge):
            self.keys.append(_unknown(found.name, "none", len(found.rows), 0, found.why))
            return
        if found.strange >= 0:
            self.keys.append(_settled(found.name, UNMADE, False, len(found.rows), 0))
            if self.explain and self.witness is None:
                self.look_for_witness(found, None, [found.strange])
            return
        # A step compares the values of all registers.
        dearer = 1 + found.problem.met.values.shape[1] // _AT_ONCE
        settled = settle(found.problem, self._share(left * dearer), found.first_state)
        self.work += settled.work
        if settled.verdict is Verdict.INVALID and self.explain and self.witness is None:
            self.look_for_witness(found, settled, ())
        self.keys.append(_decided(found, settled))

    def look_for_witness(
        self, found: SearchedObject, settled: Settled | None, likely: Sequence[int]
    ) -> None:
        """See `violation.witness`."""
        began = time.perf_counter()
        self.witness = witness(self.calls, found, settled, likely)
        self.witness_seconds += time.perf_counter() - began

    def _share(self, left: int) -> Budget:
        return replace(self.budget, work=max(LEAST, (self.budget.work - self.work) // left))


def _decided(found: SearchedObject, settled: Settled) -> KeyDecision:
    why = ""
    if settled.verdict is Verdict.UNKNOWN:
        why = not_decided(found.problem, settled)
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
        require_sound(calls)
        for key, rows in enumerate(_rows_by_key(calls)):
            judged.settle(cell(calls, key, rows, order.at, budget), len(calls.keys) - key)
    elif calls.model is Model.COUNTER:
        require_sound(calls)
        for key, rows in enumerate(_rows_by_key(calls)):
            judged.settle(counter(calls, key, rows, order.at, budget), len(calls.keys) - key)
    elif calls.model is Model.MULTI_REGISTER:
        _transactions(judged, calls, order)
    else:
        raise ValueError(f"linearizability is not how a {calls.model.value} is judged")
    return _summary(calls, judged)


def _registers(judged: _Search, calls: Calls, order: Order, climb: Sequence[bool] = ()) -> None:
    """The sweep and a short search for all keys; the ladder for the rest, if it may climb.

    The decisions are in the order of the keys.
    """
    limit = max(LEAST, judged.budget.work // (FIRST_OF * len(calls.keys) + 1))
    left: list[int] = []
    accused = died = -1
    strange: Sequence[int] = ()
    decided: list[KeyDecision | None] = []
    for key, found in enumerate(quick(calls, order, limit)):
        name, operations = calls.keys[key], found.operations
        judged.work += found.work
        one: KeyDecision | None = None
        if found.status != REPEATED:
            one = _settled(name, ZONES, found.status == FINE, operations, 0)
            accused = key if found.status != FINE and accused < 0 else accused
        elif found.ended in (SURVIVED, DIED):
            valid = found.ended == SURVIVED
            algorithm = FIRST.name if found.strange < 0 else UNMADE
            one = _settled(name, algorithm, valid, operations, found.work)
            if not valid and died < 0:
                died, strange = key, [found.strange] if found.strange >= 0 else ()
        elif climb and not climb[key]:
            why = f"not decided within {found.work:,} steps"
            one = _unknown(name, FIRST.name, operations, found.work, why)
        else:
            left.append(key)
        decided.append(one)
    for number, each in enumerate(_objects(calls, order, left)):
        judged.settle(each, len(left) - number)
    climbed = iter(judged.keys)
    judged.keys = [one or next(climbed) for one in decided]
    if judged.explain and judged.witness is None and died >= 0:
        (found_dead,) = _objects(calls, order, [died])
        judged.look_for_witness(found_dead, None, strange)
    if judged.explain and judged.witness is None and accused >= 0:
        (found_bad,) = _objects(calls, order, [accused])
        likely = contradiction(calls, swept(calls, order), accused, found_bad.rows)
        judged.look_for_witness(found_bad, None, likely)


def _transactions(judged: _Search, calls: Calls, order: Order) -> None:
    """Each register by itself, which may prove that there is no order; then the joined ones."""
    require_sound(calls)
    told = transactions(calls)
    if told.impossible >= 0:
        _itself(judged, calls, told.impossible)
        return
    alone = projected(calls, order, told)
    groups = components(len(calls.keys), told.touches)
    apart = [False] * len(calls.keys)
    for group in groups:
        apart[group[0]] = len(group) == 1
    of_one = _Search(alone.calls, judged.budget, judged.explain)
    _registers(of_one, alone.calls, recorded_order(alone.calls), apart)
    judged.work += of_one.work
    _tell_of_transactions(judged, of_one, alone)
    for number, group in enumerate(groups):
        bad = next((key for key in group if of_one.keys[key].verdict is Verdict.INVALID), group[0])
        one = of_one.keys[bad]
        if len(group) == 1 or one.verdict is Verdict.INVALID:
            judged.keys.append(replace(one, key=name_of(calls, [bad])))
        else:
            judged.settle(joined(calls, order, told, group, judged.budget), len(groups) - number)


def _tell_of_transactions(judged: _Search, of_one: _Search, alone: Projected) -> None:
    """The witness of a register names the transactions."""
    judged.witness_seconds += of_one.witness_seconds
    if of_one.witness is not None:
        rows = tuple(alone.origin[row] for row in of_one.witness.calls)
        judged.witness = replace(of_one.witness, calls=rows)


def _itself(judged: _Search, calls: Calls, row: int) -> None:
    """A transaction that read other than what it had written or read before."""
    name = name_of(calls, sorted({int(key) for key in calls.key[_steps(calls, row)]}))
    judged.keys.append(_settled(name, UNMADE, False, 1, 0))
    why = (
        f"no order explains {describe(calls, row)} by process {calls.process_name(row)}: {_ITSELF}"
    )
    part = "no order explains its return"
    judged.witness = Witness(
        key=name, calls=(row,), parts=(part,), why=why, before=(), initial="anything"
    )


def _steps(calls: Calls, row: int) -> slice:
    return slice(int(calls.step_from[row]), int(calls.step_from[row + 1]))


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
        keys = calls.keys if calls.model is Model.MULTI_REGISTER else judged.keys
        message = f"{counted(len(calls), 'call')} on {counted(len(keys), 'key')} are linearizable"
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
    """Decide one read of nothing, search it and shrink it, with the types that every history
    has."""
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
