"""Whole runs against a cluster in this process: verdicts, breakages, what is left behind."""

import asyncio
import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.interface import FaultEvidence, Link, NodeId, Reaped, Roles
from chaos.cluster.sim.loop import VirtualLoop
from chaos.interrupt import Interrupt
from chaos.progress import ConsoleProgress
from chaos.run.experiment import Timeouts
from chaos.run.judging import judge_directory
from chaos.run.plan import RunPlan
from chaos.run.runner import Kept, Runner
from chaos.scenarios import CONTROLLER_SCENARIOS
from checkers.evidence.voter_history import planned_voters
from checkers.history.sealed_run import read_run_info, write_run_info
from checkers.history.store import MANIFEST, VERDICT, read_run
from checkers.verdict import CheckResult, Judgement, Verdict
from tests.support.fake_cluster import FakeCluster
from tests.support.fake_node import Misbehaviour
from tests.support.virtual_time import LoopClock, in_virtual_time
from workloads.workload import RegisterOptions

LOAD = RegisterOptions(concurrency=5, rate=400, timeout_s=0.5)


def run(
    directory: Path,
    cluster: FakeCluster,
    scenario: str = "baseline",
    *,
    duration_s: float = 0.5,
    keep: bool = False,
    keep_on_failure: bool = False,
    kept: list[Kept | None] | None = None,
    quiet: bool = True,
    interrupt_after_s: float | None = None,
    load: RegisterOptions = LOAD,
    timeouts: Timeouts | None = None,
) -> Judgement:
    async def main() -> Judgement:
        interrupt = Interrupt()
        runner = Runner(
            plan=RunPlan(
                scenario=CONTROLLER_SCENARIOS[scenario],
                seed=5,
                nodes=3,
                duration_s=duration_s,
                load=load,
                keep=keep,
                keep_on_failure=keep_on_failure,
            ),
            cluster=cluster,
            directory=directory,
            clock=LoopClock(),
            progress=ConsoleProgress(quiet=quiet),
            interrupt=interrupt,
            timeouts=timeouts,
        )
        if interrupt_after_s is not None:
            asyncio.get_running_loop().call_later(interrupt_after_s, interrupt.ask, "SIGINT")
        try:
            return await runner.run()
        finally:
            if kept is not None:
                kept.append(runner.kept)
            for fake in cluster.fakes.values():  # also of a cluster that is kept
                await fake.stop()

    return in_virtual_time(main())


def row(judgement: Judgement, check: str) -> CheckResult:
    return next(result for result in judgement.results if result.check == check)


@pytest.mark.parametrize(
    "scenario",
    [
        name
        for name, each in CONTROLLER_SCENARIOS.items()
        if each.trial is None and each.script is None
    ],
)
def test_a_scenario_is_run_recorded_and_judged(tmp_path: Path, scenario: str) -> None:
    cluster = FakeCluster()
    judgement = run(tmp_path, cluster, scenario, duration_s=0.9)
    assert row(judgement, "linearizable").verdict is Verdict.VALID
    assert row(judgement, "faults-bit").verdict is Verdict.VALID
    assert row(judgement, "final-reads").verdict is Verdict.VALID
    assert cluster.destroyed
    info = read_run_info(tmp_path)
    assert (info.finished, info.trouble, info.target) == (True, "", "fake 1")
    assert set(info.fault_kinds) <= {fault.kind for fault in CONTROLLER_SCENARIOS[scenario].faults}
    assert bool(info.fault_kinds) == bool(CONTROLLER_SCENARIOS[scenario].faults)
    assert info.timings_s["hurt"] >= 0.9
    names = {path.name for path in tmp_path.iterdir()}
    assert {"run.json", "schedule.json", "verdict.json", "report.html", "_manifest.json"} <= names
    assert ("repro.sh" in names) == (judgement.verdict is not Verdict.VALID)


def test_a_fault_without_evidence_makes_the_run_void(tmp_path: Path) -> None:
    judgement = run(tmp_path, FakeCluster(bites=False), "kill-leader", duration_s=0.8)
    assert row(judgement, "faults-bit").verdict is Verdict.VOID
    assert judgement.verdict is Verdict.VOID


class Tiring(dict[str, str]):
    """Registers of a cluster that refuses every write after the third."""

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__()
        self.cluster = cluster
        self.writes = 0

    def __setitem__(self, key: str, value: str) -> None:
        super().__setitem__(key, value)
        self.writes += 1
        if self.writes == 3:
            asyncio.get_running_loop().call_soon(self._refuse)  # once this one is answered

    def _refuse(self) -> None:
        for fake in self.cluster.fakes.values():
            fake.misbehaviour = Misbehaviour.REFUSE


@pytest.mark.parametrize(
    ("read_share", "why"), [(0.0, "below 50 or 10%"), (0.95, "but only 3 writes")]
)
def test_a_run_in_which_almost_nothing_succeeded_is_void(
    tmp_path: Path, read_share: float, why: str
) -> None:
    cluster = FakeCluster()
    cluster.registers.values = Tiring(cluster)
    load, timeouts = replace(LOAD, read_share=read_share), Timeouts(write_s=0.2)
    judgement = run(tmp_path, cluster, duration_s=1.0, load=load, timeouts=timeouts)
    assert row(judgement, "workload-succeeded").verdict is Verdict.VOID
    assert why in row(judgement, "workload-succeeded").message
    assert row(judgement, "linearizable").verdict is Verdict.VALID
    assert "workload-succeeded" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("step", ["create", "kill", "start", "collect", "destroy"])
def test_whatever_breaks_the_run_is_sealed_judged_and_removed(tmp_path: Path, step: str) -> None:
    cluster = FakeCluster(break_at=step)
    judgement = run(tmp_path, cluster, "kill-leader", duration_s=0.8)
    assert judgement.verdict is Verdict.ERROR
    assert "as planned" in row(judgement, "run").message
    assert cluster.destroyed
    assert (tmp_path / "report.html").exists()
    assert "as planned" in (tmp_path / "harness.log").read_text()
    assert read_run_info(tmp_path).finished == (step in ("collect", "destroy"))


def test_a_full_disk_leaves_no_cluster_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what went wrong nor the sealed tables find room."""
    (tmp_path / "harness.log").symlink_to("/dev/full")

    def judge_without_room(directory: Path, *, page: bool) -> Judgement:
        assert page
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory))

    monkeypatch.setattr("chaos.run.runner.judge_directory", judge_without_room)
    cluster = FakeCluster(break_at="kill")
    with pytest.raises(OSError, match="No space left"):
        run(tmp_path, cluster, "kill-leader", duration_s=0.8)
    assert cluster.destroyed


def test_a_judge_that_takes_long_keeps_nobody_from_removing_the_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the loop for longer than removing may take."""
    removal_s = 0.5
    monkeypatch.setattr("chaos.run.runner._DESTROY_S", removal_s)
    cluster = FakeCluster()
    removed: list[bool] = []

    def judge_for_long(directory: Path, *, page: bool) -> Judgement:
        removed.append(cluster.destroyed and cluster.calls[-1] == "destroy")
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.now += 2 * removal_s
        return judge_directory(directory, page=page)

    monkeypatch.setattr("chaos.run.runner.judge_directory", judge_for_long)
    judgement = run(tmp_path, cluster, duration_s=0.5)
    assert removed == [True], "all is removed before anything is judged, once"
    assert judgement.verdict is not Verdict.ERROR, judgement.sentence
    assert read_run_info(tmp_path).trouble == ""


def test_whose_leavings_were_removed_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = FakeCluster()
    stuck = Reaped(run_id="dead-2", saved=tmp_path, trouble="dead-2 could not be removed")
    cluster.reaped = (Reaped(run_id="dead-1", saved=tmp_path / "logs-of-1"), stuck)
    run(tmp_path, cluster, quiet=False)
    err = capsys.readouterr().err
    assert "removed the leftovers of the dead run dead-1" in err
    assert str(tmp_path / "logs-of-1") in err
    assert "dead-2 could not be removed" in err


def test_a_run_that_is_interrupted_keeps_its_record_and_nothing_else(tmp_path: Path) -> None:
    cluster = FakeCluster()
    judgement = run(tmp_path, cluster, duration_s=60, interrupt_after_s=0.5)
    assert judgement.verdict is Verdict.ERROR
    assert "interrupted by SIGINT while injecting faults" in judgement.sentence
    assert cluster.destroyed
    assert read_run(tmp_path).tables["ops"].num_rows > 50


def test_a_run_that_was_killed_can_be_sealed_and_judged(tmp_path: Path) -> None:
    """As after SIGKILL: no last frame, no tables, `finished` still false."""
    run(tmp_path, FakeCluster(), "kill-leader", duration_s=1.6)
    for leaving in [*tmp_path.glob("*.parquet"), tmp_path / MANIFEST, tmp_path / VERDICT]:
        leaving.unlink()
    info = replace(read_run_info(tmp_path), finished=False, duration_ns=0)
    write_run_info(tmp_path, info)
    events = tmp_path / "events-ops.jsonl.zst"
    events.write_bytes(events.read_bytes()[:-50])
    judgement = judge_directory(tmp_path)
    assert judgement.verdict is Verdict.ERROR
    assert row(judgement, "run").message == "the harness died before the end of the run"
    assert row(judgement, "linearizable").verdict is Verdict.VALID
    assert "torn frame" in row(judgement, "record-complete").message


def test_judging_again_says_the_same(tmp_path: Path) -> None:
    first = run(tmp_path, FakeCluster(), "kill-leader", duration_s=0.8)
    again = judge_directory(tmp_path)
    assert (again.verdict, again.sentence) == (first.verdict, first.sentence)
    assert again.statistics == first.statistics


def test_a_kept_cluster_stays(tmp_path: Path) -> None:
    cluster = FakeCluster()
    run(tmp_path, cluster, keep=True)
    assert not cluster.destroyed


@pytest.mark.parametrize(
    ("ends", "cluster", "interrupted_s", "stays"),
    [
        ("void", FakeCluster(bites=False), None, True),
        ("in the middle of a fault", FakeCluster(break_at="start"), None, True),
        ("before there is a cluster", FakeCluster(break_at="create"), None, False),
        ("by a person", FakeCluster(), 0.4, False),
    ],
)
def test_a_failed_run_may_leave_its_cluster_as_it_was(
    tmp_path: Path, ends: str, cluster: FakeCluster, interrupted_s: float | None, stays: bool
) -> None:
    told: list[Kept | None] = []
    run(
        tmp_path,
        cluster,
        "kill-leader",
        duration_s=0.8,
        keep_on_failure=True,
        kept=told,
        interrupt_after_s=interrupted_s,
    )
    assert cluster.destroyed is not stays
    (kept,) = told
    assert (kept is not None) is stays
    if kept is not None:
        assert bool(kept.lasting) == (ends == "in the middle of a fault")


def test_a_valid_run_leaves_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, told = FakeCluster(), list[Kept | None]()
    there: list[bool] = []

    def judge_well(directory: Path, *, page: bool) -> Judgement:
        assert page
        there.append(not cluster.destroyed)
        return Judgement(run_id=directory.name, verdict=Verdict.VALID, sentence="", results=())

    monkeypatch.setattr("chaos.run.runner.judge_directory", judge_well)
    run(tmp_path, cluster, keep_on_failure=True, kept=told)
    assert (there, cluster.destroyed, told) == ([True], True, [None])


def test_a_lost_write_is_found_and_leaves_its_command(tmp_path: Path) -> None:
    """The registers keep nothing from the moment a partition heals: nobody may call that valid."""

    class KeepsNothing(dict[str, str]):
        def __setitem__(self, key: str, value: str) -> None:
            """Where only what was there is forgotten, keys may be written again before a read."""

    class Forgetful(FakeCluster):
        async def heal(self, links: Sequence[Link]) -> Mapping[Link, FaultEvidence]:
            self.registers.values = KeepsNothing()
            return await super().heal(links)

    judgement = run(tmp_path, Forgetful(), "partition-leader", duration_s=2.0)
    assert judgement.verdict is Verdict.INVALID
    assert row(judgement, "linearizable").witness
    repro = (tmp_path / "repro.sh").read_text()
    assert repro == '#!/bin/sh\nexec kraft-chaos replay "$(dirname "$0")"\n'
    command = read_run_info(tmp_path).command
    assert command == f"kraft-chaos replay {tmp_path.name}", "no flag says how long clients wait"


class NeverMade(FakeCluster):
    """Of a controller and a broker, of which one never answers."""

    settings: ClassVar[dict[str, str]] = {"quorum": "static"}
    images: ClassVar[dict[str, str]] = {}
    promises = ()

    @property
    def roles(self) -> Mapping[NodeId, Roles]:
        return dict(zip(self.nodes, (Roles.CONTROLLER, Roles.BROKER, Roles.BROKER), strict=True))

    async def create(self) -> None:
        raise ClusterError("node 2 does not answer within 120 s")


def test_who_votes_is_known_of_a_cluster_that_never_came_to_be(tmp_path: Path) -> None:
    """Its disks are judged; as if all its nodes voted, an election by one of one is no majority."""
    judgement = run(tmp_path, NeverMade())
    assert judgement.verdict is Verdict.ERROR
    info = read_run_info(tmp_path)
    assert (info.roles["1"], info.roles["2"]) == ("controller", "broker")
    assert info.settings == NeverMade.settings
    assert planned_voters(info) == (1,)
