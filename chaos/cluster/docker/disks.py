"""Disks that are wiped and formatted anew, and nodes that change their program.

The contents of a wiped disk are kept for the judge until the cluster is collected.
"""

import shlex
import shutil
import threading
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
from docker.errors import NotFound
from docker.models.containers import Container

from chaos.cluster import fault_evidence
from chaos.cluster.docker.agent import Agent
from chaos.cluster.docker.containers import (
    CHANGED_FILE,
    OTHER_PROGRAM,
    PROPERTIES_FILE,
    Formatting,
    format_directory,
    format_disks,
    format_properties_file,
)
from chaos.cluster.docker.labels import CLUSTER_ID, RunLabels
from chaos.cluster.docker.loop_disks import GID, UID
from chaos.cluster.docker.registry import save_disk
from chaos.cluster.interface import Address, FaultEvidence, NodeId
from chaos.cluster.targets.target import DATA, LOG_DIRECTORY, Reformatting, Seat, Target
from chaos.cluster.topology import Topology, host_name, lost_disk
from chaos.container_files import read_file, write_file


class LostDisks:
    """The lost disks of one cluster, by node and in order. Disks of several nodes may be kept at
    once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: TemporaryDirectory[str] | None = None
        self._counts: Counter[NodeId] = Counter()

    def keep(self, node: NodeId, container: Container) -> None:
        """Copy the log directories of a node that is off."""
        save_disk(container, self._place(node))

    def move(self, into: Path) -> None:
        """Move them beside the other disks of a run."""
        if self._kept is not None:
            shutil.copytree(self._kept.name, into / "disks", dirs_exist_ok=True)

    def drop(self) -> None:
        if self._kept is not None:
            self._kept.cleanup()

    def _place(self, node: NodeId) -> Path:
        """The directory for the next lost disk of a node. If two nodes lose their disks at once,
        the first creates both directories; with separate temporary ones, one would hide the
        other."""
        with self._lock:
            if self._kept is None:
                self._kept = TemporaryDirectory(prefix="kraft-chaos-lost-")
            self._counts[node] += 1
            return Path(self._kept.name) / lost_disk(node, self._counts[node])


# New disks for nodes that are off: empty, formatted, with a directory id of their own.


class Wiper:
    """Formats disks of one cluster anew."""

    def __init__(
        self, client: docker.DockerClient, agent: Agent, labels: RunLabels, target: Target
    ) -> None:
        self._client = client
        self._agent = agent
        self._labels = labels
        self._target = target

    def wipe(
        self, node: NodeId, container: Container, device: str, topology: Topology
    ) -> FaultEvidence:
        """Make the file system on a loop device anew, and format the log directory on it."""
        before = _directory_id(container)
        self._agent.call("wipe", device=device, uid=UID, gid=GID)
        emptied = not _directory_id(container)
        job = self._job(node, container, topology)
        format_disks(self._client, container.attrs["Image"], self._labels, [job])
        return fault_evidence.of_wipe(before, _directory_id(container), emptied=emptied)

    def _job(self, node: NodeId, container: Container, topology: Topology) -> Formatting:
        assert isinstance(self._target, Reformatting), "asked for when the cluster was made"
        seat = Seat(
            node=node,
            directory_id="",  # the formatting draws a new one
            inner=Address(host_name(node), topology.inner_ports(node)[0]),
            outer=topology.bootstrap()[node],
        )
        directory = f"{format_directory(node)}/{LOG_DIRECTORY}"
        return Formatting(
            node=node,
            properties=self._target.properties(seat, directory),
            command=self._target.reformat_command(
                container.labels[CLUSTER_ID], node, format_properties_file(node)
            ),
        )


def _directory_id(container: Container) -> str:
    """The directory id on a node's disk; "" if there is no log directory."""
    try:
        content = read_file(container, f"{DATA}/{LOG_DIRECTORY}/meta.properties").decode()
    except NotFound:
        return ""
    properties = dict(line.split("=", 1) for line in content.splitlines() if "=" in line)
    return properties.get("directory.id", "")


# The two programs in an image: which one a node runs, and the change to the other one.


def program_of(container: Container) -> str:
    """The program of a running node, by the command of its first process."""
    # the engine finds a container's own processes by their ids
    told = container.top(ps_args="-eo pid,args")
    _, command = told["Processes"][0]
    return "Apache Kafka" if str(command).startswith("java") else "our node"


def start_as(container: Container, target: Target, topology: Topology, node: NodeId) -> None:
    """Let the next start of a node, which is off, run the program that the target now names."""
    seat = Seat(
        node=node,
        directory_id="",  # its configuration does not name the program
        inner=Address(host_name(node), topology.inner_ports(node)[0]),
        outer=topology.bootstrap()[node],
    )
    write_file(container, CHANGED_FILE, target.properties(seat, f"{DATA}/{LOG_DIRECTORY}"))
    command = target.start_command(node, PROPERTIES_FILE)
    write_file(container, OTHER_PROGRAM, f"exec {shlex.join(command)}\n")
