"""Brokers' answers about partitions, against the metadata log: none describes a state that it never
had.

A broker answers from its image, which is the committed log up to some offset. That offset only
grows: within a process, since it replays; and from one process to the next, since a broker answers
clients only after it has replayed its own registration, which was written after everything its last
process can have heard of. So a broker's answers, one after another, are positions in the log that
never go back. Everything in one answer is of one position.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.check import check
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FOREVER_NS, Kind
from checkers.evidence.image import NO_LEADER, Partition, Timeline
from checkers.evidence.restarts import may_forget
from checkers.history.sealed_run import RunInfo
from checkers.partitions.leaders import NEED, names, state
from checkers.verdict import CheckResult, EventValue

_UNIT = "answers about partitions"
_LISTS = ("isr", "elr", "last_known_elr")
_SAID = ("leader", "epoch", *_LISTS)
_ALL_ALONG = (-1, FOREVER_NS)


def asked_of_partitions(info: RunInfo) -> bool:
    """Applies where the harness asks brokers about partitions."""
    return Kind.PARTITION_PROBES in info.gives


class _Span(NamedTuple):
    """Offsets of the last record that an image holds, the first and the last of them."""

    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """The state of a partition in images that end within a span."""

    span: _Span
    partition: Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAnswer:
    """One broker's answer about all partitions: rows of PROBES, and the meaning of each."""

    node: int
    asked: int
    answered: int
    rows: slice
    said: bytes


@dataclass(slots=True, kw_only=True)
class _Log:
    """The states of all partitions, and when brokers could not be reached."""

    start: int  # only a snapshot has what is below it
    states: dict[str, list[_State]] = field(default_factory=lambda: defaultdict(list))
    off: dict[int, list[_Span]] = field(default_factory=lambda: defaultdict(list))


@check(
    "told-partitions-were",
    applies=asked_of_partitions,
    source="KIP-500: a broker's metadata is what the log says, up to an offset; KIP-966",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_PROBES, Kind.FAULTS),
)
def described_partitions_were(evidence: Evidence) -> CheckResult:
    """A leader, epoch, ISR and ELR in a broker's answer were so in the committed metadata log at
    one time, and each broker's answers only move forward in the log.

    Everything in one answer was so at one time. A leader may be left out only if it was fenced. It
    is allowed after a fault by which a majority of the controllers may have lost committed records.
    (KIP-500, KIP-966)
    """
    if evidence.timeline is None:
        return unread(_UNIT, NEED)
    followed = evidence.once(followed_answers)
    forgets = may_forget(evidence)
    return conclude(
        looked_at=followed.looked_at,
        unit=_UNIT,
        violations=[] if forgets else followed.violations,
        allowed=followed.violations if forgets else [],
        needs="answers to DescribeTopicPartitions",
        holds="each was so in the metadata log, and no broker went back in it",
        algorithm="answers of each broker, one after another, as positions in the metadata log",
    )


# --- the log ---


def _log(found: Timeline) -> _Log:
    """After each record; a broker publishes its image batch by batch, but perhaps in parts."""
    log = _Log(start=found.start)
    now: dict[str, tuple[int, Partition]] = {}
    off: dict[int, int] = {}
    for batch in found.batches:
        for change in batch.changes:
            key, at = change.partition.key, change.offset
            if key in now:
                since, before = now.pop(key)
                log.states[key].append(_State(span=_Span(since, at - 1), partition=before))
            if change.after is not None:
                now[key] = (at, change.after)
        last = max([batch.base, *(c.offset for c in batch.changes)])
        last = max([last, *(offset for offset, _, _ in batch.broker_records)])
        up = {node for node, broker in batch.brokers.items() if not broker.fenced}
        for node in up & off.keys():
            log.off[node].append(_Span(off.pop(node), last))
        for node in (set(batch.brokers) | batch.unregistered) - up:
            off.setdefault(node, batch.base)
    for key, (since, partition) in now.items():
        log.states[key].append(_State(span=_Span(since, FOREVER_NS), partition=partition))
    for node, since in off.items():
        log.off[node].append(_Span(since, FOREVER_NS))
    return log


class Meanings:
    """For everything that was said about a partition, when it was so. Computed once each."""

    def __init__(self, probes: pa.Table, log: _Log) -> None:
        self._probes = probes
        self._log = log
        self._known: dict[int, tuple[_Span, ...]] = {}

    def of(self, row: int) -> tuple[_Span, ...]:
        """For a row of the answers; empty: it never was so."""
        code = int(self._probes["code"][row].as_py())
        if code not in self._known:
            self._known[code] = tuple(self._spans(self.said(row)))
        return self._known[code]

    def said(self, row: int) -> Mapping[str, Any]:
        said: Mapping[str, Any] = self._probes.slice(row, 1).to_pylist()[0]
        return said

    def states(self, key: str) -> Sequence[_State]:
        return self._log.states.get(key, [])

    def _spans(self, said: Mapping[str, Any]) -> Iterator[_Span]:
        states = self.states(said["key"])
        if self._log.start and _may_be_older(said, states, self._log.start):
            yield _Span(-1, self._log.start - 1)
        for each in states:
            one = each.partition
            same = one.leader_epoch == said["epoch"] and all(
                set(getattr(one, name)) == set(said[name] or ()) for name in _LISTS
            )
            if not same:
                continue
            if said["leader"] == one.leader:
                yield each.span
            elif said["leader"] == NO_LEADER:
                yield from _both(each.span, self._log.off.get(one.leader, []))


def _may_be_older(said: Mapping[str, Any], states: Sequence[_State], start: int) -> bool:
    """Whether it may have been so before the snapshot with which the log begins."""
    first = next((each for each in states if each.span.first < start), None)
    return first is None or said["epoch"] <= first.partition.leader_epoch


def _both(span: _Span, others: Iterable[_Span]) -> Iterator[_Span]:
    for other in others:
        first, last = max(span.first, other.first), min(span.last, other.last)
        if first <= last:
            yield _Span(first, last)


# --- answers ---


def _probes(probes: pa.Table) -> pa.Table:
    """Those about partitions, in the order in which they were asked for; `code` is one number for
    all rows that say the same."""
    mine = probes.filter(pc.equal(probes["kind"], "partition"))
    mine = mine.take(pc.sort_indices(mine, sort_keys=[("node", "ascending"), ("t0", "ascending")]))
    texts = [mine["key"], *(mine[name].cast(pa.string()) for name in ("leader", "epoch"))]
    texts += [pc.binary_join(mine[name].cast(pa.list_(pa.string())), ",") for name in _LISTS]
    filled = [pc.fill_null(each, "") for each in texts]
    joined = pc.binary_join_element_wise(*filled, "|")
    code = pc.rank(joined, tiebreaker="dense") if mine.num_rows else pa.array([], pa.uint64())
    return mine.append_column("code", code)


def _by_node(probes: pa.Table) -> Mapping[int, list[BrokerAnswer]]:
    """Each broker's answers, in order. Rows of one answer were asked for at one time."""
    node, t0, t1, code = (
        probes[name].to_numpy().astype(np.int64) for name in ("node", "t0", "t1", "code")
    )
    found: dict[int, list[BrokerAnswer]] = defaultdict(list)
    for begin, end in _runs(node, t0):
        found[int(node[begin])].append(
            BrokerAnswer(
                node=int(node[begin]),
                asked=int(t0[begin]),
                answered=int(t1[begin]),
                rows=slice(begin, end),
                said=code[begin:end].tobytes(),
            )
        )
    return found


def _runs(*keys: Ints) -> Iterator[tuple[int, int]]:
    if not len(keys[0]):
        return
    new = np.zeros(len(keys[0]), np.bool_)
    new[0] = True
    for key in keys:
        new[1:] |= np.diff(key) != 0
    starts = np.flatnonzero(new).tolist()
    yield from zip(starts, [*starts[1:], len(new)], strict=True)


class SeenAnswer(NamedTuple):
    """An answer, and the offsets between which its image ended."""

    answer: BrokerAnswer
    least: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedAnswers:
    """All answers of all brokers: those that have a position in the log, and what is wrong with the
    others."""

    looked_at: int
    meanings: Meanings
    seen: Sequence[SeenAnswer]
    violations: Sequence[Violation]


def followed_answers(evidence: Evidence) -> FollowedAnswers:
    """For a run with a readable metadata log. By `evidence.once`."""
    assert evidence.timeline is not None, "there is a log to compare with"
    probes = _probes(evidence.tables["probes"])
    meanings = Meanings(probes, _log(evidence.timeline))
    seen: list[SeenAnswer] = []
    violations: list[Violation] = []
    for answers in _by_node(probes).values():
        violations += _follow(answers, meanings, seen)
    return FollowedAnswers(
        looked_at=probes.num_rows, meanings=meanings, seen=seen, violations=violations
    )


def _follow(
    answers: Sequence[BrokerAnswer], meanings: Meanings, seen: list[SeenAnswer]
) -> Iterator[Violation]:
    """One broker's answers. A contradiction to the log is reported once, and the answers after it
    are followed from there; `seen` gets those that agree."""
    at, before = -1, None
    found: tuple[int, int] | None = None
    for answer in answers:
        if before is None or answer.said != before.answer.said:
            wrong = _never(answer, meanings)
            if wrong is not None:
                yield wrong
                continue
            spans = [meanings.of(row) for row in range(answer.rows.start, answer.rows.stop)]
            found = _place(spans, at)
            if found is None:
                yield _back(answer, before, at, meanings)
                found = _place(spans, -1)
        if found is None:  # not of one time, at any offset; it was reported
            continue
        at = found[0]
        before = SeenAnswer(answer, *found)
        seen.append(before)


def _place(spans: Sequence[Sequence[_Span]], least: int) -> tuple[int, int] | None:
    """The first offset from `least` on at which all of them hold, and the last one of all."""
    at = least
    while True:
        following = [
            min((max(at, s.first) for s in one if s.last >= at), default=None) for one in spans
        ]
        if None in following:
            return None
        highest = max(each for each in following if each is not None)
        if highest == at:
            return at, min(max(span.last for span in one) for one in spans)
        at = highest


def _never(answer: BrokerAnswer, meanings: Meanings) -> Violation | None:
    for row in range(answer.rows.start, answer.rows.stop):
        if not meanings.of(row):
            said = meanings.said(row)
            text = (
                f"node {answer.node} says {answer_in_words(said)}; the metadata log never had that"
            )
            near = [
                s for s in meanings.states(said["key"]) if s.partition.leader_epoch <= said["epoch"]
            ]
            return Violation(text, [shown_answer(answer, said), *states_shown(near[-4:])])
    return None


def _back(
    answer: BrokerAnswer, before: SeenAnswer | None, at: int, meanings: Meanings
) -> Violation:
    rows = range(answer.rows.start, answer.rows.stop)
    over = [row for row in rows if max(span.last for span in meanings.of(row)) < at]
    said = meanings.said(over[0] if over else rows[0])
    text = f"node {answer.node} says {answer_in_words(said)}, "
    if over:
        last = max(span.last for span in meanings.of(over[0]))
        text += f"which was over at offset {last + 1} of the metadata log, but had described "
        text += f"offset {at} before"
    else:
        text += "and about other partitions what was never so at the same time"
    earlier = []
    if before is not None:
        old = range(before.answer.rows.start, before.answer.rows.stop)
        newest = max(old, key=lambda row: min(span.first for span in meanings.of(row)))
        earlier = [shown_answer(before.answer, meanings.said(newest))]
    return Violation(
        text,
        [*earlier, shown_answer(answer, said), *states_shown(meanings.states(said["key"])[-4:])],
    )


# --- in words ---


def answer_in_words(said: Mapping[str, Any]) -> str:
    leads = "no node leads" if said["leader"] == NO_LEADER else f"node {said['leader']} leads"
    text = f"that {leads} {said['key']} in epoch {said['epoch']}, with the ISR "
    text += f"[{names(said['isr'] or ())}]"
    for name, word in (("elr", "the ELR"), ("last_known_elr", "the last known ELR")):
        text += f", {word} [{names(said[name])}]" if said[name] else ""
    return text


def shown_answer(answer: BrokerAnswer, said: Mapping[str, Any]) -> dict[str, EventValue]:
    told: dict[str, EventValue] = {
        name: names(said[name] or ()) if name in _LISTS else said[name] for name in _SAID
    }
    return {
        "what": "an answer",
        "t_ns": answer.asked,
        "node": answer.node,
        "key": said["key"],
        **told,
    }


def states_shown(states: Iterable[_State]) -> list[dict[str, EventValue]]:
    return [
        {"what": "the metadata log", "offset": each.span.first, **state(each.partition)}
        for each in states
    ]
