"""Nodes are looked at from inside after every step; what is broken is told and judged."""

import asyncio
import json
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.cluster.interface import DiskTrouble, NodeId
from chaos.cluster.sim.invariant_keeper import InvariantKeeper, ProcessMonitor
from chaos.cluster.sim.invariants.rules import ANSWER_RULES, OF_CONTROLLERS
from chaos.cluster.sim.loop import VirtualLoop
from chaos.cluster.sim.sim_cluster import SimCluster
from chaos.cluster.sim.world import SimWorld
from checkers.history.sealed_run import read_run_info
from node.effects import Stop
from node.outbox import Output

LOAD = ["--concurrency", "5", "--rate", "50", "--runtime", "sim"]
ONE = NodeId(1)


def test_the_step_in_which_a_node_stops_is_looked_at_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may hold the answer that makes somebody else the leader."""
    seen: list[Output] = []
    look = ProcessMonitor.after_step

    def after_step(post: ProcessMonitor, outputs: list[Output]) -> None:
        seen.extend(outputs)
        look(post, outputs)

    monkeypatch.setattr(ProcessMonitor, "after_step", after_step)

    async def story() -> None:
        cluster = world.cluster(run_id="", nodes=3, target="node", keep=False, directory=None)
        assert isinstance(cluster, SimCluster)
        await cluster.create()
        await asyncio.sleep(2)
        await cluster.stop(ONE)
        assert cluster.broken_invariant is None

    world = SimWorld(seed=1)
    world.run(story())
    assert any(isinstance(output, Stop) for output in seen)


def test_a_bug_is_told_with_its_step_and_judged(tmp_path: Path) -> None:
    words = ["run", "kill-leader", "--mutation", "Q-HWM-EPOCH", "--seed", "1", "--duration", "5"]
    assert main([*words, *LOAD, "--out", str(tmp_path)]) == 1
    broken = read_run_info(tmp_path / "latest").broken_invariant
    assert broken is not None
    assert broken["invariant"] == "Q13-high-watermark-above-leader-change"
    results = json.loads((tmp_path / "latest" / "verdict.json").read_text())["results"]
    accusers = [row["check"] for row in results if row["verdict"] == "invalid"]
    assert "invariant:Q13-high-watermark-above-leader-change" in accusers
    assert "Q13-high-watermark-above-leader-change" in accusers, "seen from outside as well"
    (row,) = [row for row in results if row["check"].startswith("invariant:")]
    assert f"n{broken['node']}, life 1, step " in row["message"]


def test_a_run_keeps_how_much_each_invariant_looked_at(tmp_path: Path) -> None:
    words = ["run", "kill-leader", "--seed", "1", "--duration", "5"]
    counted = []
    for name in ("once", "again"):
        assert main([*words, *LOAD, "--out", str(tmp_path / name)]) == 0
        counted.append(read_run_info(tmp_path / name / "latest").looked_at)
    first, again = counted
    assert first == again
    assert first["Q4-elected-by-a-majority"] >= 2, "two leaders, at least"
    assert first["acknowledged-writes-are-committed"] > 100


def test_of_nodes_whose_disks_lie_no_step_proves_anything() -> None:
    async def story() -> None:
        cluster = world.cluster(run_id="", nodes=1, target="node", keep=False, directory=None)
        assert isinstance(cluster, SimCluster)
        await cluster.create()
        await cluster.trouble_disks([ONE], DiskTrouble.LYING)
        await asyncio.sleep(3)
        await cluster.power_off([ONE])
        await cluster.start(ONE)
        assert cluster.broken_invariant is None

    world = SimWorld(seed=1)
    world.run(story())


def test_rules_of_answers_that_looked_at_nothing_are_told_as_well() -> None:
    """Those of brokers only where there are any."""
    keeper = InvariantKeeper(VirtualLoop())
    assert keeper.looked == dict.fromkeys(OF_CONTROLLERS, 0)
    keeper.looked["told-quorum-is-so"] += 1
    keeper.open_for_brokers(min_isr=2)
    assert keeper.looked.keys() == ANSWER_RULES.keys()
    assert keeper.looked["told-quorum-is-so"] == 1
