"""A healed cluster that does nothing: the three ends of such a run, and nobody waits for ever."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.interface import FaultEvidence, NodeId
from chaos.interrupt import Interrupt
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.script import Begin, End, Script, StartAll, UntilLed
from chaos.nemesis.victims import OneNode
from chaos.progress import ConsoleProgress
from chaos.run.experiment import Timeouts
from chaos.run.plan import RunPlan
from chaos.run.runner import Runner
from chaos.run.starvation import MachineWatch
from chaos.scenario import Scenario
from chaos.scenarios import CONTROLLER_SCENARIOS
from checkers.history.sealed_run import read_run_info
from checkers.verdict import CheckResult, Judgement, Verdict
from tests.support.fake_cluster import FakeCluster
from tests.support.virtual_time import LoopClock, in_virtual_time
from workloads.workload import RegisterOptions

QUIET = {"longest_late_ms": 5.0, "late_share": 0.0}
STARVED = {"longest_late_ms": 4_000.0, "late_share": 0.7}


class Leaderless(FakeCluster):
    """Once a fault is cured all processes run, and none of them ever leads."""

    async def collect(self, into: Path) -> None:
        await super().collect(into)
        for node in self.nodes:
            (into / "logs" / f"node-{node}.err").write_text(f"node {node}: nobody votes for me\n")

    async def start(self, node: NodeId) -> None:
        await super().start(node)
        self._forget()

    async def resume(self, node: NodeId) -> None:
        await super().resume(node)
        self._forget()

    def _forget(self) -> None:
        for election in self._elections:
            election.cancel()
        self.registers.leader = None


class NeverLed(Leaderless):
    async def create(self) -> None:
        await super().create()
        self._forget()


class DiesOnItsWay(FakeCluster):
    """One node ends while the cluster comes up, and the others wait for it."""

    async def start_all(self) -> None:
        await super().start_all()
        await self.stop(NodeId(3))

    async def until_ready(self) -> None:
        await asyncio.sleep(60)


class NeverReady(FakeCluster):
    async def until_ready(self) -> None:
        raise ClusterError("node 2 does not tell of brokers 1, 2 within 120 s")


@pytest.fixture(autouse=True)
def _short_of_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaos.nemesis.aim.LEADER_WITHIN_S", 0.2)
    monkeypatch.setattr("chaos.nemesis.nemesis._WHOLE_S", 0.3)


def run(
    directory: Path, cluster: FakeCluster, scenario: Scenario = CONTROLLER_SCENARIOS["kill-leader"]
) -> Judgement:
    async def main() -> Judgement:
        runner = Runner(
            plan=RunPlan(
                scenario=scenario,
                seed=5,
                nodes=3,
                duration_s=0.8,
                load=RegisterOptions(concurrency=5, rate=400, timeout_s=0.2),
            ),
            cluster=cluster,
            directory=directory,
            clock=LoopClock(),
            progress=ConsoleProgress(quiet=True),
            interrupt=Interrupt(),
            timeouts=Timeouts(write_s=0.8, whole_s=0.5, final_reads_s=1.0),
        )
        return await runner.run()

    return in_virtual_time(main())


def row(judgement: Judgement) -> CheckResult:
    return next(each for each in judgement.results if each.check == "recovers-when-healed")


def told(monkeypatch: pytest.MonkeyPatch, figures: dict[str, float]) -> None:
    """The machine is as a test wants it."""
    monkeypatch.setattr(MachineWatch, "figures", lambda *_: figures)


def test_on_a_machine_that_had_time_the_cluster_is_to_blame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(monkeypatch, QUIET)
    judgement = run(tmp_path, Leaderless())
    assert judgement.verdict is Verdict.INVALID
    assert row(judgement).message.startswith(
        "no node led the quorum within 0.2 s, and none led 0.3 s later, although no fault holds "
        "node 1, node 2, node 3: 3 of 3 controllers"
    )
    said = [event["what"] for event in row(judgement).witness]
    assert "node 1 said last: node 1: nobody votes for me" in said
    info = read_run_info(tmp_path)
    assert (info.finished, info.trouble, info.pressure) == (False, "", QUIET)


def test_a_starved_machine_is_named_and_no_node_accused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(monkeypatch, STARVED)
    judgement = run(tmp_path, Leaderless())
    assert row(judgement).verdict is Verdict.ERROR
    assert "4,000 ms late" in row(judgement).message
    assert judgement.verdict is Verdict.ERROR


def test_a_cluster_that_goes_on_has_recovered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(monkeypatch, QUIET)
    judgement = run(tmp_path, FakeCluster())
    assert row(judgement).verdict is Verdict.VALID
    load = read_run_info(tmp_path).machine_load
    assert load[0]["t_ns"] < 1e8
    assert {each["longest_late_ms"] for each in load} == {0.0}


def test_a_first_write_that_is_never_acknowledged_is_the_cluster_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(monkeypatch, QUIET)
    judgement = run(tmp_path, NeverLed())
    assert judgement.verdict is Verdict.INVALID
    assert row(judgement).message.startswith("no write was acknowledged within 0.8 s")


def test_a_paused_process_is_nobody_s_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Paused(NeverLed):
        async def create(self) -> None:
            await super().create()
            await self.pause(NodeId(2))

    told(monkeypatch, QUIET)
    judgement = run(tmp_path, Paused())
    assert judgement.verdict is Verdict.ERROR
    assert "node 2 is paused" in judgement.sentence


WAITS = Script(
    steps=(
        Begin(name="away", fault=Kill(victim=OneNode(NodeId(3)))),
        UntilLed(anew=True, within_s=0.2),
        End(name="away"),
    )
)


class LosesItsLeader(Leaderless):
    """As soon as the first of its nodes is killed, or asked for."""

    async def kill(self, node: NodeId) -> FaultEvidence:
        evidence = await super().kill(node)
        self._forget()
        return evidence


def test_a_majority_that_elects_nobody_while_a_script_waits_is_to_blame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(monkeypatch, QUIET)
    scenario = replace(CONTROLLER_SCENARIOS["kill-leader"], script=WAITS)
    judgement = run(tmp_path, LosesItsLeader(), scenario)
    assert judgement.verdict is Verdict.INVALID
    assert row(judgement).message.startswith(
        "no node led the quorum within 0.2 s, and none led 0.3 s later, although no fault holds "
        "node 1, node 2: 2 of 3 controllers"
    )


COMES_UP = replace(
    CONTROLLER_SCENARIOS["kill-leader"], coming_up=Script(steps=(StartAll(), UntilLed()))
)


def test_a_cluster_of_which_a_node_ends_on_its_way_never_comes_back(tmp_path: Path) -> None:
    judgement = run(tmp_path, DiesOnItsWay(), COMES_UP)
    assert judgement.verdict is Verdict.INVALID
    assert row(judgement).message.startswith("node 3 ended by itself")
    assert read_run_info(tmp_path).stuck_for_sure


def test_a_cluster_that_never_serves_is_to_blame_where_the_machine_had_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(monkeypatch, QUIET)
    judgement = run(tmp_path, NeverReady(), COMES_UP)
    assert judgement.verdict is Verdict.INVALID
    assert row(judgement).message.startswith("node 2 does not tell of brokers 1, 2 within 120 s")
    told(monkeypatch, STARVED)
    (tmp_path / "starved").mkdir()
    assert row(run(tmp_path / "starved", NeverReady(), COMES_UP)).verdict is Verdict.ERROR
