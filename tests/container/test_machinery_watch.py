"""What the harness has put beside the nodes dies or is stopped while a run goes on: that is said,
with its name, and no node is accused of it."""

import asyncio
import gc
import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from docker.models.containers import Container

from chaos.cli import main
from chaos.cluster.docker.docker_cluster import DockerCluster
from chaos.cluster.docker.machinery_watch import AGENT, ENGINE, PROXY
from chaos.run.experiment import Experiment
from chaos.run.installation import prepare
from chaos.setup import docker_engine
from checkers.history.sealed_run import read_run_info
from checkers.history.store import read_run
from tests.container.clusters import left_of
from tests.support.engine_socket import EngineSocket, engine_socket

RUN = ["run", "baseline", "--seed", "1", "--duration", "60"]

Strike = Callable[[Container], None]


def kill(container: Container) -> None:
    container.kill()


def stop(container: Container) -> None:
    """Every process of it, the ones that were begun in it later too."""
    table = container.top()
    column = table["Titles"].index("PID")
    for row in table["Processes"]:
        os.kill(int(row[column]), signal.SIGSTOP)


def proxy_of(cluster: DockerCluster) -> Container:
    return cluster._parts.proxy


def agent_of(cluster: DockerCluster) -> Container:
    agent = cluster._parts.agent
    assert agent is not None
    return agent.container


@pytest.mark.parametrize(
    ("whose", "strike", "part", "what"),
    [
        (proxy_of, kill, PROXY, "ended with exit code 137"),
        (proxy_of, stop, PROXY, "was stopped (SIGSTOP)"),
        (proxy_of, Container.pause, PROXY, "was paused (docker pause)"),
        # A silent agent is waited for.
        pytest.param(agent_of, kill, AGENT, "ended with exit code 137", marks=pytest.mark.night),
        pytest.param(agent_of, stop, AGENT, "does not answer", marks=pytest.mark.night),
    ],
)
def test_what_dies_beside_the_nodes_is_named_and_accuses_nobody(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    whose: Callable[[DockerCluster], Container],
    strike: Strike,
    part: str,
    what: str,
) -> None:
    prepare(print)
    await_write = Experiment._another_write

    async def struck(self: Experiment) -> bool:
        """As soon as the first write was acknowledged."""
        assert isinstance(self._cluster, DockerCluster)
        acknowledged = await await_write(self)
        await asyncio.to_thread(strike, whose(self._cluster))
        return acknowledged

    monkeypatch.setattr(Experiment, "_another_write", struck)
    assert main([*RUN, "--runtime", "docker", "--out", str(tmp_path)]) == 255
    directory = (tmp_path / "latest").resolve()
    rows = json.loads((directory / "verdict.json").read_text())["results"]
    assert [row["check"] for row in rows if row["verdict"] == "invalid"] == []
    assert f"{part} {what}; look at: docker logs " in rows[0]["message"]
    info = read_run_info(directory)
    assert (info.machinery["part"], info.machinery["what"], info.stuck) == (part, what, "")
    assert 0 < int(info.machinery["t_ns"]) < info.duration_ns < 40_000_000_000
    assert left_of(directory.name) == []


# The garbage collector closes the connections to an engine that has died under its client.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "strike",
    [EngineSocket.die, pytest.param(EngineSocket.fall_silent, marks=pytest.mark.night)],
)
def test_an_engine_that_dies_is_named_and_so_is_what_removes_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strike: Callable[[EngineSocket], None]
) -> None:
    """That of this run alone: it is reached by a socket of its own, behind which the others' engine
    goes on, as containers do whose engine is killed."""
    prepare(print)
    await_write = Experiment._another_write
    with engine_socket(docker_engine.SOCKET) as engine, monkeypatch.context() as patched:

        async def struck(self: Experiment) -> bool:
            acknowledged = await await_write(self)
            await asyncio.to_thread(strike, engine)
            return acknowledged

        patched.setattr(Experiment, "_another_write", struck)
        patched.setenv("DOCKER_HOST", f"unix://{engine.path}")
        assert main([*RUN, "--runtime", "docker", "--out", str(tmp_path)]) == 255
    directory = (tmp_path / "latest").resolve()
    rows = json.loads((directory / "verdict.json").read_text())["results"]
    assert [row["check"] for row in rows if row["verdict"] == "invalid"] == []
    assert f"{ENGINE} does not answer (" in rows[0]["message"]
    assert "look at it: docker info" in rows[0]["message"]
    assert f"try, once it does: kraft-chaos down {directory.name}" in rows[0]["message"]
    info = read_run_info(directory)
    assert (info.machinery["part"], info.stuck, info.finished) == (ENGINE, "", False)
    assert 0 < int(info.machinery["t_ns"]) < info.duration_ns
    recorded = info.recorded or {}
    assert 0 < recorded["ok"] <= recorded["invoked"] == read_run(directory).tables["ops"].num_rows
    told = re.search(r"kraft-chaos down (\S+)", rows[0]["message"])
    assert told is not None
    if left_of(directory.name):  # unless a run beside this one has removed it by now
        main(["down", told[1]])
    assert left_of(directory.name) == []
    gc.collect()
