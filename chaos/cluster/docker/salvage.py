"""What a node leaves behind, copied off the engine: output of all its incarnations, log directory.

The engine keeps a container's output and mounts its volume for a copy, whether it runs or not.
"""

import io
import tarfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

from docker.errors import NotFound
from docker.models.containers import Container

from chaos.cluster.docker import labels as label
from chaos.cluster.docker.agent import Agent
from chaos.cluster.targets.target import DATA, LOG_DIRECTORY


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
    _save_disk(container, into / "disks" / name)


def _save_output(container: Container, path: Path, *, stdout: bool) -> None:
    pieces = container.logs(stdout=stdout, stderr=not stdout, stream=True, follow=False)
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)


def _save_disk(container: Container, into: Path) -> None:
    """The log directory's own content, without the names above it."""
    into.mkdir(parents=True, exist_ok=True)
    try:
        pieces, _ = container.get_archive(f"{DATA}/{LOG_DIRECTORY}")
    except NotFound:
        return  # nothing was ever formatted there
    unpack(b"".join(pieces), into)


def unpack(archive: bytes, into: Path) -> None:
    """Write an archive's files, without the name of the directory that it was made of.

    Names come from a node's disk: none may lead out of `into`, and only plain files are taken.
    """
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            below = PurePosixPath(member.name).parts[1:]
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None and below and ".." not in below:
                target = into.joinpath(*below)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())
