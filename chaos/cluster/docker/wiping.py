"""A new disk for a node that is off: empty, formatted, with a directory id of its own."""

import docker
from docker.errors import NotFound
from docker.models.containers import Container

from chaos.cluster import fault_evidence
from chaos.cluster.docker.agent import Agent
from chaos.cluster.docker.containers import (
    Formatting,
    format_directory,
    format_disks,
    format_properties_file,
)
from chaos.cluster.docker.identity import CLUSTER_ID
from chaos.cluster.docker.labels import RunLabels
from chaos.cluster.docker.loop_disks import GID, UID
from chaos.cluster.interface import Address, FaultEvidence, NodeId
from chaos.cluster.targets.target import DATA, LOG_DIRECTORY, Reformatting, Seat, Target
from chaos.cluster.topology import Topology, host_name
from chaos.container_files import read_file


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
            directory_id="",  # the format draws one
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
    """Of the disk of a node; "" where there is no log directory."""
    try:
        content = read_file(container, f"{DATA}/{LOG_DIRECTORY}/meta.properties").decode()
    except NotFound:
        return ""
    properties = dict(line.split("=", 1) for line in content.splitlines() if "=" in line)
    return properties.get("directory.id", "")
