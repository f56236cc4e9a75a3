"""The state of each partition at every moment: leader, ISR, ELR, and acknowledged and lost records.

The states and their order are those of the metadata log on the disks. Its batches carry the clock
of the controller, which is believed within the bounds that the probes set (`isr_history`). If no
disk could be read, the states are those in brokers' answers to probes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import NO_LEADER
from checkers.evidence.isr_history import (
    FOREVER_NS,
    IsrHistory,
    answers_about,
    isr_histories,
)
from checkers.history.events import HistoryKind
from checkers.log.findings import Findings, findings_of
from checkers.page.timeline import integers

PARTITIONS_LIMIT = 6

_Nodes = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSpan:
    """A state of a partition, from `from_ns` to `to_ns`. `leader` is NO_LEADER if there is none."""

    from_ns: int
    to_ns: int
    leader: int
    leader_epoch: int
    isr: _Nodes
    elr: _Nodes
    last_known_elr: _Nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Offsets at times of the run; arrays of one length, in the order of time."""

    at_ns: Ints
    offset: Ints

    def __len__(self) -> int:
        return len(self.at_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLane:
    """`lost` and `allowed` are among the `acknowledged`, and gone at the end."""

    key: str
    replicas: _Nodes
    spans: tuple[PartitionSpan, ...]
    acknowledged: Points
    lost: Points
    allowed: Points
    high_watermarks: Points  # as consumers were answered


def partition_lanes(evidence: Evidence, end_ns: int) -> list[PartitionLane]:
    """For the partitions that clients used, those with losses first; empty if there are none."""
    if evidence.info.history != HistoryKind.LOG:
        return []
    findings, histories = evidence.once(findings_of), evidence.once(isr_histories)
    keys = findings.log.keys
    lost = np.bincount(
        findings.log.sent.key[findings.fates.acknowledged & findings.fates.lost],
        minlength=len(keys),
    )
    order = sorted(range(len(keys)), key=lambda code: (-lost[code], keys[code]))
    lanes = []
    for code in order[:PARTITIONS_LIMIT]:
        history = histories.get(keys[code])
        told = (
            _told(evidence, keys[code], end_ns)
            if history is None
            else _stored(evidence, history, end_ns)
        )
        if told:
            replicas = history.states[-1].replicas if history else _named(told)
            lanes.append(_lane(findings, code, told, replicas))
    return lanes


def _named(spans: Sequence[PartitionSpan]) -> _Nodes:
    """All nodes that any state names."""
    return tuple({node for s in spans for node in (*s.isr, *s.elr, *s.last_known_elr)})


def _lane(
    findings: Findings, code: int, spans: Sequence[PartitionSpan], replicas: _Nodes
) -> PartitionLane:
    fates, sent = findings.fates, findings.log.sent
    mine = fates.acknowledged & (sent.key == code)
    lost = findings.lost_within_budget()
    at_ns = findings.ended_ns[sent.op]
    acknowledged, gone, allowed = (
        _points(at_ns[chosen], fates.offset[chosen])
        for chosen in (mine, mine & lost, mine & fates.lost & ~lost)
    )
    return PartitionLane(
        key=findings.log.keys[code],
        replicas=tuple(sorted(replicas)),
        spans=tuple(spans),
        acknowledged=acknowledged,
        lost=gone,
        allowed=allowed,
        high_watermarks=_high_watermarks(findings, code),
    )


def _stored(evidence: Evidence, history: IsrHistory, end_ns: int) -> list[PartitionSpan]:
    """Each state until the next; the times never run back."""
    told = _clock(evidence, history.offsets)
    begins = np.clip(told, np.maximum(history.not_before, 0), history.known_by)
    begins = np.maximum.accumulate(np.minimum(begins, end_ns))
    return [
        PartitionSpan(
            from_ns=begin,
            to_ns=end,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            elr=state.elr,
            last_known_elr=state.last_known_elr,
        )
        for state, begin, end in zip(
            history.states, begins.tolist(), [*begins[1:].tolist(), end_ns], strict=True
        )
    ]


def _clock(evidence: Evidence, offsets: Ints) -> Ints:
    """By the controller's clock, in ns of the run; FOREVER_NS if the batch has no time."""
    log = evidence.committed_log
    batches = evidence.tables["log_batches"]
    batches = batches.filter(pc.equal(batches["node"], log.node if log else NO_LEADER))
    batches = batches.sort_by("base_offset")
    if not batches.num_rows:
        return np.full(len(offsets), FOREVER_NS)
    begins = integers(batches["base_offset"])
    place = np.maximum(np.searchsorted(begins, offsets, side="right") - 1, 0)
    wall_ms = batches["timestamp"].fill_null(-1).to_numpy()[place]
    started_ms = datetime.fromisoformat(evidence.info.started_utc).timestamp() * 1_000
    known = (wall_ms >= 0) & (begins[place] <= offsets)
    return np.where(known, ((wall_ms - started_ms) * 1e6).astype(np.int64), FOREVER_NS)


def _told(evidence: Evidence, key: str, end_ns: int) -> list[PartitionSpan]:
    """By brokers' answers: a claim of an older leader epoch than an earlier one changes nothing."""
    newest = NO_LEADER
    spans: list[PartitionSpan] = []
    for row in sorted(answers_about(evidence, key), key=itemgetter("t1")):
        newest = max(newest, row["epoch"])
        claim = _claim(row, end_ns)
        same = bool(spans) and claim == replace(spans[-1], from_ns=claim.from_ns)
        if row["epoch"] < newest or same:
            continue
        if spans:
            spans[-1] = replace(spans[-1], to_ns=claim.from_ns)
        spans.append(claim)
    return spans


def _claim(row: Mapping[str, Any], end_ns: int) -> PartitionSpan:
    return PartitionSpan(
        from_ns=row["t1"],
        to_ns=end_ns,
        leader=row["leader"],
        leader_epoch=row["epoch"],
        isr=tuple(sorted(row["isr"] or ())),
        elr=tuple(sorted(row["elr"] or ())),
        last_known_elr=tuple(sorted(row["last_known_elr"] or ())),
    )


def _high_watermarks(findings: Findings, code: int) -> Points:
    """The high watermarks in answers to polls, at the time when the poll returned."""
    polled, answers = findings.log.polled, findings.log.answers
    at_ns = findings.ended_ns[polled.op[answers.row]]
    mine = (polled.key[answers.row] == code) & (at_ns < FOREVER_NS)
    return _points(at_ns[mine], answers.high_watermark[mine])


def _points(at_ns: Ints, offset: Ints) -> Points:
    order = np.argsort(at_ns, kind="stable")
    return Points(at_ns=at_ns[order], offset=offset[order])
