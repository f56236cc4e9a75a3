"""The witness of a violation: at most 20 events that show it, in a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from checkers.page import units
from checkers.page.fault_windows import FaultWindow
from checkers.page.lanes import NodeLane
from checkers.page.markup import Markup, tag
from checkers.verdict import CheckResult, EventValue

_KNOWN = ("what", "t_ns", "t1_ns", "node", "process", "key")
_OF_OPERATIONS = ("f", "value", "outcome")


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
