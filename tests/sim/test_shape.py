"""A run with a fault that is felt has another shape than one with a fault that is not."""

from dataclasses import replace
from pathlib import Path

import pytest

from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.victims import RandomFollower
from chaos.progress import ConsoleProgress
from chaos.run.launch import launch
from chaos.run.plan import RunPlan
from chaos.scenario import SIM
from chaos.scenarios import CONTROLLER_SCENARIOS
from checkers.history.store import read_run
from tests.support.shape import Shape, shape_of
from workloads.workload import RegisterOptions


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
    (cut_off,) = shape(plan, tmp_path).faults
    (unfelt,) = shape(replace(plan, schedule=replace(schedule, windows=harmless)), tmp_path).faults
    assert (cut_off.elections, unfelt.elections) == (1, 0)
    assert cut_off.unavailable_s > 1 > unfelt.unavailable_s


def shape(plan: RunPlan, out: Path) -> Shape:
    ran = launch(plan, out, ConsoleProgress(quiet=True), page=False)
    return shape_of(read_run(ran.directory))
