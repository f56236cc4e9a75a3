"""Objects that are searched by a table of their states: maps with appends.

Of a map's cell only the observed states matter, and those possible on the way to them: the prefixes
of the strings that reads returned. All else is one state, dead, which only an overwriting put
leaves.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from checkers.array_types import Codes
from checkers.counted import counted
from checkers.history.calls import ANY, NIL, Calls, Outcome, Step
from checkers.linearizability.decision import Budget
from checkers.linearizability.split import EDGE, EQUAL, RESET, Problem


class SearchedObject(NamedTuple):
    """An object to be decided alone: the rows of its calls, and its problem for the frontier."""

    name: str
    rows: Codes
    problem: Problem
    first_state: int
    states: Sequence[str]  # in words
    strange: int = -1  # an operation that saw an impossible state; -1: none is known


class TooLarge(NamedTuple):
    """Not searched: more than the budget allows, as `why` says."""

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
        long = f"{counted(len(tokens), 'append')} to strings of so many characters"
        return TooLarge(name, rows, f"{long}: more than the {budget.cells:,} that a table may have")
    starts = {first} | {t for t, k in zip(texts, kinds, strict=True) if k is Step.WRITE}
    known, edges = _prefixes(observed, starts, set(tokens))
    states = sorted(known | observed | {first}, key=lambda text: (len(text), text))
    many = counted(len(states), "state")
    if len(states) > budget.states:
        return TooLarge(
            name, rows, f"{many}: more than the {budget.states:,} that a table may have"
        )
    cells = len(tokens) * (len(states) + 1)
    if cells > budget.cells:
        said = f"{many} and {counted(len(tokens), 'value')} appended, a table of {cells:,} cells"
        return TooLarge(name, rows, f"{said}: more than the {budget.cells:,} it may have")
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
    words = [*map(repr, states), "a state that was never observed"]
    unmade = observed - known
    strange = next(
        (op for op, text in enumerate(texts) if kinds[op] is Step.READ and text in unmade), -1
    )
    return SearchedObject(name, rows, made, code[first], words, strange)


def _characters(observed: Iterable[str], tokens: Iterable[str]) -> int:
    """A rough upper bound of the characters in all states on the way to the observed ones."""
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
    """Nothing and the empty string are the same to a map."""
    return "" if code == NIL else calls.values[code]


def _prefixes(
    observed: Iterable[str], starts: set[str], tokens: set[str]
) -> tuple[set[str], set[tuple[str, str]]]:
    """States on the way from a start to an observed one, and the appends between them."""
    lengths = sorted({len(token) for token in tokens})
    known: set[str] = set()
    edges: set[tuple[str, str]] = set()
    ordered = sorted(observed)
    for number, text in enumerate(ordered):
        if any(longer.startswith(text) for longer in ordered[number + 1 : number + 2]):
            continue  # every state on the way to it is on the way to the longer one
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
