"""Shrinking by repeated runs in containers, with runs that are made up."""

from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from chaos.campaign import shrinking
from chaos.campaign.coverage import Fingerprint
from chaos.campaign.repeated_runs import RepeatedRuns, nodes_of, smaller_clusters
from chaos.cluster.interface import NodeId
from chaos.errors import OperatorError
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.script import Schedule, Window
from chaos.nemesis.victims import OneNode
from chaos.run.launch import Ran
from chaos.run.plan import RunPlan
from chaos.run.planning import Choices, plan_of
from chaos.run.scenario_file import ScenarioFile
from checkers.verdict import Judgement, Verdict

RULE = "log-durability"
FAULTS = """name = "mine"
duration_s = 60
[random]
faults = ["kill", "pause", "partition"]
every_s = 5
hold_s = [1, 3]
"""


@pytest.fixture
def plan() -> RunPlan:
    file = ScenarioFile(name="mine.toml", text=FAULTS)
    return plan_of(Choices(scenario="mine", file=file, seed=1, runtime="docker")).settled()


class MadeUp:
    """Runs that break a rule where `fails` says so of a plan; the n-th run of all is given too."""

    def __init__(self, directory: Path, fails: Callable[[RunPlan, int], bool]) -> None:
        self.directory = directory
        directory.mkdir(exist_ok=True)
        self.plans: list[RunPlan] = []
        self._fails = fails

    def __call__(self, plan: RunPlan) -> tuple[Ran, Collection[str]]:
        self.plans.append(plan)
        number = len(self.plans)
        place = self.directory / str(number)
        place.mkdir()
        fails = self._fails(plan, number)
        verdict = Verdict.INVALID if fails else Verdict.VALID
        judgement = Judgement(run_id="x", verdict=verdict, sentence="", results=())
        ran = Ran(judgement=judgement, directory=place, interrupted=False, duration_s=1.0)
        return ran, ["another", RULE] if fails else ["another"]


def shrunk(
    plan: RunPlan,
    runs: MadeUp,
    *,
    tries: int = 1,
    fails: int = 1,
    within_s: float = 1e6,
    costs_s: float = 1.0,
) -> RepeatedRuns:
    times = count(step=costs_s)
    found = RepeatedRuns(
        [RULE],
        tries=tries,
        fails=fails,
        within_s=within_s,
        run=runs,
        tell=lambda _: None,
        clock=lambda: float(next(times)),
    )
    found.shrink(plan)
    return found


def kinds(plan: RunPlan) -> list[str]:
    return [window.fault.kind for window in plan.drawn().windows]


def test_one_fault_little_time_and_few_clients_are_left(plan: RunPlan, tmp_path: Path) -> None:
    runs = MadeUp(tmp_path, lambda each, _: "pause" in kinds(each))
    best = shrunk(plan, runs).best
    assert best is not None
    assert kinds(best.plan) == ["pause"]
    (window,) = best.plan.drawn().windows
    assert window.at_s == 1.0
    assert best.plan.duration_s == best.plan.drawn().duration_s == pytest.approx(window.end_s + 2)
    assert best.plan.load.concurrency == 2
    assert [each.name for each in tmp_path.iterdir()] == [best.ran.directory.name]


@pytest.mark.parametrize("ends", [KeyboardInterrupt, OperatorError("the engine died")])
def test_what_ends_it_early_leaves_the_smallest_so_far(
    ends: BaseException, plan: RunPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_plan: RunPlan, number: int) -> bool:
        if number == 4:
            raise ends
        return True

    recorded, out = tmp_path / "recorded", tmp_path / "out"
    for name, value in {
        "in_containers": lambda scratch: MadeUp(scratch, fails),
        "run_directory": lambda _: recorded,
        "plan_of_run": lambda _: plan,
        "_wanted": lambda _: [Fingerprint(check=RULE, anomaly="lost")],
    }.items():
        monkeypatch.setattr(shrinking, name, value)
    with pytest.raises((KeyboardInterrupt, OperatorError)):
        shrinking.shrink_repeating(recorded, "docker", 60, 1, out)
    assert [each.name for each in out.iterdir()] == ["3"]


def test_clients_that_are_needed_stay(plan: RunPlan, tmp_path: Path) -> None:
    runs = MadeUp(tmp_path, lambda each, _: each.load.concurrency >= 8)
    best = shrunk(plan, runs).best
    assert best is not None
    assert (kinds(best.plan), best.plan.load.concurrency) == ([], 10)


def test_a_failure_that_needs_luck_is_tried_several_times(plan: RunPlan, tmp_path: Path) -> None:
    best = shrunk(plan, MadeUp(tmp_path, lambda _, number: number % 2 == 0), tries=2).best
    assert best is not None
    assert (best.tries, kinds(best.plan)) == (2, [])
    assert "failed alike in 1 of 2 runs" in str(best)


def test_so_many_of_the_tries_must_fail_and_no_more_are_run_than_decide(
    plan: RunPlan, tmp_path: Path
) -> None:
    rare = MadeUp(tmp_path / "rare", lambda _, number: number == 2)
    found = shrunk(plan, rare, tries=4, fails=3)
    assert (found.best, found.runs) == (None, 3), "after two that did not fail, three cannot"
    assert not list((tmp_path / "rare").iterdir())
    often = MadeUp(tmp_path / "often", lambda each, number: number != 2 and "pause" in kinds(each))
    best = shrunk(plan, often, tries=4, fails=3).best
    assert best is not None
    assert (kinds(best.plan), best.failed) == (["pause"], 3)
    assert "failed alike in 3 of 3 runs" in str(best)
    assert [each.name for each in (tmp_path / "often").iterdir()] == [best.ran.directory.name]


def sizes(**choices: Any) -> list[int]:
    plan = plan_of(Choices(seed=1, runtime="docker", **choices)).settled()
    return [nodes_of(each) for each in smaller_clusters(plan)]


def test_clusters_become_smaller_as_far_as_there_are_such() -> None:
    assert sizes(scenario="power-off", nodes=5) == [3], "quorums in containers have 3 or 5"
    assert sizes(scenario="power-off", nodes=3) == []
    of_kafka = {"scenario": "partition-brokers", "target": "kafka"}
    assert sizes(**of_kafka, nodes=4, settings={"replication": "3"}) == [4]
    both = {"brokers": "3", "controllers": "3"}
    assert sizes(scenario="power-off", settings=both) == [4, 5], "it needs three voters"


def test_a_node_that_a_fault_names_stays(plan: RunPlan) -> None:
    named = Window(at_s=1, hold_s=1, fault=Kill(victim=OneNode(NodeId(5))))
    of_five = replace(plan, nodes=5, schedule=Schedule(duration_s=9, windows=(named,)))
    assert [*smaller_clusters(of_five)] == []


def test_what_does_not_fail_again_is_told_and_leaves_nothing(plan: RunPlan, tmp_path: Path) -> None:
    runs = MadeUp(tmp_path, lambda _plan, _number: False)
    found = shrunk(plan, runs, tries=3)
    assert (found.best, found.runs) == (None, 3)
    assert not list(tmp_path.iterdir())


def test_when_the_time_is_up_the_smallest_so_far_is_the_result(
    plan: RunPlan, tmp_path: Path
) -> None:
    runs = MadeUp(tmp_path, lambda each, _: {"pause", "kill"} <= set(kinds(each)))
    found = shrunk(plan, runs, within_s=5.5)
    assert found.best is not None
    assert 0 < found.runs <= 6
    assert {"pause", "kill"} <= set(kinds(found.best.plan))
    assert len(list(tmp_path.iterdir())) == 1
