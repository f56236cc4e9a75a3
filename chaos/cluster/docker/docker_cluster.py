"""The cluster in containers, as scenarios and nemesis see it (`chaos.cluster.interface`).

Changes the advertised hosts of controllers, and moves replicas between log directories.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import docker
from docker.errors import DockerException
from docker.models.containers import Container

from chaos.cluster.cluster_errors import ClusterError, FailedPart, MachineryError
from chaos.cluster.docker.assembly import Assembly, Parts, images_of
from chaos.cluster.docker.capture import image_of, save_capture, start_capture
from chaos.cluster.docker.containers import CHANGED_FILE
from chaos.cluster.docker.labels import RunLabels
from chaos.cluster.docker.machinery_watch import MachineryWatch, no_engine
from chaos.cluster.docker.node_processes import NodeProcesses
from chaos.cluster.docker.proxy_links import Entrances, ProxyLinks
from chaos.cluster.docker.readiness import Gate, Readiness, vote_of
from chaos.cluster.docker.registry import RunLock, demolish, left_of, reap, save_nodes
from chaos.cluster.interface import (
    Address,
    Advertised,
    AlteredMinIsr,
    ElectionType,
    FaultEvidence,
    Link,
    NodeId,
    NodeStatus,
    Reaped,
    SlowAnswer,
    UnaskedEnd,
)
from chaos.cluster.operator_requests import (
    cancel_reassignments,
    elect_leaders,
    reassign_partitions,
    set_elr_level,
    set_min_isr,
)
from chaos.cluster.targets.of_target import OfTarget
from chaos.cluster.targets.target import DATA, LOG_DIRECTORY, Seat, Target
from chaos.cluster.topology import AGAIN, NOWHERE, Topology, host_name
from chaos.container_files import write_file
from checkers.verdict import counted
from workloads.connection import Brokers, ClientEntry, LostError, NotSentError, TcpDriver
from workloads.leader import LeaderFinder, newest_leader
from workloads.wire.describe_quorum import LeaderClaim
from workloads.wire.header import Api
from workloads.wire.topic_partitions import (
    HostedReplica,
    LogDirectory,
    alter_replica_log_dirs,
    describe_log_dirs,
    read_altered,
    read_log_dirs,
)

COMMITTED_WITHIN_S = 60.0  # a voter reports itself to the leader each fetch time-out, 2 s
_PAUSE_S = 0.1
_ENDS = {Advertised.REACHABLE: AGAIN, Advertised.UNREACHABLE: NOWHERE}


def other_host(node: NodeId, advertised: Advertised) -> str:
    return f"{host_name(node)}{_ENDS[advertised]}"


def change_host(
    container: Container, target: Target, topology: Topology, node: NodeId, host: str
) -> None:
    """Let the next start of a node use a configuration that advertises `host`."""
    seat = Seat(
        node=node,
        directory_id="",  # nothing of it stands in a configuration
        inner=Address(host, topology.inner_ports(node)[0]),
        outer=topology.bootstrap()[node],
    )
    properties = target.properties(seat, f"{DATA}/{LOG_DIRECTORY}")
    write_file(container, CHANGED_FILE, properties)


async def committed_address(
    node: NodeId, host: str, entries: Mapping[NodeId, Address], within_s: float = COMMITTED_WITHIN_S
) -> FaultEvidence:
    """Whether the quorum has committed `host` as the address of a voter. `entries`: where its
    controllers are asked."""
    driver = TcpDriver(
        {int(each): ClientEntry(host=at.host, port=at.port) for each, at in entries.items()}
    )
    finder = LeaderFinder(driver)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    written = -1  # the leader's log end when it first named that host
    try:
        while loop.time() < deadline:
            claims = await finder.claims()
            leader = newest_leader(claims, driver.nodes)
            if leader is None or not names(claims[leader.node], node, host):
                written = -1
            elif written < 0:
                ends = {each.node: each.log_end for each in claims[leader.node].voters}
                written = ends.get(leader.node, -1)
            elif claims[leader.node].high_watermark >= written:
                what = f"the quorum has committed that it is reached at {host}"
                return FaultEvidence(bit=True, what=what, facts={"committed": written})
            await asyncio.sleep(_PAUSE_S)
    finally:
        await finder.close()
    what = f"no leader told of it at {host} within {within_s:g} s"
    return FaultEvidence(bit=False, what=what)


def names(claim: LeaderClaim, node: NodeId, host: str) -> bool:
    """Whether a leader names that host for a voter."""
    return any(each.node == node and each.host == host for each in claim.listeners)


# Moves replicas between the log directories of their broker, by requests to the broker.


ASKED_WITHIN_S = 10.0
MOVED_WITHIN_S = 60.0
_INTERNAL = "__"  # topics of the cluster's own


async def move_replicas(node: NodeId, entry: Address) -> FaultEvidence:
    """Send every replica of clients' topics to the next log directory, and wait until all are
    there.

    Raises ClusterError if the broker does not answer, refuses, or does not finish in time.
    """
    driver = TcpDriver({node: ClientEntry(host=entry.host, port=entry.port)})
    brokers = Brokers(driver, ASKED_WITHIN_S)
    try:
        return await _move(node, brokers)
    except (NotSentError, LostError) as error:
        raise ClusterError(f"node {node} does not describe its log directories: {error}") from error
    finally:
        brokers.close()


async def _move(node: NodeId, brokers: Brokers) -> FaultEvidence:
    places = next_places(await _directories(node, brokers))
    if not places:
        return FaultEvidence(bit=False, what="it has one log directory, or no replica in them")
    errors = await brokers.send(
        node, Api.ALTER_REPLICA_LOG_DIRS, alter_replica_log_dirs(places), read_altered
    )
    if refused := {replica: code for replica, code in errors.items() if code}:
        raise ClusterError(
            f"node {node} refuses to move replicas; error codes by replica: {refused}"
        )
    loop = asyncio.get_running_loop()
    began = loop.time()
    while not lie_in(places, await _directories(node, brokers)):
        if loop.time() - began > MOVED_WITHIN_S:
            raise ClusterError(f"node {node} moved no replica within {MOVED_WITHIN_S:g} s")
        await asyncio.sleep(_PAUSE_S)
    took_ms = int((loop.time() - began) * 1000)
    moved = counted(len(places), "replica lies", "replicas lie")
    facts: dict[str, int | str | bool] = {"moved": len(places), "took_ms": took_ms}
    return FaultEvidence(bit=True, what=f"{moved} in another log directory", facts=facts)


async def _directories(node: NodeId, brokers: Brokers) -> Sequence[LogDirectory]:
    return await brokers.send(node, Api.DESCRIBE_LOG_DIRS, describe_log_dirs(), read_log_dirs)


def next_places(directories: Sequence[LogDirectory]) -> Mapping[HostedReplica, str]:
    """Where each replica goes: from each directory to the next, and from the last to the first."""
    paths = sorted(each.path for each in directories)
    after = dict(zip(paths, [*paths[1:], *paths[:1]], strict=True)) if len(paths) > 1 else {}
    return {
        replica: after[each.path]
        for each in directories
        if each.path in after
        for replica in each.replicas
        if not replica.topic.startswith(_INTERNAL)
    }


def lie_in(places: Mapping[HostedReplica, str], directories: Sequence[LogDirectory]) -> bool:
    """Whether every replica is where it was sent, and none is on its way."""
    where = {replica: each.path for each in directories for replica in each.replicas}
    coming = {replica for each in directories for replica in each.coming}
    return all(where.get(r) == path and r not in coming for r, path in places.items())


T = TypeVar("T")


class DockerCluster(OfTarget[Target]):
    """Nodes that can be killed, paused and cut off. `no_power`: why their power cannot be cut; ""
    if it can."""

    def __init__(
        self,
        client: docker.DockerClient,
        labels: RunLabels,
        nodes: int,
        target: Target,
        no_power: str,
    ) -> None:
        super().__init__(target, nodes)
        self._client = client
        self._labels = labels
        self._gate = Gate()
        self._lock = RunLock(labels.run_id)
        self._images = images_of(client, target, self._nodes)
        self._assembly = Assembly(client, self._images, labels, target)
        self._parts_or_none: Parts | None = None
        self._links_or_none: ProxyLinks | None = None
        self._entrances_or_none: Entrances | None = None
        self._life_or_none: NodeProcesses | None = None
        self._readiness_or_none: Readiness | None = None
        self._machinery: MachineryWatch | None = None
        self._name_is_anothers = False
        self.no_power = no_power
        self.reaped: Sequence[Reaped] = ()  # dead runs; `create` removed their remains

    @property
    def images(self) -> Mapping[str, str]:
        return self._assembly.image_ids()

    @property
    def bootstrap(self) -> Mapping[NodeId, Address]:
        return self.topology.bootstrap()

    @property
    def entries(self) -> Mapping[NodeId, Address]:
        return self.topology.entries()

    @property
    def topology(self) -> Topology:
        """Which nodes are connected, and by which addresses."""
        return self._parts.topology

    @property
    def version(self) -> str:
        programs = ", ".join(sorted(set(self._images.nodes.values())))
        return f"{self._target.name} ({programs})"

    async def unasked_ends(self) -> Sequence[UnaskedEnd]:
        return await self._gate.run(self._life.unasked_ends)

    async def until_machinery_fails(self) -> None:
        await (await self._watched()).until_it_fails()

    async def failed_part(self) -> FailedPart | None:
        """A cluster that was never made has no failed part."""
        if self._parts_or_none is None:
            return None
        try:
            return await (await self._watched()).last_look()
        except MachineryError as error:
            return error.failed

    @property
    def slow_answers(self) -> Sequence[SlowAnswer]:
        return self._machinery.slow_answers if self._machinery is not None else ()

    async def _watched(self) -> MachineryWatch:
        """Raises MachineryError if there is no engine to watch."""
        if self._machinery is None:
            try:
                self._machinery = await self._gate.run(MachineryWatch, self._parts, self._gate)
            except DockerException as error:
                raise MachineryError(no_engine(error)) from error
        return self._machinery

    async def create(self) -> None:
        await self.prepare()
        await self.start_all()
        await self.until_ready()

    async def prepare(self) -> None:
        self.adopt(await self._gate.run(self._prepare))

    async def start_all(self) -> None:
        started = await self._gate.run(self._assembly.start_all, self._parts)
        self._take(started)

    async def until_ready(self) -> None:
        if self._target.waits_when_formatted:
            await asyncio.gather(*(self._readiness.formatted(node) for node in self._nodes))
            return
        await asyncio.gather(*(self._readiness.answers(node) for node in self._nodes))
        # There are more if one was interrupted and started again.
        self._starts = {node: max(count, 1) for node, count in self._starts.items()}
        brokers = [node for node, roles in self.roles.items() if roles.is_broker]
        await asyncio.gather(*(self._readiness.knows(node, brokers) for node in brokers))

    async def status(self, node: NodeId) -> NodeStatus:
        return await self._gate.run(self._life.status, node)

    async def start(self, node: NodeId) -> None:
        began = await self._gate.run(self._start, node)
        await self._readiness.answers(node)
        self._starts[node] += began

    async def stop(self, node: NodeId) -> bool:
        return await self._gate.run(self._life.stop, node)

    async def collect(self, into: Path) -> None:
        await self._gate.run(self._collect, into)

    def require_capture(self) -> None:
        image_of(self._client)

    async def capture(self) -> None:
        await self._gate.run(start_capture, self._client, self._parts.proxy, self._labels)

    async def captured(self, into: Path) -> None:
        await self._gate.run(save_capture, self._client, self._labels, self.topology, into)

    def container(self, node: NodeId) -> str:
        return str(self._parts.containers[node].name)

    async def log(self, node: NodeId) -> str:
        printed: bytes = await self._gate.run(self._parts.containers[node].logs)
        return printed.decode("utf-8", errors="replace")

    async def destroy(self) -> None:
        await asyncio.to_thread(self._destroy)

    def let_go(self) -> None:
        """Close what this process holds of a cluster that stays up, its lock included."""
        self._gate.close()
        self._lock.release()
        if self._parts_or_none is not None and self._parts_or_none.agent is not None:
            self._parts_or_none.agent.close()
        self._assembly.close()
        if self._machinery is not None:
            self._machinery.close()
        self._client.close()

    async def kill(self, node: NodeId) -> FaultEvidence:
        return await self._gate.run(self._life.kill, node)

    async def pause(self, node: NodeId) -> FaultEvidence:
        return await self._gate.run(self._life.pause, node)

    async def resume(self, node: NodeId) -> None:
        await self._gate.run(self._life.resume, node)

    async def cut(self, links: Sequence[Link]) -> None:
        await self._gate.run(self._links.cut, links)

    async def heal(self, links: Sequence[Link]) -> Mapping[Link, FaultEvidence]:
        return await self._gate.run(self._heal, links)

    async def close_entrances(self, nodes: Sequence[NodeId]) -> None:
        await self._gate.run(self._entrances.close, nodes)

    async def open_entrances(self, nodes: Sequence[NodeId]) -> Mapping[NodeId, FaultEvidence]:
        return await self._gate.run(self._entrances.open, nodes)

    async def move_replicas(self, node: NodeId) -> FaultEvidence:
        return await move_replicas(node, self.entries[node])

    async def set_elr_level(self, node: NodeId, level: int) -> FaultEvidence:
        return await set_elr_level(node, self.entries[node], level)

    async def elect_leaders(self, node: NodeId, election: ElectionType) -> FaultEvidence:
        return await elect_leaders(node, self.entries[node], election)

    async def set_min_isr(self, node: NodeId, value: AlteredMinIsr) -> FaultEvidence:
        return await set_min_isr(node, self.entries[node], value)

    async def reassign_partitions(self, node: NodeId) -> FaultEvidence:
        return await reassign_partitions(node, self.entries[node])

    async def cancel_reassignments(self, node: NodeId) -> FaultEvidence:
        return await cancel_reassignments(node, self.entries[node])

    async def readdress(self, node: NodeId, advertised: Advertised) -> FaultEvidence:
        host = other_host(node, advertised)
        await self._restart_at(node, host)
        controllers = [each for each, roles in self.roles.items() if roles.is_controller]
        return await committed_address(
            node, host, {each: self.entries[each] for each in controllers}
        )

    async def address_as_before(self, node: NodeId) -> None:
        await self._restart_at(node, host_name(node))

    async def vote(self, node: NodeId) -> NodeId | None:
        return await self._gate.run(vote_of, self._parts.containers[node])

    async def _restart_at(self, node: NodeId, host: str) -> None:
        await self.stop(node)
        container = self._parts.containers[node]
        await self._gate.run(change_host, container, self._target, self.topology, node, host)
        await self.start(node)

    async def slow_links(self, latency_ms: int) -> None:
        await self._gate.run(self._links.slow, latency_ms)

    async def quicken_links(self) -> FaultEvidence:
        return await self._gate.run(self._quicken_links)

    @property
    def _parts(self) -> Parts:
        return self._there(self._parts_or_none)

    @staticmethod
    def _there(part: T | None) -> T:
        if part is None:
            raise ClusterError("the cluster has not been created")
        return part

    @property
    def _links(self) -> ProxyLinks:
        return self._there(self._links_or_none)

    @property
    def _life(self) -> NodeProcesses:
        return self._there(self._life_or_none)

    @property
    def _entrances(self) -> Entrances:
        return self._there(self._entrances_or_none)

    @property
    def _readiness(self) -> Readiness:
        return self._there(self._readiness_or_none)

    def adopt(self, parts: Parts) -> None:
        """The parts of a running cluster, or of one with nodes that are yet to be started."""
        self._links_or_none = ProxyLinks(parts.api, parts.topology, parts.agent)
        self._entrances_or_none = Entrances(parts.api, parts.topology)
        self._take(parts)

    def _take(self, parts: Parts) -> None:
        bounds = self._target.bounds
        self._readiness_or_none = Readiness(
            self._gate, parts, run_id=self._labels.run_id, within_s=bounds.answers_within_s
        )
        self._life_or_none = NodeProcesses(parts, stops_within_s=bounds.stops_within_s)
        self._parts_or_none = parts

    def _start(self, node: NodeId) -> bool:
        """Whether another process began: a running node goes on."""
        return self._life.start(node)

    def _prepare(self) -> Parts:
        self._name_is_anothers = True  # until it is known to be free
        if not self._lock.acquire():
            raise ClusterError(
                f"the run {self._labels.run_id} is under way already, in another process"
            )
        self.reaped = reap(self._client, self._images.agent, self._labels.run_id)
        if left_of(self._client, self._labels.run_id):
            raise ClusterError(
                f"a cluster {self._labels.run_id!r} is up already\n"
                f"  try: kraft-chaos down {self._labels.run_id}"
            )
        self._name_is_anothers = False
        return self._assembly.prepare(self._nodes, loop_disks=not self.no_power)

    def _destroy(self) -> None:
        self._gate.close()
        try:
            if not self._name_is_anothers:
                demolish(self._client, self._labels.run_id, self._images.agent)
                self._lock.acquire()  # the name of a kept cluster is free
        finally:  # the remains may be removed by the next run
            self.let_go()

    def _heal(self, links: Sequence[Link]) -> Mapping[Link, FaultEvidence]:
        """Probes leave from the nodes' own networks; if a node is off, from the proxy's."""
        proxy_pid = self._life.proxy_pid()
        pids = self._life.pids()
        off = {node for node, pid in pids.items() if not pid}
        return self._links.heal(links, {node: pids[node] or proxy_pid for node in pids}, off)

    def _quicken_links(self) -> FaultEvidence:
        return self._links.quicken({node: pid for node, pid in self._life.pids().items() if pid})

    def _collect(self, into: Path) -> None:
        nodes = [self._life.container(node) for node in self._nodes]
        save_nodes(nodes, self._parts.agent, into)
