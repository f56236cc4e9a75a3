"""What a node leaves behind, copied off the engine: output of all its incarnations, log directory.

The engine keeps a container's output, whether it runs or not.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from docker.errors import NotFound
from docker.models.containers import Container

from chaos.cluster.docker import labels as label
from chaos.cluster.docker.agent import Agent
from chaos.cluster.targets.target import DATA, LOG_DIRECTORY, SECOND_LOG_DIRECTORY
from chaos.container_files import copy_out


def save_nodes(nodes: Sequence[Container], agent: Agent | None, into: Path) -> None:
    """Running nodes stand still meanwhile, so that their files are of one moment."""
    pids = [int(node.attrs["State"]["Pid"]) for node in nodes if node.attrs["State"]["Running"]]
    if agent is not None and pids:
        agent.call("quiesce", pids=pids)
    try:
        with ThreadPoolExecutor(max_workers=len(nodes)) as pool:
            list(pool.map(lambda node: save_node(node, into), nodes))
    finally:
        if agent is not None:
            agent.each("resume", [{"pid": pid} for pid in pids])


def save_node(container: Container, into: Path) -> None:
    """Write `logs/node-N.log` (stdout), `logs/node-N.err` and `disks/node-N/`."""
    name = f"node-{container.labels[label.NODE]}"
    logs = into / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    _save_output(container, logs / f"{name}.log", stdout=True)
    _save_output(container, logs / f"{name}.err", stdout=False)
    save_disk(container, into / "disks" / name)


def _save_output(container: Container, path: Path, *, stdout: bool) -> None:
    pieces = container.logs(stdout=stdout, stderr=not stdout, stream=True, follow=False)
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)


def save_disk(container: Container, into: Path) -> None:
    """Both log directories, the first without its name: most nodes have no other."""
    into.mkdir(parents=True, exist_ok=True)
    places = {LOG_DIRECTORY: into, SECOND_LOG_DIRECTORY: into / SECOND_LOG_DIRECTORY}
    for name, place in places.items():
        with suppress(NotFound):  # nothing was ever formatted there
            copy_out(container, f"{DATA}/{name}", place)
