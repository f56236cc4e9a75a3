"""Anomalies of a history of lists (`list_append`): first those that one read shows, then cycles.

The longest read of a list is the order of its versions, and every other read is a prefix of it.
From it follow, as Adya defines them:

    ww  one appended an element, the other the next one
    wr  one appended the last element that the other read
    rw  one read a list up to an element, and the other appended the next one

Elements that were appended for sure and never read come after all that were. `checkers.log.cycles`
looks for cycles of these and of real time. Names of anomalies are Elle's (Kingsbury and Alvaro,
Elle: Inferring Isolation Anomalies from Experimental Observations, 2020).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from checkers.foreign.entries import process_codes
from checkers.foreign.list_append import Elements, Lists
from checkers.history.calls import Outcome
from checkers.log.anomalies import Cycle, DependencyStep, Isolation
from checkers.log.arrays import LogOperations
from checkers.log.cycles import named_cycles
from checkers.log.dependencies import Dependencies, Dependency
from checkers.verdict import Verdict, counted

ALGORITHM = "orders of versions from what was read, cycles of dependencies"

_MOST_PAIRS = 300_000  # of readers of whole lists and unread elements
_SAID = 6  # steps of a cycle in a sentence
_Row = tuple[int, int, int, int, int]  # before, after, key, one, other


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAnomaly:
    """`parts` are rows of the calls, each with what it did."""

    name: str
    message: str
    parts: tuple[tuple[int, str], ...]
    verdict: Verdict = Verdict.INVALID


@dataclass(slots=True)
class _Versions:
    """For one list: its elements in order, and which call appended each."""

    order: Elements = ()
    reader: int = -1  # of the order
    writer: dict[str, int] = field(default_factory=dict)  # that did not fail
    failed: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The elements of a list that a call read; without its own."""

    call: int
    key: int
    held: Elements


def list_anomalies(lists: Lists, isolation: Isolation) -> Iterator[ListAnomaly]:
    """The most basic ones first; nothing else if one of these makes orders doubtful."""
    versions, repeated = _versions(lists)
    if repeated is not None:
        yield repeated
        return
    seen, basic = _reads(lists, versions)
    yield from basic
    if basic:
        return
    yield from _cycles(lists, versions, seen, isolation)


def _versions(lists: Lists) -> tuple[list[_Versions], ListAnomaly | None]:
    """And an element that was appended twice, if there is one: it names no writer."""
    versions = [_Versions() for _ in lists.keys]
    place = {key: number for number, key in enumerate(lists.keys)}
    for row, call in enumerate(lists.calls):
        for step in call.steps:
            if step.appended is None:
                continue
            of = versions[place[step.key]]
            known = of.failed if call.outcome is Outcome.FAIL else of.writer
            if step.appended in known and call.outcome is not Outcome.FAIL:
                return versions, ListAnomaly(
                    name="repeated append",
                    message=f"{step.appended} was appended to {step.key} twice, so it is unknown "
                    "which of them was read",
                    parts=((known[step.appended], "first"), (row, "again")),
                    verdict=Verdict.UNKNOWN,
                )
            known[step.appended] = row
    return versions, None


def _reads(lists: Lists, versions: Sequence[_Versions]) -> tuple[list[_Seen], list[ListAnomaly]]:
    """What each call saw of each list first; and reads that no order explains."""
    place = {key: number for number, key in enumerate(lists.keys)}
    seen: list[_Seen] = []
    whole: list[_Seen] = []
    for row, call in enumerate(lists.calls):
        known: dict[str, Elements] = {}  # what the call knows of a list
        own: dict[str, Elements] = {}  # appended before it had read it
        ahead = [(one.key, one.appended) for one in call.steps if one.appended is not None]
        for step in call.steps:
            if step.appended is not None:
                ahead.pop(0)
                if step.key in known:
                    known[step.key] += (step.appended,)
                else:
                    own[step.key] = (*own.get(step.key, ()), step.appended)
            elif step.held is not None:
                of = versions[place[step.key]]
                wrong = _of_one_read(row, step.key, step.held, of) or _internal(
                    row, step.key, step.held, known.get(step.key), own.get(step.key, ()), ahead
                )
                if wrong is not None:
                    return [], [wrong]
                if step.key not in known:
                    before = step.held[: len(step.held) - len(own.get(step.key, ()))]
                    seen.append(_Seen(row, place[step.key], before))
                if len(step.held) > len(of.order):
                    of.order, of.reader = step.held, row
                known[step.key] = step.held
                whole.append(_Seen(row, place[step.key], step.held))
    wrong = _not_in_one_order(lists, versions, whole) or _out_of_turn(lists, versions)
    return seen, [] if wrong is None else [wrong]


def _of_one_read(row: int, key: str, held: Elements, of: _Versions) -> ListAnomaly | None:
    if len(set(held)) < len(held):
        twice = next(one for number, one in enumerate(held) if one in held[:number])
        message = f"a read of {key} holds {twice} twice, which was appended once"
        return ListAnomaly(name="duplicate-elements", message=message, parts=((row, "holds it"),))
    for element in held:
        if element in of.writer:
            continue
        if element in of.failed:
            return ListAnomaly(
                name="G1a",
                message=f"a read of {key} holds {element}, the appending of which had failed",
                parts=((of.failed[element], "failed"), (row, f"read {element}")),
            )
        message = f"a read of {key} holds {element}, which was never appended"
        return ListAnomaly(name="phantom", message=message, parts=((row, f"read {element}"),))
    return None


def _internal(
    row: int,
    key: str,
    held: Elements,
    known: Elements | None,
    own: Elements,
    ahead: Sequence[tuple[str, str]],
) -> ListAnomaly | None:
    """A transaction sees what it saw and did before, and not what it appends later: `ahead`."""
    if any(each == key and element in held for each, element in ahead):
        message = f"a transaction read of {key} what it appended only then"
    elif known is not None and held != known:
        message = f"a transaction read {key}, and again, and that does not go on from the first"
    elif known is None and own and held[len(held) - len(own) :] != own:
        message = f"a transaction appended to {key}, and then read it without that at its end"
    else:
        return None
    return ListAnomaly(name="internal", message=message, parts=((row, "contradicts itself"),))


def _not_in_one_order(
    lists: Lists, versions: Sequence[_Versions], whole: Sequence[_Seen]
) -> ListAnomaly | None:
    """Two reads that are not prefixes of one list."""
    for one in whole:
        of = versions[one.key]
        if of.order[: len(one.held)] != one.held:
            message = f"two reads of {lists.keys[one.key]} have its elements in different orders"
            said = [f"read [{' '.join(held[:12])}]" for held in (of.order, one.held)]
            parts = ((of.reader, said[0]), (one.call, said[1]))
            return ListAnomaly(name="incompatible-order", message=message, parts=parts)
    return None


def _out_of_turn(lists: Lists, versions: Sequence[_Versions]) -> ListAnomaly | None:
    """A later element of one transaction in a list without an earlier one of the same transaction
    ahead."""
    place = {key: number for number, key in enumerate(lists.keys)}
    at = [{element: number for number, element in enumerate(of.order)} for of in versions]
    for row, call in enumerate(lists.calls):
        before: dict[str, str] = {}  # by key, what it appended last
        for step in call.steps if call.outcome is not Outcome.FAIL else ():
            if step.appended is None:
                continue
            known, earlier = at[place[step.key]], before.get(step.key)
            before[step.key] = step.appended
            if earlier is None or step.appended not in known:
                continue
            if known.get(earlier, len(known)) > known[step.appended]:
                reader = versions[place[step.key]].reader
                return ListAnomaly(
                    name="internal",
                    message=f"{step.appended} is in {step.key} without {earlier} ahead of it, "
                    "which one transaction had appended before it",
                    parts=((row, f"appended {earlier} first"), (reader, f"read {step.appended}")),
                )
    return None


def _cycles(
    lists: Lists, versions: Sequence[_Versions], seen: Sequence[_Seen], isolation: Isolation
) -> Iterator[ListAnomaly]:
    names: list[str] = []
    edges = _Edges(lists, versions, names)
    found = {
        Dependency.WW: edges.writes(),
        Dependency.WR: edges.reads(seen),
        Dependency.RW: edges.overwrites(seen),
    }
    yield from _intermediate(lists, versions, seen)
    ops = _operations(lists)
    dependencies = {kind: _dependencies(kind, rows) for kind, rows in found.items()}
    if any(len(one) for one in dependencies.values()):
        for anomaly, those in named_cycles(ops, dependencies, anti=isolation.anti).items():
            for cycle in sorted(those, key=lambda one: len(one.steps)):
                if _forbidden(cycle, isolation):
                    yield _in_words(anomaly, cycle, lists, names)
    if edges.left_out:
        yield ListAnomaly(
            name="too many",
            message=f"{counted(edges.left_out, 'pair')} of a reader and an unread element were "
            "not looked at",
            parts=(),
            verdict=Verdict.UNKNOWN,
        )


def _forbidden(cycle: Cycle, isolation: Isolation) -> bool:
    """PL-2 forbids G0 and G1c, PL-3 all cycles, and strict serializability those of real time."""
    if isolation is Isolation.STRICT_SERIALIZABLE:
        return True
    if cycle.has(Dependency.RT):
        return False
    return isolation is Isolation.SERIALIZABLE or not cycle.has(Dependency.RW)


class _Edges:
    """Which call depends on which, by which elements; these are codes into `names`."""

    def __init__(self, lists: Lists, versions: Sequence[_Versions], names: list[str]) -> None:
        self._versions = versions
        self._names = names
        self._code = [
            {element: self._named(element) for element in (*of.order, *of.writer)}
            for of in versions
        ]
        self._nothing = self._named("nothing")
        # Calls that succeeded, and others of which something was read.
        happened = {row for row, one in enumerate(lists.calls) if one.outcome is Outcome.OK}
        happened |= {of.writer[element] for of in versions for element in of.order}
        self._unread = [
            [
                (element, row)
                for element, row in of.writer.items()
                if element not in of.order_places and row in happened
            ]
            for of in map(_Placed, versions)
        ]
        self.left_out = 0

    def _named(self, element: str) -> int:
        self._names.append(element)
        return len(self._names) - 1

    def writes(self) -> list[_Row]:
        rows = []
        for key, of in enumerate(self._versions):
            code = self._code[key]
            for one, other in zip(of.order, of.order[1:], strict=False):
                rows.append((of.writer[one], of.writer[other], key, code[one], code[other]))
            for element, row in self._unread[key] if of.order else ():
                last = of.order[-1]
                rows.append((of.writer[last], row, key, code[last], code[element]))
        return [row for row in rows if row[0] != row[1]]

    def reads(self, seen: Sequence[_Seen]) -> list[_Row]:
        rows = []
        for one in seen:
            if one.held:
                writer = self._versions[one.key].writer[one.held[-1]]
                code = self._code[one.key][one.held[-1]]
                rows.append((writer, one.call, one.key, code, code))
        return [row for row in rows if row[0] != row[1]]

    def overwrites(self, seen: Sequence[_Seen]) -> list[_Row]:
        rows: list[_Row] = []
        for one in seen:
            of, code = self._versions[one.key], self._code[one.key]
            last = code[one.held[-1]] if one.held else self._nothing
            if len(one.held) < len(of.order):
                after = of.order[len(one.held)]
                rows.append((one.call, of.writer[after], one.key, last, code[after]))
                continue
            unread = self._unread[one.key]
            if len(rows) + len(unread) > _MOST_PAIRS:
                self.left_out += len(unread)
                continue
            rows += [(one.call, row, one.key, last, code[element]) for element, row in unread]
        return [row for row in rows if row[0] != row[1]]


class _Placed:
    """Versions with the elements of their order as a set."""

    def __init__(self, of: _Versions) -> None:
        self.writer = of.writer
        self.order_places = frozenset(of.order)


def _intermediate(
    lists: Lists, versions: Sequence[_Versions], seen: Sequence[_Seen]
) -> Iterator[ListAnomaly]:
    """G1b: a read ends within the elements that one transaction appended."""
    last: dict[tuple[int, int], str] = {}  # by key and call, what it appended last
    place = {key: number for number, key in enumerate(lists.keys)}
    for row, call in enumerate(lists.calls):
        for step in call.steps:
            if step.appended is not None:
                last[place[step.key], row] = step.appended
    for one in seen:
        if not one.held:
            continue
        end = one.held[-1]
        writer = versions[one.key].writer[end]
        final = last[one.key, writer]
        if final != end and writer != one.call and final not in one.held:
            key = lists.keys[one.key]
            yield ListAnomaly(
                name="G1b",
                message=f"a read of {key} ends with {end}, though {final} was appended with it",
                parts=((writer, f"appended {end}, then {final}"), (one.call, f"read up to {end}")),
            )
            return


def _operations(lists: Lists) -> LogOperations:
    process, names = process_codes([call.pair.invoke.process for call in lists.calls])
    return LogOperations(
        process=process,
        processes=names,
        outcome=np.array([call.outcome for call in lists.calls], np.int8),
        invoke=np.array([call.pair.invoked for call in lists.calls], np.int64),
        complete=np.array([call.pair.completed for call in lists.calls], np.int64),
        final=np.zeros(len(lists.calls), np.bool_),
    )


def _dependencies(kind: Dependency, rows: Sequence[_Row]) -> Dependencies:
    columns = np.array(rows, np.int32).reshape(-1, 5).T
    before, after, key, one, other = (np.ascontiguousarray(each) for each in columns)
    return Dependencies(kind=kind, before=before, after=after, key=key, one=one, other=other)


def _in_words(name: str, cycle: Cycle, lists: Lists, names: Sequence[str]) -> ListAnomaly:
    called = {step.before: f"T{number}" for number, step in enumerate(cycle.steps, 1)}
    said = [_step(step, called, lists.keys, names) for step in cycle.steps[:_SAID]]
    left = len(cycle.steps) - len(said)
    more = f"; and so on, through {left} more" if left else ""
    parts = tuple((step.before, called[step.before]) for step in cycle.steps)
    return ListAnomaly(name=name, message="; ".join(said) + more, parts=parts)


def _step(
    step: DependencyStep, called: dict[int, str], keys: Sequence[str], names: Sequence[str]
) -> str:
    before, after = called[step.before], called[step.after]
    if step.kind is Dependency.RT:
        return f"{after} began when {before} had ended"
    key, one, other = keys[step.key], names[step.one], names[step.other]
    match step.kind:
        case Dependency.WW:
            return f"{after} appended {other} to {key} behind {one} of {before}"
        case Dependency.WR:
            return f"{after} read {key} up to {one}, which {before} appended"
        case Dependency.RW:
            return f"{before} read {key} up to {one}, and {after} appended {other} behind it"
