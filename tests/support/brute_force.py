"""Linearizability of registers by trying every order: slow, short, and independent."""

from collections.abc import Sequence
from functools import cache

from checkers.history.calls import ANY, NIL, Calls, Model, Outcome, Step
from tests.support.histories import Row

State = tuple[str | None, ...]


def brute_force(ops: Sequence[Row], *, stale_reads: bool = False) -> bool:
    """Whether the operations, a few on each key, are linearizable. A `fail` never happened.

    With `stale_reads` a read may return whatever the register held at any moment before.
    """
    keys = {str(op["key"]) for op in ops}
    return all(_one_key([op for op in ops if op["key"] == key], stale_reads) for key in keys)


def _one_key(ops: list[Row], stale_reads: bool) -> bool:
    kept = [o for o in ops if o["outcome"] == "ok" or (o["f"] != "read" and o["outcome"] == "info")]
    begin = [int(str(o["invoke_index"])) for o in kept]
    end = [int(str(o["complete_index"])) if o["outcome"] == "ok" else None for o in kept]

    @cache
    def possible(left: frozenset[int], value: object, before: frozenset[object]) -> bool:
        must = [e for i in left if (e := end[i]) is not None]
        if not must:
            return True
        for i in left:
            if begin[i] >= min(must):
                continue
            own, rest = kept[i]["value"], left - {i}
            if kept[i]["f"] != "read":
                held = before | {value} if stale_reads else before
                if possible(rest, own, held):
                    return True
            elif (own == value or own in before) and possible(rest, value, before):
                return True
        return False

    return possible(frozenset(range(len(kept))), None, frozenset())


def exhaustive(calls: Calls) -> bool:
    """Whether a small history of any model is linearizable: by trying every order.

    Objects are taken one by one, except that calls of several steps span them all.
    """
    if calls.model is Model.MULTI_REGISTER:
        return _any_order(calls, list(range(len(calls))))
    of_key = [[c for c in range(len(calls)) if calls.key[c] == k] for k in range(len(calls.keys))]
    return all(_any_order(calls, some) for some in of_key)


def _any_order(calls: Calls, rows: list[int]) -> bool:
    happened = [c for c in rows if calls.outcome[c] != Outcome.FAIL]
    begin = {c: int(calls.invoke[c]) for c in happened}
    end = {c: int(calls.complete[c]) for c in happened if calls.outcome[c] == Outcome.OK}

    @cache
    def possible(left: frozenset[int], state: State) -> bool:
        must = [end[c] for c in left if c in end]
        if not must:
            return True
        return any(
            (after := apply(calls, c, state)) is not None and possible(left - {c}, after)
            for c in left
            if begin[c] < min(must)
        )

    first = (
        "" if calls.initial == NIL and calls.model is Model.KV else value_of(calls, calls.initial)
    )
    return possible(frozenset(happened), (first,) * len(calls.keys))


def value_of(calls: Calls, code: int) -> str | None:
    return None if code == NIL else calls.values[code]


def apply(calls: Calls, call: int, state: State) -> State | None:
    """The state of all objects after a call, or None where it could not have happened so."""
    now = list(state)
    for step in range(calls.step_from[call], calls.step_from[call + 1]):
        key, kind = int(calls.key[step]), Step(int(calls.kind[step]))
        value, expected = int(calls.value[step]), value_of(calls, int(calls.expected[step]))
        # A pending read has no value; it is possible anywhere and changes nothing.
        told = value != ANY and calls.outcome[call] == Outcome.OK
        if kind is Step.READ and told and now[key] != value_of(calls, value):
            return None
        if kind is Step.CAS and now[key] != expected:
            return None
        if kind is Step.CAS_FAILED and now[key] == expected:
            return None
        if kind in (Step.WRITE, Step.CAS):
            now[key] = value_of(calls, value)
        elif kind is Step.APPEND:
            now[key] = (now[key] or "") + calls.values[value]
    return tuple(now)
