"""Shapes of runs: what is told apart, and what is not. The runs are in tests/container."""

from dataclasses import replace
from pathlib import Path

import pytest

from chaos.launch import launch
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.victims import RandomFollower
from chaos.plan import RunPlan
from chaos.progress import ConsoleProgress
from chaos.scenario import SIM
from chaos.scenarios import CONTROLLER_SCENARIOS
from checkers.history.store import read_run
from tests.support.shape import AfterFault, Bounds, Shape, shape_of, unlike
from workloads.register_options import RegisterOptions

CUT = AfterFault(kind="partition", elections=1, unavailable_s=2.1)
KILL = AfterFault(kind="kill", elections=1, unavailable_s=2.6)
USUAL = Shape(faults=(CUT, KILL), epochs=2, acknowledged_share=0.97)
UNLUCKY = Shape(faults=(replace(CUT, unavailable_s=3.4), KILL), epochs=3, acknowledged_share=0.96)
BOUNDS = Bounds(elections=1, epochs=2, acknowledged_share=0.03, unavailable_times=2.0, hiccup_s=0.5)


def with_cut(cut: AfterFault) -> Shape:
    return replace(USUAL, faults=(cut, KILL))


@pytest.mark.parametrize(
    "shape",
    [
        USUAL,
        UNLUCKY,
        with_cut(replace(CUT, elections=2)),
        with_cut(replace(CUT, unavailable_s=1.1)),
        with_cut(replace(CUT, unavailable_s=7.2)),
        replace(USUAL, epochs=5),
        replace(USUAL, acknowledged_share=0.995),
    ],
)
def test_what_is_within_the_bounds_is_alike(shape: Shape) -> None:
    assert unlike(shape, [USUAL, UNLUCKY], BOUNDS) == []


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        (with_cut(replace(CUT, elections=3)), "3 elections after fault 0, partition"),
        (with_cut(replace(CUT, unavailable_s=0.05)), "0.05 s without a success after fault 0"),
        (with_cut(replace(CUT, unavailable_s=7.4)), "7.4 s without a success after fault 0"),
        (replace(USUAL, epochs=6), "6 epochs, not between 0 and 5"),
        (replace(USUAL, acknowledged_share=0.9), "0.9 of writes, not between 0.93 and 1"),
        (replace(USUAL, faults=(CUT,)), "other faults"),
        (replace(USUAL, faults=(KILL, CUT)), "other faults"),
    ],
)
def test_what_is_beyond_a_bound_is_told(shape: Shape, says: str) -> None:
    (said,) = unlike(shape, [USUAL, UNLUCKY], BOUNDS)
    assert says in said


@pytest.mark.slow
def test_cutting_off_a_follower_has_another_shape(tmp_path: Path) -> None:
    """One schedule, in which the leader is cut off; and once more, in which it is not."""
    plan = RunPlan(
        scenario=CONTROLLER_SCENARIOS["partition-leader"],
        seed=3,
        nodes=3,
        duration_s=10.0,
        runtime=SIM,
        load=RegisterOptions(concurrency=5, rate=50),
    )
    schedule = plan.drawn()
    harmless = tuple(
        replace(window, fault=NetworkPartition(victim=RandomFollower()))
        for window in schedule.windows
    )
    cut_off = shape(plan, tmp_path)
    unfelt = shape(replace(plan, schedule=replace(schedule, windows=harmless)), tmp_path)
    assert [fault.elections for fault in cut_off.faults] == [1]
    assert [fault.elections for fault in unfelt.faults] == [0]
    assert unlike(unfelt, [cut_off], BOUNDS)


def shape(plan: RunPlan, out: Path) -> Shape:
    ran = launch(plan, out, ConsoleProgress(quiet=True), page=False)
    return shape_of(read_run(ran.directory))
