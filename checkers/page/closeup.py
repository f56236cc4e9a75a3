"""A witness on the page: its events in a table, and the moments around it drawn, with the
operations on its keys under the roles of the nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from checkers.history.events import value_name
from checkers.page import units
from checkers.page.document import Markup, joined, tag
from checkers.page.lanes import FaultWindow, NodeLane
from checkers.page.svg import LEFT, TimeScale, drawing, rectangle, text, vertical
from checkers.page.timeline import LANE_HEIGHT, bands, hatching, lane_mark
from checkers.verdict import CheckResult, EventValue

# The table of a witness: at most 20 events that show the violation.


_KNOWN = ("what", "t_ns", "t1_ns", "node", "process", "key")
_OF_OPERATIONS = ("f", "value", "outcome")
_SEND = "send"  # its value is a record's


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The surroundings of the witness."""

    faults: Sequence[FaultWindow]
    lanes: Sequence[NodeLane]
    ops: pa.Table
    end_ns: int


def with_witness(results: Sequence[CheckResult]) -> list[CheckResult]:
    """The results that have a witness, the worst first: it speaks for the run."""
    shown = [result for result in results if result.witness]
    return sorted(shown, key=lambda result: -result.verdict.value)


def witness_marks(result: CheckResult) -> list[tuple[int, int, int | None]]:
    """Number, time and node of every event that has a time."""
    return [
        (number, at_ns, _whole(event.get("node")))
        for number, event in enumerate(result.witness, 1)
        if (at_ns := _whole(event.get("t_ns"))) is not None
    ]


def witness_table(result: CheckResult, scene: Scene) -> Markup:
    """One row per event: when, where, what, and during which fault."""
    head = ("#", "time", "node", "process", "key", "what", "more", "under fault")
    classes = ("number", "number", "number", "number", "", "wide", "", "")
    rows = [
        tag(
            "tr",
            *(
                tag("td", cell, class_=class_ or None)
                for cell, class_ in zip(_cells(n, event, scene), classes, strict=True)
            ),
        )
        for n, event in enumerate(result.witness, 1)
    ]
    names = (tag("th", name, class_=c or None) for name, c in zip(head, classes, strict=True))
    body = tag("table", tag("thead", tag("tr", *names)), tag("tbody", *rows))
    return tag("div", body, class_="scroll")


def _cells(number: int, event: Mapping[str, EventValue], scene: Scene) -> Sequence[str]:
    at_ns = _whole(event.get("t_ns"))
    return (
        str(number),
        units.moment(at_ns),
        *(_shown(event.get(name)) for name in ("node", "process", "key", "what")),
        _more(event),
        _under(at_ns, scene),
    )


def _more(event: Mapping[str, EventValue]) -> str:
    """The event's other fields: an operation as one, `write 42, ok, took 3.10 ms`, or names."""
    told: list[str] = []
    if "f" in event:
        value = "nothing" if event.get("value") is None else event["value"]
        told = [f"{event['f']} {value}", str(event.get("outcome") or "")]
    begun, done = _whole(event.get("t_ns")), _whole(event.get("t1_ns"))
    if begun is not None and done is not None:
        told.append(f"took {units.duration(done - begun)}")
    hidden = {*_KNOWN, *_OF_OPERATIONS} if "f" in event else _KNOWN
    told += [
        f"{name.replace('_', ' ')} {_shown(value)}"
        for name, value in event.items()
        if name not in hidden
    ]
    return ", ".join(filter(None, told))


def _under(at_ns: int | None, scene: Scene) -> str:
    if at_ns is None:
        return units.NOTHING
    over = [f.name for f in scene.faults if f.covers(at_ns, scene.end_ns)]
    return "; ".join(over) or "none"


def _shown(value: EventValue) -> str:
    return units.NOTHING if value is None else str(value)


def _whole(value: EventValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_OPS_LIMIT = 40
_DRAWINGS_LIMIT = 4
_PAUSE_NS = 1_000_000_000
_ROW = 20.0
_COLUMNS = ["process", "f", "key", "value", "outcome", "error", "node", "t0", "t1"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    process: int
    f: str
    key: str
    value: int | None
    outcome: str
    error: str | None
    node: int | None
    t0: int
    t1: int | None


@dataclass(frozen=True, slots=True)
class _Mark:
    """An event of the witness by its number, from its beginning to its end (often the same)."""

    number: int
    from_ns: int
    to_ns: int


def witness_drawings(result: CheckResult, scene: Scene) -> list[Markup]:
    """The operations on the witness' keys around its events, a row per process, under the nodes.

    Events that are far apart are drawn apart. Nothing is drawn if no event has a time.
    """
    return [_drawing(group, result, scene) for group in _groups(_marks(result))]


def _marks(result: CheckResult) -> list[_Mark]:
    ends = [event.get("t1_ns") for event in result.witness]
    return [
        _Mark(number, at_ns, max(end if isinstance(end, int) else at_ns, at_ns))
        for number, at_ns, _ in witness_marks(result)
        for end in (ends[number - 1],)
    ]


def _groups(marks: Sequence[_Mark]) -> list[list[_Mark]]:
    """Marks in the order of time, parted at the widest pauses of more than a second."""
    ordered = sorted(marks, key=lambda mark: (mark.from_ns, mark.number))
    pauses = [(after.from_ns - before.to_ns) for before, after in pairwise(ordered)]
    widest = sorted((ns for ns in pauses if ns > _PAUSE_NS), reverse=True)[: _DRAWINGS_LIMIT - 1]
    groups: list[list[_Mark]] = []
    for mark, pause in zip(ordered, [None, *pauses], strict=False):
        if pause is None or pause in widest:
            groups.append([])
        groups[-1].append(mark)
    return groups


def _drawing(marks: Sequence[_Mark], result: CheckResult, scene: Scene) -> Markup:
    scale = _around(marks)
    ops = _ops_near(marks, result, scene.ops, scale)
    processes = sorted({op.process for op in ops})
    ops_top = 18 + len(scene.lanes) * LANE_HEIGHT + 10
    bottom = ops_top + len(processes) * _ROW + 14
    rows = {process: ops_top + n * _ROW for n, process in enumerate(processes)}
    return drawing(
        bottom + 18,
        hatching(),
        bands(scene.faults, scale, scene.end_ns, 8, bottom),
        *(lane_mark(lane, scale, 14 + n * LANE_HEIGHT) for n, lane in enumerate(scene.lanes)),
        *(text(LEFT - 10, y + 12, f"process {p}", "soft", "end") for p, y in rows.items()),
        *(_op_mark(op, scale, rows[op.process], result) for op in reversed(ops)),
        _numbers(marks, scale, bottom),
        text(LEFT, bottom + 14, units.moment(scale.start_ns), "soft"),
        text(scale.x(scale.end_ns), bottom + 14, units.moment(scale.end_ns), "soft", "end"),
        label="The moments around the witness",
    )


def _around(marks: Sequence[_Mark]) -> TimeScale:
    """The events with a fifth of their length on both sides, at least 5 ms."""
    begin, end = min(mark.from_ns for mark in marks), max(mark.to_ns for mark in marks)
    margin = max((end - begin) // 5, 5_000_000)
    return TimeScale(max(begin - margin, 0), end + margin)


def _numbers(marks: Sequence[_Mark], scale: TimeScale, y: float) -> Markup:
    """A hairline for each event; events too close to separate share their numbers."""
    groups: list[tuple[float, list[int]]] = []
    for mark in marks:
        x = scale.x(mark.from_ns)
        if groups and x - groups[-1][0] < 7 + 9 * len(groups[-1][1]):
            groups[-1][1].append(mark.number)
        else:
            groups.append((x, [mark.number]))
    lines = {round(scale.x(mark.from_ns), 1) for mark in marks}
    return joined(
        *(vertical(x, 8, y, "witness") for x in sorted(lines)),
        *(text(x + 3, y - 2, ",".join(map(str, numbers)), "hit") for x, numbers in groups),
    )


def _ops_near(
    marks: Sequence[_Mark], result: CheckResult, ops: pa.Table, scale: TimeScale
) -> list[_Operation]:
    """The operations on the keys of the witness in that time: its own, then the nearest."""
    keys = [str(event["key"]) for event in result.witness if event.get("key") is not None]
    ends = pc.coalesce(ops["t1"], pa.scalar(scale.end_ns))
    near = pc.and_(
        pc.is_in(ops["key"], pa.array(keys, pa.string())),
        pc.and_(pc.less_equal(ops["t0"], scale.end_ns), pc.greater_equal(ends, scale.start_ns)),
    )
    times = [mark.from_ns for mark in marks]
    found = [_Operation(**row) for row in ops.select(_COLUMNS).filter(near).to_pylist()]
    found.sort(key=lambda op: (not _is_seen(op, result), min(abs(op.t0 - at) for at in times)))
    return found[:_OPS_LIMIT]


def _is_seen(op: _Operation, result: CheckResult) -> bool:
    """Whether an event of the witness is this operation's beginning or end."""
    return any(
        event.get("key") == op.key
        and event.get("process") in (None, op.process)
        and event.get("t_ns") in (op.t0, op.t1)
        for event in result.witness
    )


def _value(op: _Operation) -> str:
    if op.value is None:
        return "nothing"
    return value_name(op.value) if op.f == _SEND else str(op.value)


def _op_mark(op: _Operation, scale: TimeScale, y: float, result: CheckResult) -> Markup:
    done = scale.end_ns if op.t1 is None else op.t1
    x1, x2 = scale.x(op.t0), scale.x(done)
    value = _value(op)
    error = f" ({op.error})" if op.error else ""
    about = (
        f"process {op.process}: {op.f} {op.key} {value}, {op.outcome}{error}\n"
        f"{units.moment(op.t0)}, took {units.duration(done - op.t0)}, node {op.node}"
    )
    seen = " seen" if _is_seen(op, result) else ""
    words = f"{op.f} {value}"
    fits = 6.2 * len(words) + 6 <= x2 - x1
    if op.t1 is None:  # it is unknown when, or whether, it took effect
        return rectangle(x1, x2, y + 6, 3, f"{op.outcome}{seen}", about)
    return joined(
        rectangle(x1, x2, y, _ROW - 5, f"{op.outcome}{seen}", about),
        text(x1 + 3, y + 11.5, words, "on") if fits else None,
    )
