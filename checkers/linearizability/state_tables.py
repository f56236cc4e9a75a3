"""Objects that are searched by a table of their states: maps with appends, several registers.

Of a map's cell only those states matter that somebody observed, or could have on the way to
what was observed: the prefixes of the strings that reads returned. All else is one state, dead,
which only an overwriting put leaves. Several registers that one call may touch are one object,
whose states are all combinations of their values.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Codes
from checkers.counted import counted
from checkers.history.calls import ANY, NIL, Calls, Outcome, Step
from checkers.linearizability.decision import Budget
from checkers.linearizability.split import EDGE, EQUAL, RESET, TEST, Problem

_READ, _WRITE = int(Step.READ), int(Step.WRITE)


class SearchedObject(NamedTuple):
    """Something to be decided alone: the rows of its calls, and what they are to the frontier."""

    name: str
    rows: Codes
    problem: Problem
    first_state: int
    states: Sequence[str]  # in words


class TooLarge(NamedTuple):
    """Not searched: more states than the budget allows."""

    name: str
    rows: Codes
    why: str


def cell(
    calls: Calls, key: int, rows: Codes, at: Codes, budget: Budget
) -> SearchedObject | TooLarge:
    """One key of a map: puts, appends and gets."""
    rows = _relevant(calls, rows)
    texts = [_text(calls, int(code)) for code in calls.value[rows]]
    kinds = [Step(int(kind)) for kind in calls.kind[rows]]
    if any(kind not in (Step.READ, Step.WRITE, Step.APPEND) for kind in kinds):
        raise ValueError("not a history of a map: only get, put and append are known")
    tokens = list(dict.fromkeys(t for t, k in zip(texts, kinds, strict=True) if k is Step.APPEND))
    observed = {t for t, k in zip(texts, kinds, strict=True) if k is Step.READ}
    name, first = calls.keys[key], _text(calls, calls.initial)
    if _characters(observed, tokens) > budget.cells:
        return TooLarge(name, rows, f"{counted(len(tokens), 'append')} to strings that long")
    starts = {first} | {t for t, k in zip(texts, kinds, strict=True) if k is Step.WRITE}
    known, edges = _prefixes(observed, starts, set(tokens))
    states = sorted(known | observed | {first}, key=lambda text: (len(text), text))
    cells = len(tokens) * (len(states) + 1)
    if len(states) > budget.states or cells > budget.cells:
        return TooLarge(
            name,
            rows,
            f"{counted(len(states), 'state')} and {counted(len(tokens), 'value')} appended",
        )
    code = {text: state for state, text in enumerate(states)}
    token = {text: place for place, text in enumerate(tokens)}
    dead = len(states)
    table = np.full((len(tokens), dead + 1), dead, np.int32)
    for before, appended in edges:
        table[token[appended], code[before]] = code[before + appended]
    to = [
        token[text] if kind is Step.APPEND else code.get(text, dead)
        for text, kind in zip(texts, kinds, strict=True)
    ]
    kind_of = {Step.READ: EQUAL, Step.WRITE: RESET, Step.APPEND: EDGE}
    made = Problem(
        kind=np.array([kind_of[kind] for kind in kinds], np.int8),
        start=np.zeros(len(rows), np.int32),
        to=np.array(to, np.int32),
        pending=calls.outcome[rows] != Outcome.OK,
        event=events(at, rows, len(calls)),
        states=dead + 1,
        table=table,
        dead=dead,
    )
    return SearchedObject(
        name, rows, made, code[first], [*map(repr, states), "what was never observed"]
    )


def _characters(observed: Iterable[str], tokens: Iterable[str]) -> int:
    """An upper bound of the characters in all states on the way to what was observed, roughly."""
    shortest = min(map(len, tokens), default=1)
    ordered = sorted(observed)
    pairs = zip(ordered, [*ordered[1:], ""], strict=False)
    longest = [len(text) for text, following in pairs if not following.startswith(text)]
    return sum(length * length // max(1, 2 * shortest) for length in longest)


def _relevant(calls: Calls, rows: Codes) -> Codes:
    outcome, kind, value = calls.outcome[rows], calls.kind[rows], calls.value[rows]
    untold = (kind == Step.READ) & ((outcome != Outcome.OK) | (value == ANY))
    kept: Codes = rows[(outcome != Outcome.FAIL) & ~untold]
    return kept


def _text(calls: Calls, code: int) -> str:
    """Nothing and the empty string are one thing to a map."""
    return "" if code == NIL else calls.values[code]


def _prefixes(
    observed: Iterable[str], starts: set[str], tokens: set[str]
) -> tuple[set[str], set[tuple[str, str]]]:
    """States on the way from a start to something observed, and the appends between them."""
    lengths = sorted({len(token) for token in tokens})
    known: set[str] = set()
    edges: set[tuple[str, str]] = set()
    ordered = sorted(observed)
    for number, text in enumerate(ordered):
        if any(longer.startswith(text) for longer in ordered[number + 1 : number + 2]):
            continue  # everything on the way to it lies on the way to the longer one
        reached = {len(start) for start in starts if text.startswith(start)}
        for place in range(len(text) + 1):
            if place not in reached:
                continue
            before = text[:place]
            known.add(before)
            for length in lengths:
                appended = text[place : place + length]
                if len(appended) == length and appended in tokens:
                    reached.add(place + length)
                    edges.add((before, appended))
    return known, edges


def events(at: Codes, rows: Codes, calls: int) -> Codes:
    """The events of some calls, in the recorded order, as a `Problem` has them."""
    op = np.full(calls + 1, -1, np.int32)
    op[rows] = np.arange(len(rows), dtype=np.int32)
    known = at[at >= 0]
    of = op[known >> 1]
    mine: Codes = (2 * of + (known & 1))[of >= 0].astype(np.int32)
    return mine


def registers(calls: Calls, at: Codes, budget: Budget) -> SearchedObject | TooLarge:
    """All registers as one object; a call reads and writes several of them at once."""
    rows = np.flatnonzero(calls.outcome != Outcome.FAIL).astype(np.int32)
    done = _all_steps(calls, rows)
    matters = [bool(steps) for steps in done]
    rows, done = rows[matters], [steps for steps in done if steps]
    local = _local_values(calls, done)
    radix = np.cumprod([1, *map(len, local)])
    states = int(radix[-1])
    classes = {steps: place for place, steps in enumerate(dict.fromkeys(done))}
    name = "all keys"
    if states > budget.states or states * len(classes) > budget.cells:
        return TooLarge(
            name, rows, f"{counted(states, 'state')} and {counted(len(classes), 'different call')}"
        )
    made = Problem(
        kind=np.array([EDGE if _writes(steps) else TEST for steps in done], np.int8),
        start=np.zeros(len(rows), np.int32),
        to=np.array([classes[steps] for steps in done], np.int32),
        pending=calls.outcome[rows] != Outcome.OK,
        event=events(at, rows, len(calls)),
        states=states,
        table=_table(classes, local, radix, states),
    )
    return SearchedObject(name, rows, made, 0, _Combinations(calls, local))


Steps = tuple[tuple[int, int, int], ...]  # kind, key, value


def _all_steps(calls: Calls, rows: Codes) -> list[Steps]:
    """What each call tells: all its writes, and its reads where it succeeded."""
    if not np.isin(calls.kind, (_READ, _WRITE)).all():
        raise ValueError("not a history of several registers: only reads and writes are known")
    steps = list(zip(calls.kind.tolist(), calls.key.tolist(), calls.value.tolist(), strict=True))
    begins, told = calls.step_from.tolist(), (calls.outcome == Outcome.OK).tolist()
    done = []
    for row in rows.tolist():
        all_of = steps[begins[row] : begins[row + 1]]
        known = tuple(s for s in all_of if s[0] == _WRITE or (told[row] and s[2] != ANY))
        done.append(known if told[row] or _writes(known) else ())
    return done


def _writes(steps: Steps) -> bool:
    return any(kind == _WRITE for kind, _, _ in steps)


def _local_values(calls: Calls, done: Iterable[Steps]) -> list[dict[int, int]]:
    """By key: the digit of each value; 0 is the initial one."""
    local: list[dict[int, int]] = [{calls.initial: 0} for _ in calls.keys]
    for steps in done:
        for _, key, value in steps:
            local[key].setdefault(value, len(local[key]))
    return local


def _table(
    classes: Iterable[Steps], local: Sequence[dict[int, int]], radix: NDArray[np.int64], states: int
) -> NDArray[np.int32]:
    table = []
    for steps in classes:
        state, possible = np.arange(states), np.ones(states, np.bool_)
        for kind, key, value in steps:
            digit = state // radix[key] % len(local[key])
            if kind == _READ:
                possible &= digit == local[key][value]
            else:
                state = state + (local[key][value] - digit) * radix[key]
        table.append(np.where(possible, state, -1))
    return np.array(table, np.int32).reshape(len(table), states)


class _Combinations(Sequence[str]):
    """States in words, made when they are asked for."""

    def __init__(self, calls: Calls, local: Sequence[dict[int, int]]) -> None:
        self.calls = calls
        self.values = [list(digits) for digits in local]

    def __len__(self) -> int:
        return int(np.prod([len(values) for values in self.values]))

    def __getitem__(self, state: int) -> str:  # type: ignore[override]  # nobody slices it
        said = []
        for key, values in zip(self.calls.keys, self.values, strict=True):
            state, digit = divmod(state, len(values))
            code = values[digit]
            said.append(f"{key}={'nil' if code == NIL else self.calls.values[code]}")
        return " ".join(said)
