"""One axis of time for everything: faults, nodes, operations per second, latency.

Fault windows run as bands behind all panels, so that an effect is seen under its cause.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.array_types import Ints
from checkers.page import units
from checkers.page.document import Markup, joined, tag
from checkers.page.lanes import FaultWindow, NodeLane, NodeSpan
from checkers.page.svg import (
    LEFT,
    RIGHT,
    WIDTH,
    TimeScale,
    drawing,
    horizontal,
    legend,
    polyline,
    rectangle,
    round_step,
    step_area,
    text,
    vertical,
)

# Operations in bins of time: the charts draw these instead of the operations themselves.


BINS_LIMIT = 300
OUTCOMES = ("ok", "fail", "info")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bins:
    """`count` equal bins of `width_ns`, the first from `start_ns`."""

    start_ns: int
    width_ns: int
    count: int

    def of(self, times: Ints) -> Ints:
        """The bin of each time; times outside fall into the first or the last."""
        return np.clip((times - self.start_ns) // self.width_ns, 0, self.count - 1)


def bins_over(start_ns: int, end_ns: int, limit: int = BINS_LIMIT) -> Bins:
    """The finest bins of a round width (1, 2 or 5 times a power of ten) within the limit."""
    span = max(end_ns - start_ns, 1)
    width = 1
    for factor in _round_steps():
        width = factor
        if -(-span // width) <= limit:
            break
    return Bins(start_ns, width, -(-span // width))


def _round_steps() -> list[int]:
    return [step * 10**power for power in range(19) for step in (1, 2, 5)]


def rates(ops: pa.Table, bins: Bins) -> dict[str, Floats]:
    """Completed operations per second in each bin, by outcome.

    An operation that never completed counts where it was invoked.
    """
    when = integers(pc.coalesce(ops["t1"], ops["t0"]))
    seconds = bins.width_ns / 1e9
    found: dict[str, Floats] = {}
    for outcome in OUTCOMES:
        places = bins.of(when[_having(ops, outcome)])
        found[outcome] = np.bincount(places, minlength=bins.count).astype(np.float64) / seconds
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """Latency in ns of the ok operations that completed in each bin; NaN where there was none."""

    p50: Floats
    p99: Floats
    max: Floats


def latencies(ops: pa.Table, bins: Bins) -> Latencies:
    ok = ops.filter(pc.and_(pc.equal(ops["outcome"], "ok"), pc.is_valid(ops["t1"])))
    done = integers(ok["t1"])
    took = done - integers(ok["t0"])
    place = bins.of(done)
    order = np.lexsort((took, place))
    took = took[order]
    first = np.searchsorted(place[order], np.arange(bins.count + 1))
    return Latencies(
        p50=_ranked(took, first, 0.50), p99=_ranked(took, first, 0.99), max=_ranked(took, first, 1)
    )


def _ranked(took: Ints, first: Ints, share: float) -> Floats:
    """The nearest-rank quantile of every bin of values that are sorted within their bins."""
    sizes = np.diff(first)
    found = np.full(len(sizes), np.nan)
    full = sizes > 0
    rank = np.maximum(np.ceil(share * sizes[full]).astype(np.int64), 1)
    found[full] = took[first[:-1][full] + rank - 1]
    return found


def integers(column: pa.ChunkedArray) -> Ints:
    """An integer column as a numpy array, with nulls as 0."""
    values: Ints = pc.fill_null(pc.cast(column, pa.int64()), 0).to_numpy()
    return values


def _having(ops: pa.Table, outcome: str) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = (
        pc.fill_null(pc.equal(ops["outcome"], outcome), False)
        .combine_chunks()
        .to_numpy(zero_copy_only=False)
    )
    return mask


_ROW = 18.0  # height of a row of faults
LANE_HEIGHT = 22.0
_PANEL = 116.0
_FAULT_ROWS_LIMIT = 8
_LEAST_PIXELS = 2.4  # a span of less than a pixel is drawn only this far from the one before

_ROLES = (("leader", "leader"), ("follower", "follower"), ("candidate", "candidate"))
_OTHERS = (("unattached", "no leader known"), ("paused", "paused"), ("off", "off"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The contents of the timeline. `marks` are the times of the witness, with their numbers."""

    faults: Sequence[FaultWindow]
    lanes: Sequence[NodeLane]
    ops: pa.Table
    end_ns: int
    marks: Sequence[tuple[int, int, int | None]] = ()  # number, t_ns, node


def timeline(course: Course) -> Markup:
    """The whole run in one drawing."""
    scale = TimeScale(0, max(course.end_ns, 1))
    bins = bins_over(scale.start_ns, scale.end_ns)
    top = 26.0
    rows = fault_rows(course.faults, course.end_ns)
    lanes_top = top + max(len(rows), 1) * _ROW + 12
    rate_top = lanes_top + len(course.lanes) * LANE_HEIGHT + 46
    latency_top = rate_top + _PANEL + 44
    bottom = latency_top + _PANEL
    return drawing(
        bottom + 34,
        hatching(),
        bands(course.faults, scale, course.end_ns, top - 6, bottom),
        time_grid(scale, lanes_top, bottom),
        _fault_row_marks(rows, scale, course.end_ns, top),
        _lane_marks(course.lanes, scale, lanes_top),
        legend((*_ROLES, *_OTHERS), lanes_top + len(course.lanes) * LANE_HEIGHT + 14),
        _rate_panel(course.ops, bins, scale, rate_top),
        _latency_panel(course.ops, bins, scale, latency_top),
        _witness_marks(course, scale, lanes_top, bottom),
        time_axis(scale, bottom),
        label="Faults, nodes, operations per second and latency over the time of the run",
    )


def hatching() -> Markup:
    line = tag("path", d="M0,6L6,0", class_="hatch")
    return tag(
        "defs",
        tag("pattern", line, id="hatch", width=6, height=6, patternUnits="userSpaceOnUse"),
    )


def bands(
    faults: Sequence[FaultWindow], scale: TimeScale, end_ns: int, top: float, bottom: float
) -> Markup:
    shown = [fault for fault in faults if _overlaps(fault, scale, end_ns)]
    return joined(
        *(
            rectangle(
                scale.x(fault.start_ns),
                scale.x(fault.ends_ns(end_ns)),
                top,
                bottom - top,
                "band",
                describe(fault, end_ns),
            )
            for fault in shown
        )
    )


def describe(fault: FaultWindow, end_ns: int) -> str:
    """The tooltip of a fault: kind, nodes, time and evidence."""
    healed = units.moment(fault.healed_ns) if fault.healed_ns is not None else "never healed"
    lasted = units.duration(fault.ends_ns(end_ns) - fault.start_ns)
    return (
        f"{fault.kind}: {fault.where}\n{units.moment(fault.start_ns)} to {healed} ({lasted})\n"
        f"evidence: {fault.evidence or 'none'}"
    )


def _overlaps(fault: FaultWindow, scale: TimeScale, end_ns: int) -> bool:
    return fault.start_ns <= scale.end_ns and fault.ends_ns(end_ns) >= scale.start_ns


def fault_rows(faults: Sequence[FaultWindow], end_ns: int) -> list[list[FaultWindow]]:
    """Faults in as few rows as possible without overlap; the last row takes the rest."""
    rows: list[list[FaultWindow]] = []
    for fault in faults:
        free = next((row for row in rows if row[-1].ends_ns(end_ns) < fault.start_ns), None)
        if free is None and len(rows) >= _FAULT_ROWS_LIMIT:
            free = rows[-1]
        if free is None:
            rows.append([fault])
        else:
            free.append(fault)
    return rows


def _fault_row_marks(
    rows: Sequence[Sequence[FaultWindow]], scale: TimeScale, end_ns: int, top: float
) -> Markup:
    parts = [text(LEFT - 10, top + 11, "faults", "title", "end")]
    if not rows:
        parts.append(text(LEFT + 4, top + 11, "none", "soft"))
    for number, row in enumerate(rows):
        y = top + number * _ROW
        for at, fault in enumerate(row):
            x1, x2 = scale.x(fault.start_ns), scale.x(fault.ends_ns(end_ns))
            parts.append(rectangle(x1, x2, y, _ROW - 4, "fault", describe(fault, end_ns)))
            room = (scale.x(row[at + 1].start_ns) if at + 1 < len(row) else RIGHT) - x1
            parts.append(_fault_name(fault, x1, y + 11, room))
    return joined(*parts)


def _fault_name(fault: FaultWindow, x: float, y: float, room: float) -> Markup:
    """Kind and nodes if there is room for them; else the tooltip has to do."""
    nodes = ",".join(map(str, fault.nodes))
    for words in (fault.name, fault.kind, nodes):
        if words and 6.0 * len(words) + 8 <= room:
            return text(x + 4, y, words)
    return Markup("")


def _lane_marks(lanes: Sequence[NodeLane], scale: TimeScale, top: float) -> Markup:
    return joined(*(lane_mark(lane, scale, top + n * LANE_HEIGHT) for n, lane in enumerate(lanes)))


def lane_mark(lane: NodeLane, scale: TimeScale, y: float) -> Markup:
    """A node's row: boxes by role, the epoch at each change of it."""
    parts = [text(LEFT - 10, y + 13, f"node {lane.node}", "title", "end")]
    drawn_from = -_LEAST_PIXELS
    for span in (*lane.spans, *lane.paused):
        x1, x2 = scale.x(span.from_ns), scale.x(span.to_ns)
        outside = span.to_ns < scale.start_ns or span.from_ns > scale.end_ns
        crowded = x2 - x1 < 1 and abs(x1 - drawn_from) < _LEAST_PIXELS
        if outside or span.state == "unseen" or crowded:
            continue
        parts.append(rectangle(x1, x2, y + 2, LANE_HEIGHT - 6, span.state, _about(lane, span)))
        drawn_from = x1
    parts.extend(_epochs(lane, scale, y + 13.5))
    if not lane.traced:
        parts.append(text(LEFT + 6, y + 13.5, "no traces: role unknown", "soft"))
    return joined(*parts)


def _about(lane: NodeLane, span: NodeSpan) -> str:
    epoch = "" if span.epoch is None else f", epoch {span.epoch}"
    return (
        f"node {lane.node}: {span.state}{epoch}\n"
        f"{units.moment(span.from_ns)} to {units.moment(span.to_ns)}"
    )


def _epochs(lane: NodeLane, scale: TimeScale, y: float) -> list[Markup]:
    """The epoch's number where it begins, if it does not overlap with the one before."""
    parts: list[Markup] = []
    free_from, shown = 0.0, None
    for span in lane.spans:
        x1, x2 = scale.x(span.from_ns), scale.x(span.to_ns)
        words = f"epoch {span.epoch}" if shown is None else str(span.epoch)
        needed = 6.2 * len(words) + 8
        if span.epoch is None or (span.epoch == shown and span.state != "leader"):
            continue
        if span.to_ns < scale.start_ns or x1 < free_from or x2 - x1 < needed:
            continue
        parts.append(text(x1 + 4, y, words, "on" if span.state == "leader" else ""))
        free_from, shown = x1 + needed, span.epoch
    return parts


def _rate_panel(ops: pa.Table, bins: Bins, scale: TimeScale, top: float) -> Markup:
    by_outcome = rates(ops, bins)
    stacked = np.cumsum([by_outcome[outcome] for outcome in OUTCOMES], axis=0)
    high = float(stacked[-1].max(initial=0.0))
    step = round_step(high / 4)
    ceiling = max(math.ceil(high / step) * step, step)
    heights = top + _PANEL * (1 - stacked / ceiling)
    edges = _edges(bins, scale)
    floor = np.full(bins.count, top + _PANEL)
    parts = [_panel_head("operations/s", top, [(o, o) for o in OUTCOMES], "rect")]
    for value in range(0, ceiling + 1, step):
        parts.append(_level(top + _PANEL * (1 - value / ceiling), f"{value:,}"))
    for index, outcome in enumerate(OUTCOMES):
        low = heights[index - 1] if index else floor
        if by_outcome[outcome].any():
            parts.append(step_area(edges, low, heights[index], outcome))
    return joined(*parts)


def _latency_panel(ops: pa.Table, bins: Bins, scale: TimeScale, top: float) -> Markup:
    """Latency of ok operations, each decade as high as the others."""
    found = latencies(ops, bins)
    low, high = _decades(found.max, found.p50)
    names = [("p50", "p50"), ("p99", "p99"), ("max", "max")]
    parts = [_panel_head("latency of ok", top, names, "line")]
    for power in range(low, high + 1):
        y = top + _PANEL * (1 - (power - low) / (high - low))
        parts.append(_level(y, units.power_of_ten(power)))
    edges = _edges(bins, scale)
    middles = [(left + right) / 2 for left, right in pairwise(edges)]
    for class_, values in (("max", found.max), ("p99", found.p99), ("p50", found.p50)):
        ys = top + _PANEL * (1 - (np.log10(np.maximum(values, 1)) - low) / (high - low))
        parts.append(polyline(middles, ys, class_))
    return joined(*parts)


def _decades(high: Floats, low: Floats) -> tuple[int, int]:
    """The powers of ten (of ns) that hold all values; a ms to a second when there are none."""
    known = high[~np.isnan(high)]
    if not len(known):
        return 6, 9
    least = math.floor(math.log10(max(float(np.nanmin(low)), 1)))
    most = math.ceil(math.log10(max(float(known.max()), 10)))
    return least, max(most, least + 1)


def _edges(bins: Bins, scale: TimeScale) -> list[float]:
    return [scale.x(bins.start_ns + n * bins.width_ns) for n in range(bins.count + 1)]


def _panel_head(name: str, top: float, series: Sequence[tuple[str, str]], mark: str) -> Markup:
    return joined(text(LEFT, top - 9, name, "title"), legend(series, top - 9, mark))


def _level(y: float, words: str) -> Markup:
    return joined(horizontal(y), text(LEFT - 8, y + 4, words, "soft", "end"))


def time_grid(scale: TimeScale, top: float, bottom: float) -> Markup:
    return joined(*(vertical(scale.x(at), top, bottom, "grid") for at in scale.ticks()))


def time_axis(scale: TimeScale, y: float) -> Markup:
    ticks = scale.ticks()
    step = ticks[1] - ticks[0] if len(ticks) > 1 else scale.end_ns - scale.start_ns
    digits = max(0, math.ceil(9 - math.log10(max(step, 1)) - 1e-9))
    marks = [text(scale.x(at), y + 16, f"{at / 1e9:.{digits}f}", "soft", "middle") for at in ticks]
    return joined(*marks, text(WIDTH - 16, y + 31, "seconds since the run began", "soft", "end"))


def _witness_marks(course: Course, scale: TimeScale, top: float, bottom: float) -> Markup:
    """A red hairline for each event of the witness, and a dot in its node's lane."""
    parts: list[Markup] = []
    rows = {lane.node: n for n, lane in enumerate(course.lanes)}
    lined, numbered_to = -10.0, -10.0
    for number, at_ns, node in sorted(course.marks, key=lambda mark: mark[1]):
        x = scale.x(at_ns)
        if x - lined >= 1:
            parts.append(vertical(x, top - 4, bottom, "witness"))
            lined = x
        if node in rows:
            y = top + rows[node] * LANE_HEIGHT + LANE_HEIGHT / 2 - 1
            about = tag("title", f"witness {number}: {units.moment(at_ns)}")
            parts.append(tag("circle", about, cx=x, cy=y, r=3.5, class_="mark"))
        if x - numbered_to >= 14:
            parts.append(text(x + 3, bottom - 4, str(number), "hit"))
            numbered_to = x
    return joined(*parts)
