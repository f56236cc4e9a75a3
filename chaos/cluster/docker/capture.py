"""The packets of a cluster's links, recorded in the proxy's name space, where all of them pass.

A link from node 1 to node 2 is two connections there: from node 1 to the proxy, and on to node 2.
Its file has the first: what node 1 sent, and what came back, with every fault of the network on the
way.
"""

from pathlib import Path

import docker
from docker.errors import APIError
from docker.models.containers import Container
from tenacity import RetryError, Retrying, retry_if_not_result, stop_after_delay, wait_fixed

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker.labels import ContainerRole, RunLabels
from chaos.cluster.topology import Topology
from chaos.container_files import copy_out
from chaos.setup import images
from chaos.setup.shell import SetupError

_PART = "pcap"
_ALL = "/tmp/all.pcap"
_LINKS = "/tmp/links"
# Each packet is written at once, and the file is root's: tcpdump would give up its rights else.
_RECORD = ("-i", "any", "-U", "-Z", "root", "-w", _ALL, "tcp")
_STARTED = b"listening on"
_STARTS_WITHIN_S = 10.0


def image_of(client: docker.DockerClient) -> str:
    """The image with tcpdump. Raises SetupError without it."""
    image = images.pcap_recipe(images.base_id(client)).name
    if images.image_id(client, image) is None:
        raise SetupError(
            "packets cannot be recorded",
            why=f"the image {image} with tcpdump is missing",
            mend="kraft-chaos setup --pcap",
            without="a run without --pcap",
        )
    return image


def start_capture(client: docker.DockerClient, proxy: Container, labels: RunLabels) -> None:
    """Returns once packets are recorded. Raises SetupError without the image."""
    container = client.containers.create(
        image_of(client),
        command=list(_RECORD),
        name=labels.name(_PART),
        labels=labels.labels(ContainerRole.PCAP),
        network_mode=f"container:{proxy.id}",
        cap_drop=["ALL"],
        cap_add=["NET_RAW", "SETUID", "SETGID"],
    )
    container.start()
    asking = Retrying(
        retry=retry_if_not_result(bool),
        stop=stop_after_delay(_STARTS_WITHIN_S),
        wait=wait_fixed(0.05),
    )
    try:
        asking(lambda: _records(container))
    except RetryError as error:
        raise ClusterError(f"tcpdump did not begin within {_STARTS_WITHIN_S:g} s") from error


def _records(container: Container) -> bool:
    """Raises ClusterError once it has ended."""
    container.reload()
    told: bytes = container.logs()
    if container.status == "exited":
        words = told.decode(errors="replace").strip().splitlines()[-1:]
        raise ClusterError(f"packets cannot be recorded: {' '.join(words)}")
    return _STARTED in told


def save_capture(
    client: docker.DockerClient, labels: RunLabels, topology: Topology, into: Path
) -> None:
    """A file for each link; raises ClusterError with the words of tcpdump."""
    container = client.containers.get(labels.name(_PART))
    parts = [f"mkdir -p {_LINKS}"]
    for link in topology.links():
        proxy = topology.networks[link.source].proxy
        ports = " or ".join(f"port {port}" for port in topology.inner_ports(link.destination))
        chosen = f"host {proxy} and ({ports})"
        name = f"{link.source}-{link.destination}.pcap"
        parts.append(f"tcpdump -r {_ALL} -Z root -w {_LINKS}/{name} '{chosen}'")
    try:
        done = container.exec_run(["sh", "-c", " && ".join(parts)])
    except APIError as error:
        raise ClusterError(f"tcpdump does not run any more: {error.explanation}") from error
    if done.exit_code:
        told = done.output if isinstance(done.output, bytes) else b"".join(done.output)
        words = told.decode(errors="replace").strip().splitlines()[-1:]
        raise ClusterError(f"packets of links cannot be told apart: {' '.join(words)}")
    copy_out(container, _LINKS, into)
