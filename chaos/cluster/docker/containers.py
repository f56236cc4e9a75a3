"""Networks and containers of a cluster: the nodes, the proxy, and the one that formats disks."""

import itertools
import random
import shlex
import socket
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Network

import docker
from docker.errors import APIError
from docker.models.containers import Container
from docker.models.networks import Network
from docker.types import IPAMConfig, IPAMPool, LogConfig
from tenacity import RetryError, Retrying, retry_if_exception, stop_after_attempt
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker.labels import ContainerRole, RunLabels
from chaos.cluster.docker.loop_disks import GID, UID, volume_name
from chaos.cluster.interface import NodeId
from chaos.cluster.targets.target import DATA
from chaos.cluster.topology import (
    API_PORT,
    POOL,
    NodeNetwork,
    Topology,
    client_port,
    host_name,
    subnet,
)

# Networks: an internal one for each node, and one for the client ports of the proxy.
#
# Subnets are found by trying: the engine refuses overlapping ones, so concurrent runs never share
# one.


TRIES = 200
FRONT = "front"


def create_networks(
    client: docker.DockerClient, labels: RunLabels, nodes: Sequence[NodeId]
) -> dict[NodeId, NodeNetwork]:
    """Create the networks of all nodes, and the front one; returns the subnet of each node."""
    first = zlib.crc32(labels.run_id.encode())
    stride = len(nodes) + 1
    with ThreadPoolExecutor(max_workers=stride) as pool:
        front = pool.submit(_create, client, labels, FRONT, (first, stride))
        futures = {
            node: pool.submit(_create, client, labels, host_name(node), (first + node, stride))
            for node in nodes
        }
        front.result()
        return {
            node: NodeNetwork(node=node, subnet=future.result()) for node, future in futures.items()
        }


def _create(
    client: docker.DockerClient, labels: RunLabels, part: str, slots: tuple[int, int]
) -> IPv4Network:
    """Try one subnet after another; the parts of a run skip each other's."""
    first, stride = slots
    for slot in itertools.islice(itertools.count(first, stride), TRIES):
        wanted = subnet(slot)
        pools = [IPAMPool(subnet=str(wanted), gateway=str(wanted[1]))]
        try:
            client.networks.create(
                labels.name(part),
                internal=part != FRONT,  # ports of an internal network cannot be published
                labels=labels.labels(),
                ipam=IPAMConfig(pool_configs=pools),
            )
        except APIError as error:
            if "overlap" not in str(error):
                raise
        else:
            return wanted
    raise ClusterError(
        f"no free subnet in {POOL} after {TRIES} tries\n"
        "  try: kraft-chaos doctor (some VPNs claim this range), docker network prune"
    )


def subnet_of(network: Network) -> IPv4Network:
    return IPv4Network(network.attrs["IPAM"]["Config"][0]["Subnet"])


# The library's reaper would remove what --keep and `up` keep; the registry reaps instead.
testcontainers_config.ryuk_disabled = True

PROPERTIES_FILE = "/tmp/server.properties"  # in the container, written by its entry
# A start uses these files instead, if they exist: configuration, and program.
CHANGED_FILE = "/tmp/changed.properties"
OTHER_PROGRAM = "/tmp/other-program"
# Below the ports that the kernel gives out, above those of the compose file.
PUBLISHED_PORTS = range(20100, 30000)
_RANGE = f"{PUBLISHED_PORTS.start}-{PUBLISHED_PORTS.stop - 1}"
_FEWER_CLUSTERS = "\n  try: kraft-chaos down, of clusters that are not needed"
PORT_TRIES = 20
FORMAT_WITHIN_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeContainer:
    """The parameters of one node's container."""

    image: str
    node: NodeId
    command: Sequence[str]
    properties: str
    identity: Mapping[str, str]  # labels for a process that attaches later


def start_node(
    client: docker.DockerClient, labels: RunLabels, topology: Topology, spec: NodeContainer
) -> Container:
    """Start a node, without privileges, alone with the proxy on its network."""
    place = topology.networks[spec.node]
    network = labels.name(host_name(spec.node))
    endpoint = client.api.create_endpoint_config(ipv4_address=place.address)
    wanted = (
        DockerContainer(spec.image)
        .with_name(labels.name(host_name(spec.node)))
        .with_command(list(spec.command))
        .with_env("SERVER_PROPERTIES", spec.properties)
        .with_volume_mapping(volume_name(labels, spec.node), DATA, "rw")
        .with_kwargs(
            labels={**labels.labels(ContainerRole.NODE, spec.node), **spec.identity},
            hostname=host_name(spec.node),
            user=f"{UID}:{GID}",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            extra_hosts={**topology.aliases(spec.node), **topology.other_names(spec.node)},
            network=network,
            networking_config={network: endpoint},
            log_config=LogConfig(type=LogConfig.types.JSON),  # kept after the node dies
        )
    )
    try:
        return client.containers.get(wanted.start().get_container_id())
    finally:
        wanted.get_docker_client().client.close()  # it created one of its own


def start_proxy(
    client: docker.DockerClient,
    image: str,
    labels: RunLabels,
    networks: Mapping[NodeId, NodeNetwork],
    ports: Mapping[int, int],
) -> Container:
    """Start the proxy with an address in every node's network.

    `ports`: container port to port of 127.0.0.1. APIError if one of them is taken meanwhile.
    """
    container = client.containers.create(
        image,
        name=labels.name("proxy"),
        labels=labels.labels(ContainerRole.PROXY),
        network=labels.name(FRONT),
        ports={f"{inner}/tcp": ("127.0.0.1", outer) for inner, outer in ports.items()},
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
    )
    try:
        for node, place in networks.items():
            client.api.connect_container_to_network(
                container.id or "", labels.name(host_name(node)), ipv4_address=place.proxy
            )
        container.start()
    except APIError:
        container.remove(force=True)
        raise
    return container


def start_proxy_on_free_ports(
    client: docker.DockerClient,
    image: str,
    labels: RunLabels,
    networks: Mapping[NodeId, NodeNetwork],
) -> tuple[Container, dict[int, int]]:
    """Start the proxy on free ports, found by trying and fixed for the cluster's life."""
    inner = [API_PORT, *(client_port(node) for node in sorted(networks))]

    def start() -> tuple[Container, dict[int, int]]:
        ports = dict(zip(inner, free_ports(len(inner)), strict=True))
        return start_proxy(client, image, labels, networks, ports), ports

    trying = Retrying(retry=retry_if_exception(_is_port_taken), stop=stop_after_attempt(PORT_TRIES))
    try:
        return trying(start)
    except RetryError as error:
        raise ClusterError(
            f"no free ports of 127.0.0.1 in {_RANGE} after {PORT_TRIES} tries{_FEWER_CLUSTERS}"
        ) from error


def _is_port_taken(error: BaseException) -> bool:
    """Another process took the port between our check and the engine's."""
    told = str(error)
    taken = "port is already allocated" in told or "in use" in told
    return isinstance(error, APIError) and taken


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 on which nothing listens now."""
    found: list[int] = []
    candidates = random.SystemRandom().sample(PUBLISHED_PORTS, len(PUBLISHED_PORTS))
    for port in candidates:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise ClusterError(
        f"fewer than {count} ports of 127.0.0.1 are free in {_RANGE}{_FEWER_CLUSTERS}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Formatting:
    """How one node's disk is formatted."""

    node: NodeId
    properties: str
    command: Sequence[str]


def format_disks(
    client: docker.DockerClient, image: str, labels: RunLabels, jobs: Sequence[Formatting]
) -> None:
    """Format all disks in parallel in one container; ClusterError with its output on failure."""
    container = client.containers.create(
        image,
        entrypoint=["sh", "-c", _format_script(jobs)],
        name=labels.name(f"format-{'-'.join(str(job.node) for job in jobs)}"),
        labels=labels.labels(ContainerRole.FORMAT),
        environment={f"PROPERTIES_{job.node}": job.properties for job in jobs},
        user=f"{UID}:{GID}",
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        volumes={
            volume_name(labels, job.node): {"bind": format_directory(job.node)} for job in jobs
        },
    )
    try:
        container.start()
        status = container.wait(timeout=FORMAT_WITHIN_S)["StatusCode"]
        if status != 0:
            said = container.logs(tail=12).decode(errors="replace").strip()
            raise ClusterError(f"formatting the disks failed (exit {status}):\n{said}")
    finally:
        container.remove(force=True)


def format_directory(node: NodeId) -> str:
    """The path at which a disk is mounted while it is formatted."""
    return f"/disks/{node}"


def format_properties_file(node: NodeId) -> str:
    return f"/tmp/{node}.properties"


def _format_script(jobs: Sequence[Formatting]) -> str:
    lines = ["set -eu", 'pids=""']
    for job in jobs:
        file = format_properties_file(job.node)
        lines.append(f"printf '%s' \"$PROPERTIES_{job.node}\" > {file}")
        # Synced here, though the unmount does it too: a node must find what it was promised.
        formatting = f"{{ {shlex.join(job.command)} && sync -f {format_directory(job.node)}; }}"
        lines.append(f'{formatting} & pids="$pids $!"')
    return "\n".join([*lines, "for pid in $pids; do wait $pid; done"])
