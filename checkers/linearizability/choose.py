"""Choose the algorithm for each key by looking at the history, and decide.

Where the values of a key are unique, zones and blocks in one pass over all such keys; otherwise
the just-in-time frontier, key by key. Maps are taken apart by keys as well, and searched by a
table of the states somebody observed; several registers that one call may touch are one object.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from checkers.history.calls import Calls, Model
from checkers.linearizability.blocks import FINE, REPEATED, Blocks, blocks
from checkers.linearizability.decision import (
    Budget,
    Decision,
    KeyDecision,
    Witness,
)
from checkers.linearizability.ladder import Settled, settle
from checkers.linearizability.split import Order, problem, recorded_order, split
from checkers.linearizability.tables import Object, TooLarge, cell, registers
from checkers.linearizability.witness import contradiction, witness
from checkers.verdict import Verdict

ZONES = "zones"
REGISTERS = (Model.REGISTER, Model.CAS_REGISTER)


class _Search:
    """Decides objects one after the other out of one budget."""

    def __init__(self, calls: Calls, budget: Budget, explain: bool) -> None:
        self.calls = calls
        self.budget = budget
        self.explain = explain
        self.work = 0
        self.keys: list[KeyDecision] = []
        self.witness: Witness | None = None

    def settle(self, found: Object | TooLarge) -> None:
        if isinstance(found, TooLarge):
            why = f"{found.why}: more than the budget's {self.budget.states:,} states"
            self.keys.append(_unknown(found.name, "none", len(found.rows), 0, why))
            return
        settled = settle(found.problem, self.budget, self.work, found.first_state)
        self.work += settled.work
        if settled.verdict is Verdict.INVALID and self.explain and self.witness is None:
            self.witness = witness(self.calls, found, settled.work, _since_quiet(found, settled))
        self.keys.append(_decided(found, settled, self.budget))


def _since_quiet(found: Object, settled: Settled) -> list[int]:
    """What began after the object was last at rest, as long as it held its first value then."""
    end = settled.end
    if end.quiet < 0 or end.quiet_state != found.first_state:
        return list(range(len(found.rows)))
    begun = found.problem.event[end.quiet + 1 :]
    since: list[int] = np.unique(begun >> 1).tolist()
    return since


def _decided(found: Object, settled: Settled, budget: Budget) -> KeyDecision:
    why = ""
    if settled.verdict is Verdict.UNKNOWN:
        why = f"not decided within {budget} ({settled.peak:,} configurations at the peak)"
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
    search = _Search(calls, budget, explain)
    if calls.model in REGISTERS:
        found = blocks(calls, order)
        search.keys += _by_zones(calls, found)
        for each in _objects(calls, order, found.status == REPEATED):
            search.settle(each)
        accused = np.flatnonzero(found.status > REPEATED)[:1]
        for key in accused.tolist() if explain else ():
            search.witness = _of_blocks(calls, order, found, key)
    elif calls.model is Model.KV:
        for key, rows in enumerate(_rows_by_key(calls)):
            search.settle(cell(calls, key, rows, order.at, budget))
    elif calls.model is Model.MULTI_REGISTER:
        search.settle(registers(calls, order.at, budget))
    else:
        raise ValueError(f"linearizability is not how a {calls.model.value} is judged")
    return _summary(calls, search)


def _by_zones(calls: Calls, found: Blocks) -> Iterator[KeyDecision]:
    if not (found.status != REPEATED).any():
        return
    count = np.bincount(calls.key, minlength=len(calls.keys)).tolist()
    for key, status in enumerate(found.status.tolist()):
        if status != REPEATED:
            valid = status == FINE
            yield KeyDecision(
                key=calls.keys[key],
                verdict=Verdict.VALID if valid else Verdict.INVALID,
                algorithm=ZONES,
                operations=count[key],
                work=0,
                why="" if valid else "no order explains it",
            )


def _objects(calls: Calls, order: Order, wanted: NDArray[np.bool_]) -> Iterator[Object]:
    """Registers as objects to be searched."""
    if not wanted.any():
        return
    problems = split(calls, order.at, wanted)
    for key in np.flatnonzero(wanted).tolist():
        rows = problems.row[problems.op_from[key] : problems.op_from[key + 1]]
        yield Object(calls.keys[key], rows, problem(problems, key), 0, ())


def _rows_by_key(calls: Calls) -> list[NDArray[np.int32]]:
    by_key = np.argsort(calls.key, kind="stable").astype(np.int32)
    count = np.bincount(calls.key, minlength=len(calls.keys))
    return np.split(by_key, np.cumsum(count)[:-1])


def _of_blocks(calls: Calls, order: Order, found: Blocks, key: int) -> Witness | None:
    """The witness of a key that the sweep accused."""
    wanted = np.zeros(len(calls.keys), np.bool_)
    wanted[key] = True
    (one,) = _objects(calls, order, wanted)
    return witness(calls, one, len(one.rows), contradiction(calls, found, key, one.rows))


def _summary(calls: Calls, search: _Search) -> Decision:
    verdict = max((k.verdict for k in search.keys), key=lambda v: v.value, default=Verdict.UNKNOWN)
    judged = [key for key in search.keys if key.verdict is verdict]
    message = f"{len(calls):,} calls on {len(search.keys):,} keys are linearizable"
    if verdict is not Verdict.VALID:
        message = f"{judged[0].key}: {judged[0].why}" if judged else "there is nothing to judge"
    if search.witness is not None:
        message = f"{search.witness.key}: {search.witness.why}"
    return Decision(
        model=calls.model,
        verdict=verdict,
        algorithm=" + ".join(dict.fromkeys(key.algorithm for key in search.keys)),
        message=message,
        operations=len(calls),
        work=search.work,
        budget=search.budget,
        keys=search.keys,
        witness=search.witness,
    )
