"""Sets, queues, counters, mutexes, lists by exhaustive search: each order that real time allows.

An operation here is one line of what a history says; `linearizable` tries each that nothing has to
come before, again and again, over the states of a simple model. `random_history` draws small
histories: run on the model itself, and then perhaps damaged.
"""

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

State = Hashable
# The states after an operation that told this (None: it told nothing); none where it is impossible.
Model = Callable[[State, str, Any, Any, bool], list[State]]


@dataclass(frozen=True, kw_only=True)
class Did:
    """`told` is what came back of one that succeeded. `begin` and `end` are moments, all different;
    `outcome` is ok, fail or info."""

    f: str
    given: Any
    told: Any
    begin: int
    end: int
    outcome: str


def linearizable(model: Model, initial: State, history: Sequence[Did]) -> bool:
    """Each that succeeded takes effect once between its moments, what is unknown once or never."""
    happened = [one for one in history if one.outcome != "fail"]
    sure = sum(1 << at for at, one in enumerate(happened) if one.outcome == "ok")
    seen: set[tuple[int, State]] = set()
    stack = [(0, initial)]
    while stack:
        done, state = stack.pop()
        if (done, state) in seen:
            continue
        seen.add((done, state))
        if done & sure == sure:
            return True
        left = [at for at in range(len(happened)) if not done >> at & 1]
        first = min(happened[at].end for at in left if happened[at].outcome == "ok")
        for at in left:
            one = happened[at]
            if one.begin < first:
                after = model(state, one.f, one.given, one.told, one.outcome == "ok")
                stack += [(done | 1 << at, each) for each in after]
    return False


def grow_only_set(state: Any, f: str, given: Any, told: Any, known: bool) -> list[State]:
    if f == "add":
        return [state | {given}]
    return [state] if not known or told == state else []


def counter(state: Any, f: str, given: Any, told: Any, known: bool) -> list[State]:
    if f == "add":
        return [state + given]
    return [state] if not known or told == state else []


def mutex(state: Any, f: str, given: Any, told: Any, known: bool) -> list[State]:
    del given, told, known
    return [not state] if state == (f == "release") else []


def fifo(state: Any, f: str, given: Any, told: Any, known: bool) -> list[State]:
    if f == "enqueue":
        return [(*state, given)]
    if f == "drain":
        if not known:
            return [state[taken:] for taken in range(len(state) + 1)]
        return [state[len(told) :]] if state[: len(told)] == tuple(told) else []
    if not known:
        return [state[1:] if state else state]
    if told is None:
        return [] if state else [state]
    return [state[1:]] if state and state[0] == told else []


def bag(state: Any, f: str, given: Any, told: Any, known: bool) -> list[State]:
    if f == "enqueue":
        return [tuple(sorted((*state, given)))]
    if f == "drain":
        if not known:
            subsets = [state]
            for one in state:
                subsets += [_without(each, one) for each in subsets if one in each]
            return list(dict.fromkeys(subsets))
        for one in told:
            if one not in state:
                return []
            state = _without(state, one)
        return [state]
    if not known:
        return [_without(state, one) for one in state] or [state]
    if told is None:
        return [] if state else [state]
    return [_without(state, told)] if told in state else []


def _without(state: tuple[Any, ...], one: Any) -> tuple[Any, ...]:
    at = state.index(one)
    return state[:at] + state[at + 1 :]


def lists(state: Any, f: str, given: Any, told: Any, known: bool) -> list[State]:
    """Transactions of [append k v] and [r k list]; a state has the lists by key, as pairs."""
    del f
    now = dict(state)
    for name, key, value in told if known else given:
        if name == "append":
            now[key] = (*now.get(key, ()), value)
        elif known and now.get(key, ()) != tuple(value or ()):
            return []
    return [tuple(sorted(now.items()))]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What to draw: the next operation of each kind of object, and what it tells in a state."""

    initial: State
    ask: Callable[[random.Random, int], tuple[str, Any]]
    do: Callable[[random.Random, Any, str, Any], tuple[State, Any] | None]
    damage: Callable[[random.Random, Did], Did]


def random_history(rng: random.Random, shape: Shape, *, most: int = 7) -> list[Did]:
    """Operations that overlap, run in an order that real time allows, then perhaps damaged."""
    size, moments, state = rng.randint(1, most), 0, shape.initial
    opened: list[tuple[str, Any, int]] = []
    applied: list[tuple[str, Any, int, Any]] = []
    done: list[Did] = []
    asked = 0
    while asked < size or opened or applied:
        moments += 1
        choice = rng.random()
        if asked < size and choice < 0.4:
            opened.append((*shape.ask(rng, asked), moments))
            asked += 1
        elif opened and choice < 0.75:
            f, given, begin = opened.pop(rng.randrange(len(opened)))
            after = shape.do(rng, state, f, given)
            if after is None or rng.random() < 0.08:
                done.append(_untold(f, given, begin, moments, "fail"))
            elif rng.random() < 0.06:
                done.append(_untold(f, given, begin, 10**9, "info"))
            else:
                state, told = after
                applied.append((f, given, begin, told))
        elif applied:
            f, given, begin, told = applied.pop(rng.randrange(len(applied)))
            info = rng.random() < 0.12
            done.append(
                Did(
                    f=f,
                    given=given,
                    told=None if info else told,
                    begin=begin,
                    end=10**9 if info else moments,
                    outcome="info" if info else "ok",
                )
            )
    if rng.random() < 0.6:
        at = rng.randrange(len(done))
        done[at] = shape.damage(rng, done[at])
    if rng.random() < 0.3:
        done = _shifted(rng, done)
    return sorted(done, key=lambda one: one.begin)


def _untold(f: str, given: Any, begin: int, end: int, outcome: str) -> Did:
    return Did(f=f, given=given, told=None, begin=begin, end=end, outcome=outcome)


def _shifted(rng: random.Random, done: list[Did]) -> list[Did]:
    """One operation at another time: real time may contradict what it told."""
    at = rng.randrange(len(done))
    ends = [one.end for one in done if one.end < 10**9]
    last = max(ends, default=1)
    begin = rng.randint(0, last) + 0.25
    end = begin + rng.randint(0, 3) + 0.5
    one = done[at]
    moved = replace(one, begin=begin, end=end if one.outcome != "info" else one.end)  # type: ignore[arg-type]
    shifted = [*done[:at], moved, *done[at + 1 :]]
    moments = sorted({each for one in shifted for each in (one.begin, one.end) if each < 10**9})
    place = {moment: number for number, moment in enumerate(moments)}
    return [
        replace(one, begin=place[one.begin], end=place.get(one.end, one.end)) for one in shifted
    ]
