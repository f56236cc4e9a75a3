"""A partition over time: a row per replica, and below them the acknowledged offsets.

A replica's row is dark while it leads, light while it is in the ISR, amber in the ELR, framed in
amber if it is only known to have been the last of the ELR, and pale outside. No dark row: no
leader. Below, acknowledged records are at the offset and time of their acknowledgement, those that
are lost at the end in red, and the high watermark is drawn as consumers were answered.

The state of each partition at every moment: leader, ISR, ELR, and acknowledged and lost records.

The states and their order are those of the metadata log on the disks. Its batches carry the clock
of the controller, which is believed within the bounds that the probes set (`isr_history`). If no
disk could be read, the states are those in brokers' answers to probes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import NO_LEADER
from checkers.evidence.isr_history import FOREVER_NS, IsrHistory, answers_about, isr_histories
from checkers.history.events import HistoryKind
from checkers.log.findings import Findings, findings_of
from checkers.page import units
from checkers.page.document import Markup, joined, section, tag
from checkers.page.lanes import FaultWindow
from checkers.page.svg import (
    LEFT,
    RIGHT,
    TimeScale,
    drawing,
    horizontal,
    legend,
    polyline,
    rectangle,
    round_step,
    text,
    vertical,
)
from checkers.page.timeline import bands, fault_rows, hatching, integers, time_axis, time_grid
from checkers.verdict import counted

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


_ROW = 20.0
_FAULT_ROW = 15.0
_PANEL = 104.0
_HEAD = 22.0
_CHARACTER = 6.2  # pixels, about

_STATES = (
    ("leader", "leader"),
    ("follower", "in the ISR"),
    ("elr", "in the ELR"),
    ("last-known", "last known ELR"),
    ("outside", "outside"),
    ("leaderless", "no leader"),
)
_RECORDS = (
    ("told", "acknowledged"),
    ("gone", "acknowledged and lost"),
    ("excused", "gone, as may be"),
)


def partition_drawing(lane: PartitionLane, faults: Sequence[FaultWindow], end_ns: int) -> Markup:
    """From the creation of the partition to the end of the run."""
    scale = _scale(lane, end_ns)
    rows = fault_rows(faults, end_ns)
    rows_top = _HEAD + len(rows) * _FAULT_ROW + 26
    states_end = rows_top + len(lane.replicas) * _ROW
    panel_top = states_end + 54
    bottom = panel_top + _PANEL
    return drawing(
        bottom + 34,
        hatching(),
        text(LEFT - 10, 14, lane.key, "title", "end"),
        bands(faults, scale, end_ns, _HEAD - 4, bottom),
        time_grid(scale, rows_top, bottom),
        _faults(rows, scale, end_ns),
        *_changes(lane.spans, scale, rows_top, bottom),
        *(
            _replica(node, lane, scale, rows_top + place * _ROW)
            for place, node in enumerate(lane.replicas)
        ),
        legend(_STATES, states_end + 16),
        _offsets(lane, scale, panel_top),
        time_axis(scale, bottom),
        label=f"Leader, ISR, ELR and high watermark of {lane.key} over time",
    )


def _scale(lane: PartitionLane, end_ns: int) -> TimeScale:
    begin = max(lane.spans[0].from_ns, 0)
    margin = max((end_ns - begin) // 40, 1)
    return TimeScale(max(begin - margin, 0), max(end_ns, begin + 1))


def _faults(rows: Sequence[Sequence[FaultWindow]], scale: TimeScale, end_ns: int) -> Markup:
    """Named bars: the faults, above their effects."""
    parts = [text(LEFT - 10, _HEAD + 10, "faults", "soft", "end")] if rows else []
    for number, row in enumerate(rows):
        y = _HEAD + number * _FAULT_ROW
        for fault in row:
            x1, x2 = scale.x(fault.start_ns), scale.x(fault.ends_ns(end_ns))
            parts += [
                rectangle(x1, x2, y, _FAULT_ROW - 3, "fault"),
                text(x1 + 4, y + 10, fault.name),
            ]
    return joined(*parts)


def _changes(
    spans: Sequence[PartitionSpan], scale: TimeScale, top: float, bottom: float
) -> Iterator[Markup]:
    """A line at each change of state, and over it the ISR, as far as there is room."""
    free_from = 0.0
    for span in spans:
        x = scale.x(span.from_ns)
        yield vertical(x, top - 4, bottom, "edge")
        if span.leader == NO_LEADER:
            about = f"no leader until {units.moment(span.to_ns)}"
            yield rectangle(x, scale.x(span.to_ns), top - 4, 4, "leaderless", about)
        words = _in_short(span)
        if x >= free_from:
            yield text(x + 2, top - 7, words, "title")
            free_from = x + _CHARACTER * len(words) + 8


def _in_short(span: PartitionSpan) -> str:
    """`[1,2,3]`, followed by the ELR if there is one: `[1] +2`."""
    isr = f"[{','.join(map(str, sorted(span.isr)))}]"
    return f"{isr} +{','.join(map(str, span.elr))}" if span.elr else isr


def _replica(node: int, lane: PartitionLane, scale: TimeScale, y: float) -> Markup:
    parts = [text(LEFT - 10, y + 13, f"broker {node}", "soft", "end")]
    shown = NO_LEADER
    for span in lane.spans:
        state, x1, x2 = _state(node, span), scale.x(span.from_ns), scale.x(span.to_ns)
        inset = 2.0 if state == "last-known" else 0.0
        box = (x1 + inset, x2 - inset, y + 2 + inset / 2, _ROW - 5 - inset)
        parts.append(rectangle(*box, state, _about(node, state, span)))
        words = f"leader, epoch {span.leader_epoch}"
        fits = _CHARACTER * len(words) + 8 <= x2 - x1
        if state == "leader" and span.leader_epoch != shown and fits:
            shown = span.leader_epoch
            parts.append(text(x1 + 4, y + 13.5, words, "on"))
    return joined(*parts)


def _state(node: int, span: PartitionSpan) -> str:
    if node == span.leader:
        return "leader"
    if node in span.isr:
        return "follower"
    if node in span.elr:
        return "elr"
    return "last-known" if node in span.last_known_elr else "outside"


def _about(node: int, state: str, span: PartitionSpan) -> str:
    leader = f"broker {span.leader}" if span.leader >= 0 else "none"
    return (
        f"broker {node}: {dict(_STATES)[state]}\n"
        f"{units.moment(span.from_ns)} to {units.moment(span.to_ns)}\n"
        f"leader {leader}, epoch {span.leader_epoch}, ISR {list(span.isr)}, ELR {list(span.elr)}, "
        f"last known ELR {list(span.last_known_elr)}"
    )


def _offsets(lane: PartitionLane, scale: TimeScale, top: float) -> Markup:
    """The acknowledged records, the high watermark, and over both the lost ones."""
    told = (lane.acknowledged, lane.high_watermarks)
    highest = max(1, *(int(points.offset.max(initial=0)) for points in told))
    step = round_step(highest / 4)
    ceiling = -(-highest // step) * step
    within = _Panel(scale=scale, ceiling=ceiling, top=top)
    return joined(
        text(LEFT, top - 9, "offset", "title"),
        legend(_RECORDS, top - 9, right=RIGHT - 118),
        legend((("hwm", "high watermark"),), top - 9, "line"),
        *(_level(value, within) for value in range(0, ceiling + 1, step)),
        _bars(lane.acknowledged, within, "told", least=2.0),
        _high_watermark(lane.high_watermarks, within),
        _bars(lane.allowed, within, "excused", least=5.0),
        _bars(lane.lost, within, "gone", least=5.0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """The scale of times and offsets; `ceiling` is the offset at its top."""

    scale: TimeScale
    ceiling: int
    top: float

    def y(self, offset: float) -> float:
        return self.top + _PANEL * (1 - offset / self.ceiling)

    def columns(self, at_ns: Ints) -> Ints:
        """The pixel of each time, from the left edge of the plot."""
        share = (at_ns - self.scale.start_ns) / (self.scale.end_ns - self.scale.start_ns)
        pixels: Ints = (np.clip(share, 0, 1) * (RIGHT - LEFT - 1)).astype(np.int64)
        return pixels


def _level(value: int, panel: _Panel) -> Markup:
    y = panel.y(value)
    return joined(horizontal(y), text(LEFT - 8, y + 4, f"{value:,}", "soft", "end"))


def _bars(points: Points, panel: _Panel, class_: str, *, least: float) -> Markup | None:
    """From the lowest to the highest acknowledged offset within a pixel of time, at least so many
    pixels in both directions. In one path: there may be thousands."""
    if not len(points):
        return None
    boxes = []
    for x, first, last in _runs(panel.columns(points.at_ns)):
        offsets = points.offset[first:last]
        low, high = panel.y(int(offsets.min())), panel.y(int(offsets.max()))
        height = max(low - high, least)
        left, top = LEFT + x - least / 2, (low + high - height) / 2
        boxes.append(f"M{left:.1f},{top:.1f}h{least:.0f}v{height:.1f}h-{least:.0f}z")
    about = f"{len(points):,} {dict(_RECORDS)[class_]}"
    return tag("path", tag("title", about), d=Markup("".join(boxes)), class_=class_)


def _runs(column: Ints) -> Iterator[tuple[int, int, int]]:
    """Each pixel with the first of its points and the one after its last."""
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    ends = [*starts[1:].tolist(), len(column)]
    yield from zip(column[starts].tolist(), starts.tolist(), ends[: len(starts)], strict=True)


def _high_watermark(points: Points, panel: _Panel) -> Markup | None:
    """In steps: the last answer holds until there is another one."""
    if not len(points):
        return None
    told = [(x, points.offset[last - 1]) for x, _, last in _runs(panel.columns(points.at_ns))]
    xs = [float(LEFT + x) for x, _ in told for _ in range(2)]
    ys = np.array([panel.y(float(value)) for _, value in told for _ in range(2)])
    return polyline(xs[1:], ys[:-1], "hwm")


# The partitions of a scenario of brokers, drawn.


_TITLE = "Partitions"
_CAPTION = (
    "A row per replica: whether it led, was in the ISR, or could still be elected (ELR). Numbers "
    "over the rows: the ISR, and behind + the ELR. Below: every acknowledged record at its "
    "offset and time, red if it is gone at the end, and the high watermark in answers to "
    "consumers."
)


def partitions_section(
    evidence: Evidence, faults: Sequence[FaultWindow], end_ns: int
) -> Markup | None:
    """None if clients used no partitions."""
    try:
        lanes = partition_lanes(evidence, end_ns)
    except Exception as error:  # noqa: BLE001 - evidence that no check can read has a page too
        why = f"They cannot be drawn: {type(error).__name__}: {error}"
        return section(_TITLE, tag("p", why, class_="soft"))
    if not lanes:
        return None
    drawings = [
        tag("div", partition_drawing(lane, faults, end_ns), class_="scroll") for lane in lanes
    ]
    used = len(evidence.tables["spans"]["key"].unique())
    more = used - len(lanes)
    left_out = (
        f" {counted(more, 'more partition is', 'more partitions are')} not drawn."
        if more > 0
        else ""
    )
    assert len(lanes) <= PARTITIONS_LIMIT
    return section(_TITLE, tag("figure", *drawings, tag("figcaption", _CAPTION + left_out)))
