"""Clusters of stand-ins for the tests, and words to say what they are asked."""

import asyncio
import json
import os
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from docker.models.containers import Container

from chaos.cluster.docker import labels as label
from chaos.cluster.docker.clusters import PoweredDockerCluster, new_cluster
from chaos.cluster.docker.labels import ContainerRole
from chaos.cluster.interface import NodeId
from chaos.run.installation import prepare
from chaos.setup import docker_engine
from tests.support.stand_in import StandIn

T = TypeVar("T")

ONE, TWO, THREE = NodeId(1), NodeId(2), NodeId(3)

PATIENCE_S = 30.0  # with an answer that has to come
SILENT_S = 0.5  # who has not answered by then does not

# Asks a node for its API versions: exits 0 when it answers, 1 when it stays silent, 2 when refused.
ASK = """
import socket, sys
try:
    peer = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3]))
    peer.sendall(bytes.fromhex("0000000e00120000000000070004") + b"test")
    sys.exit(0 if peer.recv(100) else 2)
except TimeoutError:
    sys.exit(1)
except OSError:
    sys.exit(2)
"""


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def run_id(name: str) -> str:
    return f"test-{name}-{os.getpid()}"


@contextmanager
def cluster_of_stand_ins(name: str, *, keep: bool = False) -> Iterator[PoweredDockerCluster]:
    """Three of them, with loop disks; removed afterwards."""
    prepare(print)
    cluster = new_cluster(run_id=run_id(name), nodes=3, keep=keep, target=StandIn())
    assert isinstance(cluster, PoweredDockerCluster), cluster.no_power
    try:
        run(cluster.create())
        yield cluster
    finally:
        run(cluster.destroy())


@contextmanager
def containers_of(name: str) -> Iterator[dict[NodeId, Container]]:
    """The nodes' containers of a run, by the registry's labels."""
    client = docker_engine.connect()
    try:
        wanted = [f"{label.RUN}={run_id(name)}", f"{label.ROLE}={ContainerRole.NODE}"]
        found = client.containers.list(all=True, filters={"label": wanted})
        yield {NodeId(int(c.labels[label.NODE])): c for c in found}
    finally:
        client.close()


def last_words(name: str) -> str:
    """Which nodes of a run do not run, and what they said last: for the message of an assertion."""
    with containers_of(name) as nodes:
        ended = {node: c for node, c in nodes.items() if c.status != "running"}
        said = [
            f"node {node} ended with {c.attrs['State']['ExitCode']}:\n"
            + c.logs(tail=30).decode(errors="replace")
            for node, c in ended.items()
        ]
    return "\n".join(said) or "all nodes run"


def answered(container: Container, host: str, port: int, within_s: float = PATIENCE_S) -> bool:
    """Whether that address answers when asked from inside a node."""
    status, _ = container.exec_run(["python3", "-c", ASK, host, str(port), str(within_s)])
    return bool(status == 0)


def said_in(container: Container, *command: str) -> bytes:
    """What a command printed inside a node; it must succeed."""
    status, output = container.exec_run(list(command))
    assert status == 0, output
    assert isinstance(output, bytes)
    return output


def left_of(name: str) -> list[str]:
    """Containers, networks and volumes whose names hold that of a run."""
    client = docker_engine.require()
    try:
        found = [
            *(str(each.name) for each in client.containers.list(all=True, ignore_removed=True)),
            *(str(each.name) for each in client.networks.list()),
            *(str(each.name) for each in client.volumes.list()),
        ]
        return [each for each in found if name in each]
    finally:
        client.close()


def assert_every_fault_is_proved(directory: Path) -> None:
    """Of the run that left this: it was valid for good reasons, and nothing stays of it."""
    verdict = json.loads((directory / "verdict.json").read_text())
    assert verdict["verdict"] == "valid", verdict["sentence"]
    rows = {row["check"]: row for row in verdict["results"]}
    assert rows["linearizable"]["looked_at"] > 500
    assert rows["durability"]["looked_at"] > 100
    assert rows["faults-bit"]["looked_at"] > 0
    assert verdict["statistics"]["elections"] > 1
    assert (directory / "report.html").stat().st_size > 5_000
    assert {path.name for path in (directory / "disks").iterdir()} == {"node-1", "node-2", "node-3"}
    assert left_of(directory.name) == []
