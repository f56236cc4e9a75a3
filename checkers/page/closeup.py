"""The moments around a witness, drawn: the operations on its keys under the roles of the nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from checkers.page import units
from checkers.page.markup import Markup, joined
from checkers.page.svg import LEFT, TimeScale, drawing, rectangle, text, vertical
from checkers.page.timeline import LANE_HEIGHT, bands, hatching, lane_mark
from checkers.page.witness import Scene, witness_marks
from checkers.verdict import CheckResult

_OPS_LIMIT = 40
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


def witness_drawing(result: CheckResult, scene: Scene) -> Markup | None:
    """The operations on the witness' keys around its events, a row a process, over the nodes.

    None when no event has a time: then there is nothing to draw.
    """
    marks = witness_marks(result)
    if not marks:
        return None
    scale = _around([at_ns for _, at_ns, _ in marks])
    ops = _ops_near(result, scene.ops, scale)
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


def _around(times: Sequence[int]) -> TimeScale:
    """The witness with a fifth of its length on both sides, at least 5 ms."""
    margin = max((max(times) - min(times)) // 5, 5_000_000)
    return TimeScale(max(min(times) - margin, 0), max(times) + margin)


def _numbers(marks: Sequence[tuple[int, int, int | None]], scale: TimeScale, y: float) -> Markup:
    """A hairline for each event; the numbers of events too close to part stand together."""
    groups: list[tuple[float, list[int]]] = []
    for number, at_ns, _ in sorted(marks, key=lambda mark: (mark[1], mark[0])):
        x = scale.x(at_ns)
        if groups and x - groups[-1][0] < 7 + 9 * len(groups[-1][1]):
            groups[-1][1].append(number)
        else:
            groups.append((x, [number]))
    lines = {round(scale.x(at_ns), 1) for _, at_ns, _ in marks}
    return joined(
        *(vertical(x, 8, y, "witness") for x in sorted(lines)),
        *(text(x + 3, y - 2, ",".join(map(str, numbers)), "hit") for x, numbers in groups),
    )


def _ops_near(result: CheckResult, ops: pa.Table, scale: TimeScale) -> list[_Operation]:
    """The operations on the keys of the witness in that time: its own, then the nearest."""
    keys = [str(event["key"]) for event in result.witness if event.get("key") is not None]
    ends = pc.coalesce(ops["t1"], pa.scalar(scale.end_ns))
    near = pc.and_(
        pc.is_in(ops["key"], pa.array(keys, pa.string())),
        pc.and_(pc.less_equal(ops["t0"], scale.end_ns), pc.greater_equal(ends, scale.start_ns)),
    )
    times = [at_ns for _, at_ns, _ in witness_marks(result)]
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


def _op_mark(op: _Operation, scale: TimeScale, y: float, result: CheckResult) -> Markup:
    done = scale.end_ns if op.t1 is None else op.t1
    x1, x2 = scale.x(op.t0), scale.x(done)
    value = "nothing" if op.value is None else op.value
    error = f" ({op.error})" if op.error else ""
    about = (
        f"process {op.process}: {op.f} {op.key} {value}, {op.outcome}{error}\n"
        f"{units.moment(op.t0)}, took {units.duration(done - op.t0)}, node {op.node}"
    )
    seen = " seen" if _is_seen(op, result) else ""
    words = f"{op.f} {value}"
    fits = 6.2 * len(words) + 6 <= x2 - x1
    if op.t1 is None:  # nobody knows when, or whether, it took effect
        return rectangle(x1, x2, y + 6, 3, f"{op.outcome}{seen}", about)
    return joined(
        rectangle(x1, x2, y, _ROW - 5, f"{op.outcome}{seen}", about),
        text(x1 + 3, y + 11.5, words, "on") if fits else None,
    )
