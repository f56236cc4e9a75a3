"""Sets, queues, counters and mutexes: good and bad ones, and all of them against every order."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from checkers.foreign import Declared, Judged, judge, read_history
from checkers.history.calls import Model
from checkers.verdict import Verdict
from tests.support.brute_objects import (
    Did,
    Shape,
    bag,
    counter,
    fifo,
    grow_only_set,
    linearizable,
    lists,
    mutex,
    random_history,
)

ROUNDS = 1_500


def judged(path: Path, text: str, declared: Declared | None = None) -> Judged:
    path.write_text(text)
    return judge(read_history(path, declared or Declared()))


def as_json(history: Sequence[Did]) -> str:
    """A process an operation; of a set what was read is a sorted list."""
    events = []
    for process, one in enumerate(history):
        line = {"process": process, "f": one.f, "value": one.given}
        events.append((one.begin, {**line, "type": "invoke"}))
        if one.end < 10**9:
            told = one.told if one.f in ("read", "dequeue", "drain", "txn") else one.given
            told = sorted(told) if isinstance(told, frozenset) else told
            events.append((one.end, {**line, "type": one.outcome, "value": told}))
    events.sort(key=lambda event: event[0])
    return "".join(json.dumps(event) + "\n" for _, event in events)


def _set_do(_rng: random.Random, state: Any, f: str, given: Any) -> tuple[Any, Any]:
    return (state | {given}, None) if f == "add" else (state, state)


def _set_damage(rng: random.Random, one: Did) -> Did:
    if one.f != "read" or one.outcome != "ok":
        return one
    element = rng.randint(0, 3)
    return Did(**{**_fields(one), "told": frozenset(one.told) ^ {element}})


def _fields(one: Did) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ("f", "given", "told", "begin", "end", "outcome")}


SETS = Shape(
    initial=frozenset(),
    ask=lambda rng, _: ("add", rng.randint(0, 3)) if rng.random() < 0.6 else ("read", None),
    do=_set_do,
    damage=_set_damage,
)


def _counter_do(_rng: random.Random, state: Any, f: str, given: Any) -> tuple[Any, Any]:
    return (state + given, None) if f == "add" else (state, state)


def _counter_damage(rng: random.Random, one: Did) -> Did:
    if one.f != "read" or one.outcome != "ok":
        return one
    return Did(**{**_fields(one), "told": one.told + rng.choice((-2, -1, 1, 2))})


COUNTERS = Shape(
    initial=0,
    ask=lambda rng, _: (
        ("add", rng.choice((1, 1, 2, -1, 4))) if rng.random() < 0.6 else ("read", None)
    ),
    do=_counter_do,
    damage=_counter_damage,
)

MUTEXES = Shape(
    initial=False,
    ask=lambda rng, _: (rng.choice(("acquire", "release")), None),
    do=lambda _rng, state, f, _given: (not state, None) if state == (f == "release") else None,
    damage=lambda _, one: Did(**{**_fields(one), "outcome": "ok"}) if one.end < 10**9 else one,
)


def _queue_ask(rng: random.Random, asked: int) -> tuple[str, Any]:
    choice = rng.random()
    if choice < 0.5:
        return "enqueue", asked
    return ("dequeue", None) if choice < 0.95 else ("drain", None)


def _queue_do(any_order: bool) -> Any:
    def do(rng: random.Random, state: Any, f: str, given: Any) -> tuple[Any, Any]:
        if f == "enqueue":
            return (*state, given), None
        left = list(state)
        if any_order:
            rng.shuffle(left)
        if f == "drain":
            return (), left
        return (tuple(left[1:]), left[0]) if left else ((), None)

    return do


def _queue_damage(rng: random.Random, one: Did) -> Did:
    if one.outcome != "ok" or one.f == "enqueue":
        return one
    if one.f == "drain":
        return Did(**{**_fields(one), "told": sorted(one.told, key=lambda _: rng.random())})
    return Did(**{**_fields(one), "told": rng.choice((None, rng.randint(0, 6)))})


FIFOS = Shape(initial=(), ask=_queue_ask, do=_queue_do(any_order=False), damage=_queue_damage)
BAGS = Shape(initial=(), ask=_queue_ask, do=_queue_do(any_order=True), damage=_queue_damage)


def _list_ask(rng: random.Random, asked: int) -> tuple[str, Any]:
    steps: list[list[Any]] = []
    for number in range(rng.randint(1, 3)):
        key = rng.randint(0, 1)
        appends = rng.random() < 0.5
        steps.append(["append", key, 10 * asked + number] if appends else ["r", key, None])
    return "txn", steps


def _list_do(_rng: random.Random, state: Any, _f: str, given: Any) -> tuple[Any, Any]:
    now, told = dict(state), []
    for name, key, value in given:
        if name == "append":
            now[key] = (*now.get(key, ()), value)
            told.append([name, key, value])
        else:
            told.append([name, key, list(now.get(key, ()))])
    return tuple(sorted(now.items())), told


def _list_damage(rng: random.Random, one: Did) -> Did:
    """One read of another list: shorter, with another end, in another order."""
    if one.outcome != "ok":
        return one
    told = [list(step) for step in one.told]
    for step in told:
        if step[0] == "r" and rng.random() < 0.6:
            choice = rng.randrange(3)
            if choice == 0:
                step[2] = step[2][:-1]
            elif choice == 1:
                step[2] = [*step[2], rng.randint(0, 6) * 10 + rng.randint(0, 2)]
            else:
                step[2] = rng.sample(step[2], len(step[2]))
    return Did(**{**_fields(one), "told": told})


LISTS = Shape(initial=(), ask=_list_ask, do=_list_do, damage=_list_damage)


@pytest.mark.parametrize(
    ("model", "shape", "of"),
    [
        (Model.SET, SETS, grow_only_set),
        (Model.QUEUE, FIFOS, fifo),
        (Model.QUEUE, BAGS, fifo),
        (Model.UNORDERED_QUEUE, BAGS, bag),
        (Model.LIST_APPEND, LISTS, lists),
        (Model.COUNTER, COUNTERS, counter),
        (Model.MUTEX, MUTEXES, mutex),
    ],
)
def test_as_every_order_has_it(tmp_path: Path, model: Model, shape: Shape, of: Any) -> None:
    rng = random.Random(f"objects:{model.value}:{of.__name__}")
    seen = {Verdict.VALID: 0, Verdict.INVALID: 0, Verdict.UNKNOWN: 0}
    for _ in range(ROUNDS):
        history = random_history(rng, shape)
        text = as_json(history)
        found = judged(tmp_path / "history.json", text, Declared(model=model))
        seen[found.verdict] += 1
        if found.verdict is Verdict.UNKNOWN:
            continue
        expected = linearizable(of, shape.initial, history)
        assert (found.verdict is Verdict.VALID) == expected, f"{found.message}\n{text}"
    assert min(seen[Verdict.VALID], seen[Verdict.INVALID]) > ROUNDS // 20, seen
    assert seen[Verdict.UNKNOWN] < ROUNDS // 4, seen
