"""What a run looks like from afar, to be compared between runtimes.

Two runs of one schedule differ in every number, as any two runs do: time-outs are drawn, networks
and disks take their time. What they have in common is told here, fault by fault.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from chaos.campaign.recorded_run import plan_of_run
from chaos.progress import ConsoleProgress
from chaos.run.launch import launch
from chaos.scenario import SIM
from checkers.history.sealed_run import Run
from checkers.history.store import read_run

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

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(fault.kind for fault in self.faults)


def recorded_shape(directory: Path) -> Shape:
    return shape_of(read_run(directory))


def replayed_shape(recorded: Path, out: Path, *, seed: int) -> Shape:
    """Of the windows of a recorded run in virtual time; the seed draws time-outs and latencies."""
    plan = replace(plan_of_run(recorded), runtime=SIM, seed=seed)
    ran = launch(plan, out, ConsoleProgress(quiet=True), page=False)
    if ran.judgement.verdict.word != "valid":
        raise AssertionError(ran.judgement.sentence)
    return recorded_shape(ran.directory)


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


def _leaderships(events: pa.Table) -> dict[int, int]:
    """When each epoch's leader first said that it leads."""
    leads = pc.and_(pc.equal(events["event"], "q.state"), pc.equal(events["state"], "leader"))
    found = events.filter(leads).group_by("epoch").aggregate([("t", "min")])
    return dict(zip(found["epoch"].to_pylist(), found["t_min"].to_pylist(), strict=True))


def _longest_gap_s(successes: NDArray[np.int64], start: int, end: int) -> float:
    """What began before, or ends after, is cut off there."""
    within = np.sort(successes[(successes >= start) & (successes <= end)])
    return float(np.diff(np.concatenate([[start], within, [end]])).max() / SECOND)
