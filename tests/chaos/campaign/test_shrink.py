"""Ever less of a planted bug's failure, and the narrative of what is left."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.campaign.coverage import Fingerprint
from chaos.campaign.recorded_run import narrative
from chaos.campaign.shrinker import Attempt, Shrinker
from chaos.cli import main
from chaos.conditions import Conditions
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.script import Schedule, Window
from chaos.nemesis.victims import ControllerLeader
from chaos.progress import ConsoleProgress
from chaos.run.launch import launch
from chaos.run.plan import RunPlan
from chaos.run.planning import plan_of
from chaos.scenarios.swarm import SWARM
from checkers.verdict import CheckResult, Judgement, Verdict
from tests.chaos.campaign.test_campaign import choices
from tests.support.histories import MS, NodeTrace, fault, make_run, read, write
from workloads.workload import RegisterOptions

WANTED = Fingerprint(check="Q1", anomaly="so", role="leader")
OTHER = Fingerprint(check="invariant:Q2", anomaly="as well", role="leader")
CUT, KILL = NetworkPartition(victim=ControllerLeader()), Kill(victim=ControllerLeader())


class Imagined(Shrinker):
    """Runs nothing: `bad` says of a plan whether it would fail."""

    def __init__(self, plan: RunPlan, bad: Callable[[RunPlan], bool], within_s: float = 60) -> None:
        self.now = 0.0
        self.told: list[str] = []
        super().__init__(
            plan,
            WANTED,
            within_s=within_s,
            tell=self.told.append,
            scratch=Path("nowhere"),
            clock=lambda: self.now,
        )
        self._bad = bad

    def _run(self, plan: RunPlan) -> Attempt:
        self.now += 1.0
        return Attempt(
            fingerprints=(OTHER, WANTED) if self._bad(plan) else (),
            operations=plan.load.most_operations or 400,
            failed_by_s=40.0,
        )


def plan(windows: int = 12) -> RunPlan:
    made = tuple(
        Window(at_s=2.0 + 4 * n, hold_s=3.0, fault=CUT if n % 2 else KILL) for n in range(windows)
    )
    return RunPlan(
        scenario=SWARM,
        seed=1,
        nodes=5,
        duration_s=80.0,
        schedule=Schedule(duration_s=80.0, windows=made, side_by_side=True),
        load=RegisterOptions(concurrency=8, live_keys=5),
        conditions=Conditions(fetch_timeout_ms=3000),
        runtime="sim",
    )


def needs(plan: RunPlan) -> bool:
    """A kill, two cuts, 17 operations, three nodes."""
    kinds = [window.fault for window in plan.drawn().windows]
    most = plan.load.most_operations
    enough = not most or most >= 17
    return kinds.count(CUT) >= 2 and KILL in kinds and enough and plan.nodes >= 3


def test_what_the_failure_does_not_need_goes() -> None:
    shrinker = Imagined(plan(), needs, within_s=200)
    assert shrinker.fails(plan())
    least = shrinker.shrink()
    kinds = [window.fault for window in least.drawn().windows]
    assert sorted(fault.kind for fault in kinds) == ["kill", "partition", "partition"]
    assert (least.nodes, least.load.most_operations) == (3, 17)
    assert isinstance(least.load, RegisterOptions)
    assert (least.load.live_keys, least.load.concurrency) == (1, 2)
    assert least.conditions == Conditions()
    assert least.drawn().duration_s < 10
    assert least.duration_s == least.drawn().duration_s
    assert str(shrinker.size).startswith("3 faults, 17 operations, 3 nodes, ")
    assert shrinker.told, "progress is told as it goes"


def test_a_coincidence_comes_back_with_another_seed() -> None:
    """Few operations are enough, but not with the seed with which many failed."""
    whole = replace(plan(), load=RegisterOptions(rate=50.0, most_operations=0))

    def bad(tried: RunPlan) -> bool:
        return needs(tried) and (not tried.load.most_operations or tried.seed % 5 == 3)

    shrinker = Imagined(whole, bad, within_s=200)
    assert shrinker.fails(whole)
    least = shrinker.shrink()
    assert (least.seed, least.load.most_operations) == (3, 17)
    assert least.load.rate < 10, "they reach as far as the many did"


def test_when_the_time_is_up_the_best_so_far_has_to_do() -> None:
    shrinker = Imagined(plan(), needs, within_s=9)
    assert shrinker.fails(plan())
    least = shrinker.shrink()
    assert needs(least)
    assert len(least.drawn().windows) < 12
    assert shrinker.attempts <= 10
    assert shrinker.told[-1] == "the time is up"


def test_another_failure_is_none() -> None:
    class Other(Imagined):
        def _run(self, plan: RunPlan) -> Attempt:
            return replace(super()._run(plan), fingerprints=(replace(WANTED, role="follower"),))

    assert not Other(plan(), needs).fails(plan())


def test_a_failure_in_containers_is_one_by_the_same_rule() -> None:
    """Whatever row comes first, by a check or by an invariant inside; what fails in virtual time is
    then what has to fail."""
    shrinker = Imagined(plan(), needs)
    assert not shrinker.fails_by_the_same_rule(plan(), {"Q3", "invariant:Q2"})
    assert shrinker.fails_by_the_same_rule(plan(), {"Q3", "Q2"})
    assert shrinker._wanted == OTHER
    assert needs(shrinker.shrink())


def test_a_story_is_in_order_and_says_who_did_what() -> None:
    one = NodeTrace(1).start(at=0).state("candidate", 1, at=5 * MS).state("leader", 1, 1, at=9 * MS)
    two = NodeTrace(2).start(at=1).state("follower", 1, 1, at=12 * MS).restart(7, 1, at=70 * MS)
    cut = {**fault(0, "partition", 40, 60), "links": ["1->2"]}
    ops = [write(101, 20, 30), read(None, 50, 55, outcome="fail", error="timed-out", process=3)]
    row = CheckResult(
        check="Q1",
        verdict=Verdict.INVALID,
        message="it broke",
        count=1,
        promise="it holds",
        witness=[{"what": "broke here", "t_ns": 65 * MS, "node": 2}],
    )
    judgement = Judgement(
        run_id="r", verdict=Verdict.INVALID, sentence="INVALID: Q1: it broke", results=(row,)
    )
    run = make_run(ops=ops, traces=[one, two], faults=[cut], mutation="Q-X", seed=9)
    lines = narrative(run, judgement, "kraft-chaos replay here").splitlines()
    told = [line[13:].strip() for line in lines if line[:9].strip().replace(".", "").isdigit()]
    assert told == [
        "node 1 starts",
        "node 2 starts",
        "node 1 stands for epoch 1",
        "node 1 leads epoch 1; its log ends at 0",
        "node 2 follows node 1 in epoch 1",
        "client 0 writes 101 to r-0 at node 1",
        "client 0 is told that 101 is written",
        "-- partition of node 1 (1->2) begins",
        "client 3 reads r-0 at node 1",
        "client 3 is refused: timed-out",
        "-- partition of node 1 (1->2) is over: swallowed 100 bytes",
        ">> node 2: broke here",
        "node 2 starts again, its log ends at 7, epoch 1",
    ]
    assert "3 nodes, with Q-X planted in every node; seed 9." in lines
    assert lines[-1] == "To see it again: kraft-chaos replay here"


@pytest.mark.slow
def test_a_planted_bug_shrinks_to_what_a_person_can_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = choices(mutation="Q-ZOMBIE", seed=3, duration_s=12.0)
    failing = launch(plan_of(wanted), tmp_path, ConsoleProgress(quiet=True))
    out = tmp_path / "shrunk"
    assert main(["shrink", str(failing.directory), "--minutes", "2", "--out", str(out)]) == 0
    assert "INVALID: Q22-cut-off-leader-resigns" in capsys.readouterr().out
    (left,) = out.iterdir()
    text = (left / "narrative.txt").read_text()
    assert "with Q-ZOMBIE planted in every node" in text
    assert "no other node reaches it any more" in text
    assert main(["replay", str(left), "--out", str(tmp_path / "again")]) == 1
    assert "byte for byte" in capsys.readouterr().err


def test_there_is_nothing_to_shrink_of_a_valid_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    valid = launch(
        plan_of(choices("baseline", seed=3, duration_s=3.0)),
        tmp_path,
        ConsoleProgress(quiet=True),
    )
    assert main(["shrink", str(valid.directory), "--out", str(tmp_path / "shrunk")]) == 255
    assert "there is no failure to shrink" in capsys.readouterr().err
