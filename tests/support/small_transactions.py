"""Random small histories of transactions on logs, right and wrong, and their cycles by brute force.

Everything is looked at in pairs: which operation depends on which, which can reach which, and each
cycle there is. Nothing is shared with the checkers but names.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.support.logs import LogRun

if TYPE_CHECKING:
    from tests.support.histories import Row

KEYS = ("t-0", "t-1", "t-2")
LAYERS = (
    ("G1c", "", {"wr"}),
    ("G1c-realtime", "", {"wr", "rt"}),
    ("G0", "", {"ww"}),
    ("G1c", "", {"ww", "wr"}),
    ("G0-realtime", "", {"ww", "rt"}),
    ("G1c-realtime", "", {"ww", "wr", "rt"}),
    ("G2", "G-single", {"ww", "wr", "rw"}),
    ("G2-realtime", "G-single-realtime", {"ww", "wr", "rw", "rt"}),
)


@dataclass
class Transaction:
    """Places are key and offset; `told` says which of the sends were told their offset."""

    invoke: int
    complete: int
    outcome: str
    sends: list[tuple[str, int]] = field(default_factory=list)
    told: list[bool] = field(default_factory=list)
    polls: list[tuple[str, int]] = field(default_factory=list)


def random_transactions(rng: random.Random) -> list[Transaction]:
    """Up to seven, each sending and polling what it likes, whenever the others run."""
    count = rng.randint(2, 7)
    events = [number // 2 for number in range(2 * count)]
    rng.shuffle(events)
    if rng.random() < 0.3:  # one after the other, nearly
        events.sort(key=lambda number: number + rng.random())
    made = []
    for number in range(count):
        first, last = (place for place, each in enumerate(events) if each == number)
        made.append(Transaction(first, last, rng.choices(("ok", "info", "fail"), (8, 1, 1))[0]))
    if rng.random() < 0.4:
        _one_of_each(made, rng)
    else:
        _many(made, rng)
    return made


def _one_of_each(made: list[Transaction], rng: random.Random) -> None:
    """Each sends to one key and polls one record of another, which others may have overwritten."""
    ends = dict.fromkeys(KEYS, 0)
    for one in made if rng.random() < 0.5 else rng.sample(made, len(made)):
        key, other = rng.sample(KEYS, 2)
        one.sends.append((key, ends[key]))
        one.told.append(rng.random() < 0.9)
        ends[key] += 1
        if ends[other]:
            one.polls.append((other, rng.randrange(ends[other])))


def _many(made: list[Transaction], rng: random.Random) -> None:
    records, polls = rng.choice((2, 2, 4)), rng.choice((0.15, 0.3, 0.6))
    for key in KEYS:
        for offset in range(rng.randint(0, records)):
            sender = rng.choice(made)
            sender.sends.append((key, offset))
            sender.told.append(rng.random() < 0.8)
    for one in made:
        for key in KEYS:
            there = [place for each in made for place in each.sends if place[0] == key]
            if there and rng.random() < polls:
                early = sorted(there)[: rng.randint(1, len(there))]
                one.polls += rng.sample(early, rng.randint(1, min(2, len(early))))


def told_as_log(transactions: list[Transaction], rng: random.Random) -> LogRun:
    """Rows of operations are in the order of invocation; a value names its sender."""
    log = LogRun()
    rows: dict[int, Row] = {}
    events = sorted(
        [(one.invoke, number) for number, one in enumerate(transactions)]
        + [(one.complete, number) for number, one in enumerate(transactions)]
    )
    values = {
        place: number << 32 | at
        for number, one in enumerate(transactions)
        for at, place in enumerate(one.sends)
    }
    for _, number in events:
        one = transactions[number]
        if number in rows:
            log.end(rows[number], one.outcome)
            continue
        row = rows[number] = log.begin("txn", number)
        acts = [("send", at) for at in range(len(one.sends))]
        acts += [("poll", at) for at in range(len(one.polls))]
        for act, at in rng.sample(acts, len(acts)):
            if act == "send":
                key, offset = one.sends[at]
                log.sent(row, values[key, offset], offset if one.told[at] else None, key=key)
            else:
                key, offset = one.polls[at]
                log.polled(row, [(offset, values[key, offset])], key=key)
    return log


def serial_transactions(rng: random.Random, count: int) -> LogRun:
    """Several run at once, each takes effect at one moment; polls go on to the end of each key."""
    log = LogRun()
    ends = dict.fromkeys(KEYS, 0)
    values: dict[str, list[int]] = {key: [] for key in KEYS}
    positions: dict[tuple[int, str], int] = {}
    waiting: dict[int, Row] = {}
    done: dict[int, Row] = {}
    numbers = 0
    while count or waiting or done:
        process = rng.randrange(4)
        if process in done:
            log.end(done.pop(process))
        elif process in waiting:
            row = done[process] = waiting.pop(process)
            for key in rng.sample(KEYS, rng.randint(1, len(KEYS))):
                begin = positions.get((process, key), 0)
                behind = list(enumerate(values[key]))[begin:]
                log.polled(row, behind, key=key)
                positions[process, key] = len(values[key])
                if rng.random() < 0.5:
                    value, numbers = process << 32 | numbers, numbers + 1
                    log.sent(row, value, ends[key], key=key)
                    values[key].append(value)
                    ends[key] += 1
                    # It has not seen its own record, nor will it as long as it is the last.
        elif count:
            waiting[process] = log.begin("txn", process)
            count -= 1
    return log


@dataclass
class Graph:
    """Which operations lead to which, by kind; operations are numbered as they were invoked."""

    transactions: list[Transaction]
    edges: dict[tuple[int, int], set[str]] = field(default_factory=dict)

    def add(self, kind: str, before: int, after: int) -> None:
        if before != after:
            self.edges.setdefault((before, after), set()).add(kind)

    def leads(self, one: int, other: int, kinds: set[str]) -> bool:
        return bool(self.edges.get((one, other), set()) & kinds)

    def components(self, kinds: set[str]) -> list[frozenset[int]]:
        every = range(len(self.transactions))
        reach = {(one, other): self.leads(one, other, kinds) for one in every for other in every}
        for middle in every:
            for one in every:
                for other in every:
                    reach[one, other] |= reach[one, middle] and reach[middle, other]
        found = {
            frozenset(other for other in every if reach[one, other] and reach[other, one])
            for one in every
        }
        return [members for members in found if len(members) > 1]

    def cycles(self, members: frozenset[int], kinds: set[str]) -> Iterator[tuple[int, ...]]:
        """All, each from its lowest number on."""
        ways: list[tuple[int, ...]] = [(first,) for first in sorted(members)]
        while ways:
            way = ways.pop()
            if len(way) > 1 and self.leads(way[-1], way[0], kinds):
                yield way
            ways += [
                (*way, following)
                for following in members
                if following > way[0] and following not in way
                if self.leads(way[-1], following, kinds)
            ]

    def single(self, way: tuple[int, ...], kinds: set[str]) -> bool:
        """Whether the cycle can do with one rw."""
        steps = list(zip(way, (*way[1:], way[0]), strict=True))
        return any(
            self.leads(*steps[at], {"rw"})
            and all(self.leads(*step, kinds - {"rw"}) for n, step in enumerate(steps) if n != at)
            for at in range(len(steps))
        )


def graph_of(transactions: list[Transaction]) -> Graph:
    """`transactions` in the order of invocation."""
    graph = Graph(transactions)
    sender = {place: number for number, one in enumerate(transactions) for place in one.sends}
    polled = {place for one in transactions for place in one.polls}
    read = {place for one in transactions if one.outcome == "ok" for place in one.polls}
    happened = [
        one.outcome == "ok" or (one.outcome == "info" and any(place in read for place in one.sends))
        for one in transactions
    ]
    known = {
        place
        for number, one in enumerate(transactions)
        for place, told in zip(one.sends, one.told, strict=True)
        if place in polled or (told and happened[number])
    }
    did = [number for number in range(len(transactions)) if happened[number]]
    for one in did:
        for key in KEYS:
            order = sorted(place for place in known if place[0] == key and happened[sender[place]])
            for before, after in pairwise(order):
                graph.add("ww", sender[before], sender[after])
            mine = [place for place in transactions[one].polls if place[0] == key]
            for place in mine:
                if happened[sender[place]]:
                    graph.add("wr", sender[place], one)
            behind = [place for place in order if mine and place > max(mine)]
            if behind:
                graph.add("rw", one, sender[behind[0]])
        for other in did:
            first = transactions[one]
            if first.outcome == "ok" and first.complete < transactions[other].invoke:
                graph.add("rt", one, other)
    return graph


def cycles_by_force(graph: Graph) -> list[tuple[str, int]]:
    """The name of each component that no narrower one explains, and its shortest cycle's length."""
    named: list[tuple[str, int]] = []
    shown: list[tuple[set[str], frozenset[int]]] = []
    for name, single_name, kinds in LAYERS:
        fresh = [
            members
            for members in graph.components(kinds)
            if not any(few <= kinds and inside <= members for few, inside in shown)
        ]
        for members in fresh:
            ways = list(graph.cycles(members, kinds))
            singles = [way for way in ways if single_name and graph.single(way, kinds)]
            chosen = singles or ways
            named.append((single_name if singles else name, min(map(len, chosen))))
            shown.append((kinds, members))
    return sorted(named)
