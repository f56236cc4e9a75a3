"""The ISR of each partition over time: every state in the metadata log, and when it was committed.

The metadata log on the disks has every change and their order, and no times. Times are bounded by
what the harness was answered, or nodes traced: an answer with a state, or with a quorum's high
watermark above its record, came after the record was committed; an answer of a working leader with
a high watermark at or below the record came before. A topic that was created twice has no history.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.array_types import Ints
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact
from checkers.evidence.image import BROKER, TOPIC, Change, Partition
from checkers.evidence.partition_logs import split
from checkers.evidence.promised import topic_of
from checkers.history.asked import MIN_ISR

FOREVER_NS = int(np.iinfo(np.int64).max)
NEVER_NS = int(np.iinfo(np.int64).min)
HIDDEN = -1  # in place of a state: one before the first, of which only a snapshot remains
# Brokers that are well and connected learn of a committed record within milliseconds.
LAG_NS = 2_000_000_000
# A broker publishes its metadata image a moment before its partitions follow it.
SETTLED_NS = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedAnswers:
    """One broker's answers about a partition, in order: each was in a state from `low` to `high`.

    The states are indices into the history; a broker's metadata image only goes forward.
    """

    t0: Ints
    t1: Ints
    low: Ints
    high: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrHistory:
    """The history of one partition; arrays by state, in log order.

    `not_before` and `known_by` bound the time at which the change to the state was committed, in
    ns: NEVER_NS and FOREVER_NS where nothing bounds it. `begins_hidden`: the first state is that in
    a snapshot, and no record tells those before it.
    """

    key: str
    states: tuple[Partition, ...]
    offsets: Ints
    # The lowest effective one from this change to the next, by the log, and at least the lowest
    # that was ever asked for.
    min_isr: Ints
    not_before: Ints
    known_by: Ints
    answered: Mapping[int, SortedAnswers]  # by the broker that was asked
    begins_hidden: bool

    @property
    def first(self) -> int:
        """The first state of all, or HIDDEN."""
        return HIDDEN if self.begins_hidden else 0

    def whole(self) -> NDArray[np.bool_]:
        """By state, whether all replicas are in the ISR."""
        return np.array([set(one.isr) >= set(one.replicas) for one in self.states], np.bool_)

    def known_before(self, leader: int, t0: Ints) -> Ints:
        """The latest state that a leader must have known, by its own answers, when something
        began; without an answer the first one, or HIDDEN."""
        answers = self.answered.get(leader)
        if answers is None:
            return np.full(len(t0), self.first, np.int64)
        ends = np.maximum.accumulate(answers.t1)
        place = np.searchsorted(ends, t0 - SETTLED_NS, side="left") - 1
        return np.where(place >= 0, answers.low[place], self.first)

    def last_by(self, t1: Ints) -> Ints:
        """The latest state that can have been committed when something ended."""
        return np.searchsorted(self.not_before, t1, side="right") - 1


def isr_histories(evidence: Evidence) -> Mapping[str, IsrHistory]:
    """By partition; empty if the metadata log cannot be read. By `evidence.once`."""
    timeline = evidence.timeline
    if timeline is None:
        return {}
    by_key: dict[str, list[Change]] = {}
    hidden: set[str] = set()
    for batch in timeline.batches:
        for change in batch.changes:
            key = change.partition.key
            if batch.from_snapshot and key not in by_key:
                hidden.add(key)
            by_key.setdefault(key, []).append(change)
    marks = _marks([*_answered(evidence.tables["probes"]), *_traced(evidence)])
    found = {
        key: _history(evidence, key, changes, marks, begins_hidden=key in hidden)
        for key, changes in by_key.items()
    }
    return {key: history for key, history in found.items() if history is not None}


def _history(
    evidence: Evidence,
    key: str,
    changes: Sequence[Change],
    marks: "_Marks",
    *,
    begins_hidden: bool,
) -> IsrHistory | None:
    states = [change.after for change in changes if change.after is not None]
    if len(states) < len(changes) or len({one.topic_id for one in states}) > 1:
        # deleted, and perhaps created again: answers do not say which of the two they mean
        return None
    offsets = np.array([change.offset for change in changes], np.int64)
    answered = _by_broker(answers_about(evidence, key), states)
    not_before = np.maximum(marks.not_before(offsets), _lagging(evidence, answered, len(states)))
    return IsrHistory(
        key=key,
        states=tuple(states),
        offsets=offsets,
        min_isr=np.maximum(
            list(_lowest(evidence, topic_of(key), changes)),
            [change.asked_min_isr for change in changes],
        ),
        not_before=np.maximum.accumulate(not_before),
        known_by=_known_by(answered.values(), marks.known_by(offsets)),
        answered=answered,
        begins_hidden=begins_hidden,
    )


def _lowest(evidence: Evidence, topic: str, changes: Sequence[Change]) -> Iterator[int]:
    """By change, the lowest effective min ISR from it to the next one of the partition: it may be
    lowered and raised again in between."""
    found = evidence.timeline
    assert found is not None, "it has the changes"
    own, of_all = (TOPIC, topic, MIN_ISR), (BROKER, "", MIN_ISR)
    in_force: dict[tuple[int, str, str], str | None] = {}
    settings = deque(each for each in found.settings if each.of in (own, of_all))
    for change, following in zip(changes, [*changes[1:], None], strict=True):
        lowest = change.min_isr if following is None else min(change.min_isr, following.min_isr)
        while settings and (following is None or settings[0].offset < following.offset):
            setting = settings.popleft()
            in_force[setting.of] = setting.value
            if setting.offset > change.offset:
                value = in_force.get(own) or in_force.get(of_all)
                least = int(value) if value else evidence.promised.min_isr_of_files
                lowest = min(lowest, least, len(change.partition.replicas))
        yield lowest


# --- answers about the partition ---


def answers_about(evidence: Evidence, key: str) -> list[dict[str, Any]]:
    """The rows of PROBES that are about a partition, in the order in which they were asked for."""
    found = evidence.once(_answers).get((key,))
    rows: list[dict[str, Any]] = [] if found is None else found.sort_by("t0").to_pylist()
    return rows


def _answers(evidence: Evidence) -> Mapping[tuple[int | str, ...], pa.Table]:
    probes = evidence.tables["probes"]
    return split(probes.filter(pc.equal(probes["kind"], "partition")), "key")


def _by_broker(
    rows: Iterable[Mapping[str, Any]], states: Sequence[Partition]
) -> dict[int, SortedAnswers]:
    """Answers that fit no state are left out: `told-partitions-were` accuses them."""
    places: dict[tuple[int, frozenset[int], frozenset[int]], list[int]] = {}
    for place, one in enumerate(states):
        seen = (one.leader_epoch, frozenset(one.isr), frozenset(one.elr))
        places.setdefault(seen, []).append(place)
    by_node: dict[int, list[tuple[int, int, list[int]]]] = {}
    for row in rows:
        seen = (row["epoch"], frozenset(row["isr"] or ()), frozenset(row["elr"] or ()))
        if seen in places:
            by_node.setdefault(row["node"], []).append((row["t0"], row["t1"], places[seen]))
    return {node: _in_order(answers) for node, answers in by_node.items()}


def _in_order(answers: Sequence[tuple[int, int, list[int]]]) -> SortedAnswers:
    low, high = [], []
    least = 0
    for _, _, places in answers:
        least = next((place for place in places if place >= least), least)
        low.append(least)
    most = FOREVER_NS
    for _, _, places in reversed(answers):
        most = next((place for place in reversed(places) if place <= most), most)
        high.append(most)
    return SortedAnswers(
        t0=np.array([t0 for t0, _, _ in answers], np.int64),
        t1=np.array([t1 for _, t1, _ in answers], np.int64),
        low=np.array(low, np.int64),
        high=np.array(high[::-1], np.int64),
    )


def _known_by(answered: Iterable[SortedAnswers], by_marks: Ints) -> Ints:
    known = by_marks.copy()
    for one in answered:
        np.minimum.at(known, one.low, one.t1)
    earliest: Ints = np.minimum.accumulate(known[::-1])[::-1]
    return earliest


def _lagging(evidence: Evidence, answered: Mapping[int, SortedAnswers], states: int) -> Ints:
    """A state that no broker knew of long after a moment was not committed at that moment.

    Two brokers or more must have had every chance to know: nothing was wrong with any link, process
    or machine since `LAG_NS` before.
    """
    found = np.full(states, NEVER_NS, np.int64)
    if len(answered) < 2 or set(answered) < set(evidence.brokers):
        return found
    for place in range(states):
        last = min(_last_below(one, place) for one in answered.values())
        if last != NEVER_NS and not _hurt(evidence.faults, last - LAG_NS, last):
            found[place] = last - LAG_NS
    return found


def _last_below(answered: SortedAnswers, place: int) -> int:
    """When a broker was last asked and answered with an earlier state."""
    asked = answered.t0[answered.high < place]
    return int(asked[-1]) if len(asked) else NEVER_NS


def _hurt(faults: Iterable[FaultFact], begin: int, end: int) -> bool:
    return any(fault.overlaps(begin, end) for fault in faults)


# --- the quorum ---


@dataclass(frozen=True, slots=True, kw_only=True)
class _Marks:
    """The high watermarks in answers of the quorum's leaders, and their times."""

    mark: Ints
    t0: Ints
    t1: Ints
    working: NDArray[np.bool_]  # its high watermark rose afterwards, in the same epoch

    def not_before(self, offsets: Ints) -> Ints:
        """A leader that works on afterwards has not been succeeded by one that committed more."""
        return np.array(
            [self.t0[self.working & (self.mark <= at)].max(initial=NEVER_NS) for at in offsets],
            np.int64,
        )

    def known_by(self, offsets: Ints) -> Ints:
        return np.array(
            [self.t1[self.mark > at].min(initial=FOREVER_NS) for at in offsets], np.int64
        )


def _answered(probes: pa.Table) -> list[dict[str, Any]]:
    known = pc.and_(pc.equal(probes["kind"], "quorum"), pc.is_valid(probes["high_watermark"]))
    known = pc.and_kleene(known, pc.is_valid(probes["epoch"]))
    answered = probes.filter(known).select(["epoch", "t0", "t1", "high_watermark"]).to_pylist()
    return [row for row in answered if row["high_watermark"] >= 0]


def _traced(evidence: Evidence) -> list[dict[str, Any]]:
    """The same from traces: each moment at which a leader raised it."""
    events = evidence.tables["node_events"]
    of_leaders = pc.and_(pc.equal(events["event"], "q.hwm"), pc.equal(events["state"], "leader"))
    rows = events.filter(of_leaders).select(["epoch", "t", "hwm"]).to_pylist()
    return [
        {"epoch": row["epoch"], "t0": row["t"], "t1": row["t"], "high_watermark": row["hwm"]}
        for row in rows
    ]


def _marks(answered: Iterable[Mapping[str, Any]]) -> _Marks:
    rows = sorted(answered, key=lambda row: (row["epoch"], row["t1"]))
    working = np.zeros(len(rows), np.bool_)
    for epoch in {row["epoch"] for row in rows}:
        places = [at for at, row in enumerate(rows) if row["epoch"] == epoch]
        highest = NEVER_NS
        for before, after in reversed(list(pairwise([*places, places[-1]]))):
            highest = max(highest, rows[after]["high_watermark"])
            working[before] = rows[before]["high_watermark"] < highest
    return _Marks(
        mark=np.array([row["high_watermark"] for row in rows], np.int64),
        t0=np.array([row["t0"] for row in rows], np.int64),
        t1=np.array([row["t1"] for row in rows], np.int64),
        working=working,
    )
