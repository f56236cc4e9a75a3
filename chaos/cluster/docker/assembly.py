"""Makes the parts of a cluster, or finds them again; all that can be done in parallel is."""

import base64
import shlex
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import docker
from docker.errors import APIError
from docker.models.containers import Container
from tenacity import RetryError, Retrying, retry_if_not_result, stop_after_delay, wait_fixed

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker import labels as label
from chaos.cluster.docker.agent import Agent
from chaos.cluster.docker.containers import (
    CHANGED_FILE,
    FRONT,
    OTHER_PROGRAM,
    PROPERTIES_FILE,
    Formatting,
    NodeContainer,
    create_networks,
    format_directory,
    format_disks,
    format_properties_file,
    start_node,
    start_proxy_on_free_ports,
    subnet_of,
)
from chaos.cluster.docker.labels import ContainerRole, RunLabels, labels_of, target_of
from chaos.cluster.docker.loop_disks import create_loop_disks, create_plain_volumes, devices_of
from chaos.cluster.docker.toxiproxy_api import ToxiproxyApi
from chaos.cluster.interface import Address, NodeId
from chaos.cluster.targets.node import OwnNode
from chaos.cluster.targets.target import DATA, LOG_DIRECTORY, Seat, Switching, Target
from chaos.cluster.topology import (
    API_PORT,
    NodeNetwork,
    Topology,
    client_port,
    host_name,
)
from chaos.releases import setup_command
from chaos.setup import images, kafka_image, node_image
from chaos.setup.shell import SetupError

PROXY_ANSWERS_WITHIN_S = 10.0
FORMATTED = "the-format-is-done"  # a waiting node logs this
# a neighbour answers in a few ms; one that cannot be reached costs this time once
NEAR_WITHIN_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    nodes: Mapping[NodeId, str]
    agent: str
    proxy: str

    def by_use(self) -> Mapping[str, str]:
        """The images by the use of their containers; for nodes of several programs, by nodes."""
        programs: dict[str, list[str]] = {}
        for node, image in self.nodes.items():
            programs.setdefault(image, []).append(str(node))
        only = len(programs) == 1
        nodes = {
            "node" if only else f"node {', '.join(which)}": image
            for image, which in programs.items()
        }
        return {**nodes, "agent": self.agent, "proxy": self.proxy}


def images_of(client: docker.DockerClient, target: Target, nodes: Sequence[NodeId]) -> Images:
    """The current images of a cluster; SetupError if one was never made."""
    kind = target.word.partition(":")[0]
    releases = sorted(set(map(target.release_of, nodes)))
    mend = {release: setup_command(release, kind) for release in releases if release}
    programs = {release: _program(client, target, release) for release in releases}
    found = Images(
        nodes={node: programs[target.release_of(node)] for node in nodes},
        agent=images.agent_recipe(images.base_id(client)).name,
        proxy=images.TOXIPROXY,
    )
    wanted = {**programs, "agent": found.agent, "proxy": found.proxy}
    for what, name in wanted.items():
        if images.image_id(client, name) is None:
            why = "it was never built, or its sources have changed"
            step = mend.get(what, next(iter(mend.values()), images.MEND))
            raise SetupError(f"the image {name} is missing", why=why, mend=step)
    return found


def _program(client: docker.DockerClient, target: Target, release: str) -> str:
    """The image of a node's program, by its name."""
    if not release:
        return node_image.recipe(client).name
    kafka = kafka_image.name(client, release)
    return node_image.recipe(client, kafka).name if isinstance(target, Switching) else kafka


def target_up(client: docker.DockerClient, run_id: str) -> Target:
    """The program in the nodes of a running cluster."""
    wanted = [f"{label.RUN}={run_id}", f"{label.ROLE}={ContainerRole.NODE}"]
    for container in client.containers.list(all=True, filters={"label": wanted}):
        return target_of(container.labels)
    return OwnNode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """All that a cluster is made of on the engine."""

    topology: Topology
    proxy: Container
    api: ToxiproxyApi
    agent: Agent | None
    devices: Mapping[NodeId, str]  # loop devices; empty with plain volumes
    containers: Mapping[NodeId, Container]  # empty before the nodes are started


class Assembly:
    """Makes the parts of one cluster."""

    def __init__(
        self, client: docker.DockerClient, images: Images, labels: RunLabels, target: Target
    ) -> None:
        self._client = client
        self._images = images
        self._labels = labels
        self._target = target
        self._started_agent: Agent | None = None
        self._cluster_id = _uuid()
        self._directory_ids: dict[NodeId, str] = {}

    def image_ids(self) -> Mapping[str, str]:
        """The ids of the used images, by the use of their containers."""
        used = self._images.by_use()
        found = {what: images.image_id(self._client, name) for what, name in used.items()}
        return {what: image for what, image in found.items() if image is not None}

    def close(self) -> None:
        """End the conversation with the agent, also if the making was broken off. Idempotent."""
        if self._started_agent is not None:
            self._started_agent.close()

    def prepare(self, nodes: tuple[NodeId, ...], *, loop_disks: bool) -> Parts:
        """Make networks and proxy, and beside that disks and their formatting."""
        self._directory_ids = {node: _uuid() for node in nodes}
        with ThreadPoolExecutor(max_workers=2) as pool:
            wiring = pool.submit(self._wire, nodes)
            making = pool.submit(self._make_disks, nodes, loop_disks)
            topology, proxy, api = wiring.result()
            agent, devices = making.result()
        return Parts(
            topology=topology,
            proxy=proxy,
            api=api,
            agent=agent,
            devices=devices,
            containers={},
        )

    def start_all(self, parts: Parts) -> Parts:
        """As `prepare`, with a container for each node."""
        nodes = parts.topology.nodes
        with ThreadPoolExecutor(max_workers=len(nodes)) as pool:
            starts = {node: pool.submit(self._start, parts.topology, node) for node in nodes}
            return replace(parts, containers={node: each.result() for node, each in starts.items()})

    def find(self) -> Parts | None:
        """The parts of a running cluster; None if some are missing, or if a shared part has ended,
        as when the engine was restarted."""
        wanted = f"{label.RUN}={self._labels.run_id}"
        found = self._client.containers.list(all=True, filters={"label": wanted})
        by_role = {container.labels[label.ROLE]: container for container in found}
        containers = {
            NodeId(int(container.labels[label.NODE])): container
            for container in found
            if container.labels[label.ROLE] == ContainerRole.NODE
        }
        if not containers or ContainerRole.PROXY not in by_role:
            return None
        shared = [by_role.get(role) for role in (ContainerRole.PROXY, ContainerRole.AGENT)]
        if any(each is not None and each.status != "running" for each in shared):
            return None
        agent = Agent(by_role[ContainerRole.AGENT]) if ContainerRole.AGENT in by_role else None
        topology, server = self._found_topology(by_role[ContainerRole.PROXY], sorted(containers))
        return Parts(
            topology=topology,
            proxy=by_role[ContainerRole.PROXY],
            api=ToxiproxyApi(server),
            agent=agent,
            devices=devices_of(agent, self._labels.run_id) if agent else {},
            containers=containers,
        )

    def _wire(self, nodes: tuple[NodeId, ...]) -> tuple[Topology, Container, ToxiproxyApi]:
        networks = create_networks(self._client, self._labels, nodes)
        proxy, ports = start_proxy_on_free_ports(
            self._client, self._images.proxy, self._labels, networks
        )
        api = ToxiproxyApi(Address("127.0.0.1", ports[API_PORT]))
        _until_it_answers(api)
        topology = Topology(
            networks=networks,
            published={node: ports[client_port(node)] for node in nodes},
            inner={node: self._target.inner_ports(node) for node in nodes},
            front=_reachable_front(proxy, self._labels),
        )
        api.populate(topology.proxies())
        return topology, proxy, api

    def _make_disks(
        self, nodes: tuple[NodeId, ...], loop_disks: bool
    ) -> tuple[Agent | None, Mapping[NodeId, str]]:
        agent, devices = self._agent(loop_disks), {}
        if agent is not None and loop_disks:
            size = self._target.bounds.disk_mebibytes
            devices = create_loop_disks(self._client, agent, self._labels, nodes, size)
        else:
            create_plain_volumes(self._client, self._labels, nodes)
        if not self._target.formats_at_start:
            for image in sorted(set(self._images.nodes.values())):
                jobs = [self._job(node) for node in nodes if self._images.nodes[node] == image]
                format_disks(self._client, image, self._labels, jobs)
        return agent, devices

    def _agent(self, loop_disks: bool) -> Agent | None:
        """Without loop disks the agent, if it is available, still probes links and pauses nodes."""
        try:
            self._started_agent = Agent.start(self._client, self._images.agent, self._labels)
        except (APIError, ClusterError):
            if loop_disks:
                raise
        return self._started_agent

    def _job(self, node: NodeId) -> Formatting:
        """Formatting does not depend on the client ports, which are not known yet."""
        directory = f"{format_directory(node)}/{LOG_DIRECTORY}"
        seat = self._seat(node, client_port(node))
        return Formatting(
            node=node,
            properties=self._target.properties(seat, directory),
            command=self._format_command(seat, format_properties_file(node)),
        )

    def _format_command(self, seat: Seat, properties_file: str) -> Sequence[str]:
        seats = [self._seat(node, client_port(node)) for node in self._directory_ids]
        return self._target.format_command(self._cluster_id, seat, seats, properties_file)

    def _start(self, topology: Topology, node: NodeId) -> Container:
        seat = self._seat(node, topology.published[node])
        spec = NodeContainer(
            image=self._images.nodes[node],
            node=node,
            command=self._start_command(seat),
            properties=self._target.properties(seat, f"{DATA}/{LOG_DIRECTORY}"),
            identity=labels_of(self._target, self._cluster_id),
        )
        return start_node(self._client, self._labels, topology, spec)

    def _start_command(self, seat: Seat) -> Sequence[str]:
        start = self._target.start_command(seat.node, PROPERTIES_FILE)
        changed = f"{{ test ! -e {CHANGED_FILE} || cp {CHANGED_FILE} {PROPERTIES_FILE}; }}"
        other = f"{{ test ! -e {OTHER_PROGRAM} || exec sh {OTHER_PROGRAM}; }}"
        begin = f"{changed} && {other} && exec {shlex.join(start)}"
        if not self._target.formats_at_start:
            return ("sh", "-c", begin)
        new = shlex.join(self._format_command(seat, PROPERTIES_FILE))
        if self._target.waits_when_formatted:
            new = f"{{ {new} && echo {FORMATTED} && exec sleep infinity; }}"
        formatted = f"test -e {DATA}/{LOG_DIRECTORY}/meta.properties"
        return ("sh", "-c", f"{{ {formatted} || {new}; }} && {begin}")

    def _seat(self, node: NodeId, published: int) -> Seat:
        return Seat(
            node=node,
            directory_id=self._directory_ids[node],
            inner=Address(host_name(node), self._target.inner_ports(node)[0]),
            outer=Address("127.0.0.1", published),
        )

    def _found_topology(self, proxy: Container, nodes: list[NodeId]) -> tuple[Topology, Address]:
        published = {
            int(inner.removesuffix("/tcp")): int(outer[0]["HostPort"])
            for inner, outer in proxy.attrs["HostConfig"]["PortBindings"].items()
        }
        networks = {}
        for node in nodes:
            network = self._client.networks.get(self._labels.name(host_name(node)))
            networks[node] = NodeNetwork(node=node, subnet=subnet_of(network))
        ports = {node: published[client_port(node)] for node in nodes}
        server = Address("127.0.0.1", published[API_PORT])
        inner = {node: self._target.inner_ports(node) for node in nodes}
        front = _reachable_front(proxy, self._labels)
        return Topology(networks=networks, published=ports, inner=inner, front=front), server


def _uuid() -> str:
    """A random id in Kafka's text form; one that begins with '-' would look like an option."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def _reachable_front(proxy: Container, labels: RunLabels) -> str:
    """The proxy's own address; "" if this machine does not reach it: the engine is in a virtual
    machine, or a firewall is in between."""
    proxy.reload()
    address = str(proxy.attrs["NetworkSettings"]["Networks"][labels.name(FRONT)]["IPAddress"])
    near = ToxiproxyApi(Address(address, API_PORT), NEAR_WITHIN_S)
    return address if near.answers() else ""


def _until_it_answers(api: ToxiproxyApi) -> None:
    asking = Retrying(
        retry=retry_if_not_result(bool),
        stop=stop_after_delay(PROXY_ANSWERS_WITHIN_S),
        wait=wait_fixed(0.01),
    )
    try:
        asking(api.answers)
    except RetryError as error:
        raise ClusterError("toxiproxy was started and does not answer") from error
