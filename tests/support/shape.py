"""What a run looks like from afar, to be compared between runtimes.

Two runs of one schedule differ in every number, as any two runs do: time-outs are drawn, networks
and disks take their time. What they have in common is told here, fault by fault.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.history.sealed_run import Run

SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterFault:
    """From a fault's beginning to the next one's, or to the end of the load."""

    kind: str
    elections: int  # leaders that came to be
    unavailable_s: float  # the longest time without a success


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """`epochs`: by how many the epoch rose from the first leader's to the last's.
    `acknowledged_share`: of the writes of the load. Reads are left out: how many a wanderer asks of
    nodes that refuse it says how quick the machine is."""

    faults: tuple[AfterFault, ...]
    epochs: int
    acknowledged_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much further than the runs of the other runtime a run may go, either way.

    `unavailable_times`: so many times as long, or as short; and `hiccup_s` longer, for a machine
    that others use as well.
    """

    elections: int  # after each fault
    epochs: int
    acknowledged_share: float
    unavailable_times: float
    hiccup_s: float


def shape_of(run: Run) -> Shape:
    """Of a sealed run that came to its end."""
    load = run.tables["ops"].filter(pc.equal(run.tables["ops"]["phase"], "main"))
    ok = load.filter(pc.equal(load["outcome"], "ok"))
    writes = load.filter(pc.equal(load["f"], "write"))
    begun = _leaderships(run.tables["node_events"])
    faults = run.tables["faults"].sort_by("t_start").to_pylist()
    starts = [fault["t_start"] for fault in faults]
    ends = [*starts[1:], pc.max(load["t0"]).as_py()]
    return Shape(
        faults=tuple(
            AfterFault(
                kind=fault["kind"],
                elections=sum(start <= t < end for t in begun.values()),
                unavailable_s=_longest_gap_s(ok["t1"].to_numpy(), start, end),
            )
            for fault, start, end in zip(faults, starts, ends, strict=True)
        ),
        epochs=max(begun) - min(begun),
        acknowledged_share=pc.mean(pc.equal(writes["outcome"], "ok")).as_py(),
    )


def unlike(one: Shape, others: Sequence[Shape], bounds: Bounds) -> list[str]:
    """What sets `one` apart from all of `others`, in words; nothing where it is one of them.

    Each number is held against the least and the greatest of the others', widened by its bound.
    """
    kinds = {tuple(fault.kind for fault in shape.faults) for shape in (one, *others)}
    if len(kinds) > 1:
        return [f"other faults: {sorted(kinds)}"]
    epochs = [other.epochs for other in others]
    shares = [other.acknowledged_share for other in others]
    found = [
        _beyond("epochs", one.epochs, epochs, by=bounds.epochs),
        _beyond("of writes", one.acknowledged_share, shares, by=bounds.acknowledged_share),
    ]
    for number, fault in enumerate(one.faults):
        after = f"after fault {number}, {fault.kind}"
        elections = [other.faults[number].elections for other in others]
        gaps = [other.faults[number].unavailable_s for other in others]
        least, most = min(gaps) / bounds.unavailable_times, max(gaps) * bounds.unavailable_times
        found += [
            _beyond(f"elections {after}", fault.elections, elections, by=bounds.elections),
            _beyond(
                f"s without a success {after}", fault.unavailable_s, [least, most + bounds.hiccup_s]
            ),
        ]
    return [words for words in found if words]


def _beyond(what: str, value: float, others: Sequence[float], by: float = 0.0) -> str:
    """In words; "" where it is within."""
    least, most = min(others) - by, max(others) + by
    if least <= value <= most:
        return ""
    return f"{value:.3g} {what}, not between {least:.3g} and {most:.3g}"


def _leaderships(events: pa.Table) -> dict[int, int]:
    """When each epoch's leader first said that it leads."""
    leads = pc.and_(pc.equal(events["event"], "q.state"), pc.equal(events["state"], "leader"))
    found = events.filter(leads).group_by("epoch").aggregate([("t", "min")])
    return dict(zip(found["epoch"].to_pylist(), found["t_min"].to_pylist(), strict=True))


def _longest_gap_s(successes: NDArray[np.int64], start: int, end: int) -> float:
    """What began before, or ends after, is cut off there."""
    within = np.sort(successes[(successes >= start) & (successes <= end)])
    return float(np.diff(np.concatenate([[start], within, [end]])).max() / SECOND)
