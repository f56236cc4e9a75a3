"""Processes that end by themselves: noticed, accused with their last words, and one verdict for all
that refuse to start."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.cluster.cluster_errors import DiedAtStartError
from chaos.cluster.interface import NodeId, NodeStatus
from chaos.cluster.sim import sim_machine
from chaos.cluster.sim.sim_cluster import SimCluster
from chaos.cluster.sim.world import SimWorld
from node.controller.controller import Controller
from node.process_roles import ControllerRole
from node.server.outcome import Refusal
from node.server.recovered import Recovered, recover

ONE = NodeId(1)
RUN = ["run", "kill-leader", "--seed", "1", "--duration", "5", "--concurrency", "5", "--rate", "50"]


def after(calls: int, right: Callable[..., object]) -> Callable[..., object]:
    """The decision as it is; called once more than so many times, it breaks, and then no more."""
    left = calls

    def decide(*arguments: object) -> object:
        nonlocal left
        left -= 1
        if left == -1:
            raise AssertionError("three is less than two")
        return right(*arguments)

    return decide


def told(directory: Path) -> dict[str, dict[str, str]]:
    results = json.loads((directory / "latest" / "verdict.json").read_text())["results"]
    return {row["check"]: row for row in results}


def test_who_is_started_again_after_it_ended_by_itself_is_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        cluster = world.cluster(run_id="", nodes=1, target="node", keep=False, directory=None)
        assert isinstance(cluster, SimCluster)
        await cluster.create()
        assert await cluster.unasked_ends() == []
        monkeypatch.setattr(Controller, "on_timeout", after(3, Controller.on_timeout))
        while await cluster.status(ONE) is not NodeStatus.OFF:
            await asyncio.sleep(0.01)
        await cluster.start(ONE)
        await cluster.kill(ONE)
        await cluster.start(ONE)
        await cluster.stop(ONE)
        (end,) = await cluster.unasked_ends()
        assert (end.node, end.exit_code) == (ONE, 1)
        assert "an invariant is broken: three is less than two" in end.words
        assert end.mono_ns > world.clock.started_mono_ns

    world = SimWorld(seed=1)
    world.run(story())


def test_a_node_that_ended_by_itself_makes_a_run_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Controller, "write", after(40, Controller.write))
    assert main([*RUN, "--runtime", "sim", "--out", str(tmp_path)]) == 1
    row = told(tmp_path)["nodes-kept-running"]
    assert row["verdict"] == "invalid"
    assert "three is less than two" in row["message"]
    assert "three is less than two" in told(tmp_path)["recovers-when-healed"]["message"]


def test_a_node_that_fails_as_it_is_told_to_stop_makes_a_run_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also at the end of all, when everybody is told to: seen of a combined node that wrote on as
    a leader after it had resigned."""
    shut_down = ControllerRole.begin_shutdown
    monkeypatch.setattr(ControllerRole, "begin_shutdown", after(0, shut_down))
    run = ["run", "baseline", "--seed", "1", "--duration", "3", "--runtime", "sim"]
    assert main([*run, "--out", str(tmp_path)]) == 1
    row = told(tmp_path)["nodes-kept-running"]
    assert row["verdict"] == "invalid"
    assert "was asked to stop, but failed after" in row["message"]
    assert "three is less than two" in row["message"]


def test_a_node_that_refuses_to_start_makes_a_run_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does in containers."""
    starts = 0

    def refuse_the_fourth(*arguments: object) -> Recovered:
        nonlocal starts
        starts += 1
        if starts > 3:
            raise Refusal(what="the log is torn", where="kraft", next_step="look at the disk")
        return recover(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(sim_machine, "recover", refuse_the_fourth)
    assert main([*RUN, "--runtime", "sim", "--out", str(tmp_path)]) == 1
    rows = told(tmp_path)
    assert rows["nodes-kept-running"]["verdict"] == "invalid"
    assert "the log is torn" in rows["nodes-kept-running"]["message"]
    assert rows["recovers-when-healed"]["verdict"] == "invalid"
    assert rows["recovers-when-healed"]["message"].endswith(
        "exited during startup (code 1): error: the log is torn"
    )


def test_a_refusal_is_told_as_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Recovered:
        raise Refusal(what="the log is torn", where="kraft", next_step="look at the disk")

    async def story() -> None:
        cluster = world.cluster(run_id="", nodes=1, target="node", keep=False, directory=None)
        assert isinstance(cluster, SimCluster)
        await cluster.create()
        await cluster.kill(ONE)
        monkeypatch.setattr(sim_machine, "recover", refuse)
        with pytest.raises(DiedAtStartError, match="the log is torn"):
            await cluster.start(ONE)
        (end,) = await cluster.unasked_ends()
        assert end.words.startswith("error: the log is torn")

    world = SimWorld(seed=1)
    world.run(story())
