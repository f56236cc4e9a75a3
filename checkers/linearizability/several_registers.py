"""Transactions over several registers, split as far as possible.

On each register a transaction matters by what it read there before it wrote, and by what it wrote
last. So one register by itself sees reads, writes and compare-and-sets: if these have no order, the
transactions have none (`projected`). Registers that no transaction joins, not even over others, are
objects of their own; joined ones are searched as one object, over the states that it meets
(`joined`). A transaction that contradicts itself needs no search.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from checkers.array_types import Codes
from checkers.history.calls import ANY, NEVER, NIL, Calls, Model, Outcome, Step
from checkers.linearizability.decision import Budget
from checkers.linearizability.split import EDGE, EQUAL, RESET, TEST, Order, Problem
from checkers.linearizability.states_met import NOT, StatesMet
from checkers.verdict import counted

# Objects that are searched by a table of their states: maps with appends.
#
# Of a map's cell only the observed states matter, and those possible on the way to them: the
# prefixes of the strings that reads returned. All else is one state, dead, which only an
# overwriting put leaves.


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


_NAMED = 2  # registers in the name of an object


class Touch(NamedTuple):
    """The effect of a transaction on one register; ANY if it did not read, or did not write."""

    register: int
    read: int
    write: int


class Transactions(NamedTuple):
    """Those that may have happened and those that failed; each by rising registers."""

    rows: Sequence[int]
    touches: Sequence[tuple[Touch, ...]]
    # the row of one with a read that differs from its own write or earlier read, or -1
    impossible: int


def transactions(calls: Calls) -> Transactions:
    """Raises ValueError for steps that are neither reads nor writes."""
    if not np.isin(calls.kind, (Step.READ, Step.WRITE)).all():
        raise ValueError("not a history of several registers: only reads and writes are known")
    writes = (calls.kind == Step.WRITE).tolist()
    key, value = calls.key.tolist(), calls.value.tolist()
    begins, told = calls.step_from.tolist(), (calls.outcome == Outcome.OK).tolist()
    rows, touches = list[int](), list[tuple[Touch, ...]]()
    for row in range(len(calls)):
        done: dict[int, Touch] = {}
        for step in range(begins[row], begins[row + 1]):
            register, code = key[step], value[step]
            before = done.get(register, Touch(register, ANY, ANY))
            if writes[step]:
                done[register] = before._replace(write=code)
            elif told[row] and code != ANY:
                known = before.write if before.write != ANY else before.read
                if known not in (ANY, code):
                    return Transactions(rows, touches, row)
                if known == ANY:
                    done[register] = before._replace(read=code)
        if done:
            rows.append(row)
            touches.append(tuple(sorted(done.values())))
    return Transactions(rows, touches, -1)


def components(registers: int, touches: Iterable[Sequence[Touch]]) -> list[list[int]]:
    """The registers that transactions join, directly or over others; rising."""
    parent = list(range(registers))

    def root(register: int) -> int:
        while parent[register] != register:
            parent[register] = parent[parent[register]]
            register = parent[register]
        return register

    for touched in touches:
        first = root(touched[0].register)
        for touch in touched[1:]:
            parent[root(touch.register)] = first
    found: dict[int, list[int]] = {}
    for register in range(registers):
        found.setdefault(root(register), []).append(register)
    return list(found.values())


class Projected(NamedTuple):
    """Registers alone: a call for each register that a transaction touched."""

    calls: Calls
    origin: Sequence[int]  # by call: the row of the transaction


def projected(calls: Calls, order: Order, told: Transactions) -> Projected:
    """The effect of each transaction on each register, as calls of registers with
    compare-and-set."""
    spread = max(map(len, told.touches), default=1)
    columns = [
        (row, place, *_as_step(touch))
        for row, touched in zip(told.rows, told.touches, strict=True)
        for place, touch in enumerate(touched)
    ]
    row, place, kind, key, value, expected = np.array(columns, np.int64).reshape(-1, 6).T
    complete = order.complete[row]
    single = replace(
        calls,
        model=Model.CAS_REGISTER,
        process=calls.process[row],
        outcome=calls.outcome[row],
        invoke=order.invoke[row] * spread + place,
        complete=np.where(complete == NEVER, NEVER, (complete % NEVER) * spread + place),
        line=calls.line[row],
        step_from=np.arange(len(row) + 1, dtype=np.int32),
        kind=kind.astype(np.int8),
        key=key.astype(np.int32),
        value=value.astype(np.int32),
        expected=expected.astype(np.int32),
    )
    return Projected(single, row.tolist())


def _as_step(touch: Touch) -> tuple[int, int, int, int]:
    """Kind, register, value, and what was expected."""
    if touch.write == ANY:
        return Step.READ, touch.register, touch.read, NIL
    if touch.read == ANY:
        return Step.WRITE, touch.register, touch.write, NIL
    return Step.CAS, touch.register, touch.write, touch.read


def name_of(calls: Calls, registers: Sequence[int]) -> str:
    """`x`, `x, y`, `x, y and 7 more`."""
    said = ", ".join(calls.keys[register] for register in registers[:_NAMED])
    more = len(registers) - _NAMED
    return f"{said} and {more} more" if more > 0 else said


def joined(
    calls: Calls, order: Order, told: Transactions, registers: Sequence[int], budget: Budget
) -> SearchedObject | TooLarge:
    """Registers that transactions join, as one object."""
    place_of = {register: place for place, register in enumerate(registers)}
    mine = [
        (row, touched)
        for row, touched in zip(told.rows, told.touches, strict=True)
        if touched[0].register in place_of and calls.outcome[row] != Outcome.FAIL
    ]
    rows = np.array([row for row, _ in mine], np.int32)
    name = name_of(calls, registers)
    room = min(budget.states, budget.cells // len(registers))
    if room < 2:
        return TooLarge(
            name, rows, f"a state of {counted(len(registers), 'register')} is too large"
        )
    values = [{calls.initial: 0} for _ in registers]
    kinds: dict[tuple[Touch, ...], int] = {}
    for _, touched in mine:
        kinds.setdefault(touched, len(kinds))
        for register, read, write in touched:
            known = values[place_of[register]]
            for code in (read, write):
                if code != ANY:
                    known.setdefault(code, len(known))
    met = _met(kinds, values, place_of, room)
    writing = np.array([any(touch.write != ANY for touch in each) for each in kinds], np.bool_)
    to = np.array([kinds[touched] for _, touched in mine], np.int32)
    made = Problem(
        kind=np.where(writing[to], EDGE, TEST).astype(np.int8),
        start=np.zeros(len(rows), np.int32),
        to=to,
        pending=calls.outcome[rows] != Outcome.OK,
        event=events(order.at, rows, len(calls)),
        states=sum(map(len, values)),
        met=met,
    )
    return SearchedObject(name, rows, made, 0, StatesInWords(calls, registers, values, made))


def _met(
    kinds: Iterable[Sequence[Touch]],
    values: Sequence[dict[int, int]],
    place_of: dict[int, int],
    room: int,
) -> StatesMet:
    steps = [
        (
            place_of[register],
            NOT if read == ANY else values[place_of[register]][read],
            NOT if write == ANY else values[place_of[register]][write],
        )
        for touched in kinds
        for register, read, write in touched
    ]
    register, read, write = np.array(steps, np.int32).reshape(-1, 3).T
    return StatesMet(
        step_from=np.cumsum([0, *map(len, kinds)]).astype(np.int32),
        register=register.copy(),
        read=read.copy(),
        write=write.copy(),
        thing_from=np.cumsum([0, *map(len, values)]).astype(np.int32),
        values=np.zeros((room + 1, len(values)), np.int32),
        mixed=np.zeros(room, np.uint64),
        places=np.full(1 << (2 * room - 1).bit_length(), -1, np.int32),
        moved=np.zeros(room, np.int32),
        tally=np.zeros(3, np.int64),
    )


class StatesInWords(Sequence[str]):
    """States that a search met, put into words on request."""

    def __init__(
        self,
        calls: Calls,
        registers: Sequence[int],
        values: Sequence[dict[int, int]],
        problem: Problem,
    ) -> None:
        self._calls = calls
        self._registers = registers
        self._values = values
        self._problem = problem
        self._shown: Sequence[int] = range(len(registers))

    def among(self, operations: Iterable[int]) -> "StatesInWords":
        """For the registers alone that these operations touch."""
        met, to = self._problem.met, self._problem.to
        narrow = StatesInWords(self._calls, self._registers, self._values, self._problem)
        narrow._shown = sorted(
            {
                int(register)
                for op in operations
                for register in met.register[met.step_from[to[op]] : met.step_from[to[op] + 1]]
            }
        )
        return narrow

    def __len__(self) -> int:
        return len(self._problem.met.mixed)

    def __getitem__(self, state: int) -> str:  # type: ignore[override]  # never sliced
        held = self._problem.met.values[state]
        return " ".join(self._said(place, int(held[place])) for place in self._shown)

    def _said(self, place: int, value: int) -> str:
        calls = self._calls
        code = list(self._values[place])[value]
        said = "nil" if code == NIL else calls.values[code]
        return f"{calls.keys[self._registers[place]]}={said}"
