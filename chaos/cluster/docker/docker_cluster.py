"""The cluster in containers, as scenarios and nemesis see it (`chaos.cluster.interface`)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import docker
from docker.models.containers import Container

from chaos.cluster import fault_evidence
from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker.agent import Agent
from chaos.cluster.docker.assembly import Assembly, Parts, images_of, target_up
from chaos.cluster.docker.gate import Gate
from chaos.cluster.docker.labels import Owner, RunLabels
from chaos.cluster.docker.loop_disks import why_no_loop_disks
from chaos.cluster.docker.node_processes import NodeProcesses
from chaos.cluster.docker.power_cuts import Power
from chaos.cluster.docker.proxy_entrances import Entrances
from chaos.cluster.docker.proxy_links import ProxyLinks
from chaos.cluster.docker.readiness import Readiness
from chaos.cluster.docker.registry import RunLock, demolish, kept, left_of, reap
from chaos.cluster.docker.replica_moves import move_replicas
from chaos.cluster.docker.salvage import save_nodes
from chaos.cluster.docker.wiping import Wiper
from chaos.cluster.fault_evidence import IN_ORDER
from chaos.cluster.interface import (
    Address,
    DiskCopies,
    DiskTrouble,
    FaultEvidence,
    Link,
    NodeId,
    NodeStatus,
    PowerCutMode,
    Reaped,
    Roles,
    UnaskedEnd,
)
from chaos.cluster.targets.node import OwnNode
from chaos.cluster.targets.target import DATA, Reformatting, Target
from chaos.cluster.topology import Topology, host_name
from chaos.container_files import copy_out
from chaos.setup import docker_engine

T = TypeVar("T")


class DockerCluster:
    """Nodes that can be killed, paused and cut off.

    Where the machine has loop devices, `new` and `attach` give a `PoweredDockerCluster`, whose
    power can be cut as well; `no_power` holds the reason where they do not. A target that can be
    formatted anew makes that a `WipeableDockerCluster`.
    """

    def __init__(
        self,
        client: docker.DockerClient,
        labels: RunLabels,
        nodes: int,
        target: Target,
        no_power: str,
    ) -> None:
        self._client = client
        self._labels = labels
        self._nodes = tuple(NodeId(number) for number in range(1, nodes + 1))
        self._target = target
        self._gate = Gate()
        self._lock = RunLock(labels.run_id)
        self._images = images_of(client, target)
        self._assembly = Assembly(client, self._images, labels, target)
        self._parts_or_none: Parts | None = None
        self._links_or_none: ProxyLinks | None = None
        self._entrances_or_none: Entrances | None = None
        self._life_or_none: NodeProcesses | None = None
        self._readiness_or_none: Readiness | None = None
        self._name_is_anothers = False
        self._starts = dict.fromkeys(self._nodes, 0)
        self.no_power = no_power
        self.reaped: Sequence[Reaped] = ()  # dead runs whose leavings `create` removed

    @classmethod
    def new(
        cls,
        *,
        run_id: str,
        nodes: int = 3,
        keep: bool = False,
        directory: Path | None = None,
        target: Target | None = None,
    ) -> "DockerCluster":
        """A cluster that is not there yet. With `keep` it outlives this process.

        `directory` is where the next run saves the nodes' logs should this one be killed.
        Raises SetupError where the engine or an image is missing.
        """
        client = docker_engine.require()
        target = target or OwnNode()
        labels = RunLabels(
            run_id=run_id,
            owner=Owner.KEPT if keep else Owner.RUN,
            directory=str(directory.resolve()) if directory else "",
        )
        no_power = why_no_loop_disks(client, images_of(client, target).agent)
        return _kind(target, no_power)(client, labels, nodes, target, no_power)

    @classmethod
    def attach(cls, run_id: str, target: Target | None = None) -> "DockerCluster":
        """A cluster that another process keeps up; ClusterError when there is none.

        What is left of one whose making was broken off can only be destroyed.
        """
        client = docker_engine.require()
        labels = RunLabels(run_id=run_id, owner=Owner.KEPT)
        if not left_of(client, run_id):
            names = ", ".join(kept(client)) or "none is"
            client.close()
            raise ClusterError(f"no cluster {run_id!r} is up ({names})\n  try: kraft-chaos up")
        target = target or target_up(client, run_id)
        parts = Assembly(client, images_of(client, target), labels, target).find()
        if parts is None:
            return DockerCluster(client, labels, 0, target, "")
        no_power = "" if parts.devices else "it was made without loop devices"
        nodes = len(parts.containers)
        cluster = _kind(target, no_power)(client, labels, nodes, target, no_power)
        cluster._adopt(parts)
        return cluster

    @property
    def nodes(self) -> Sequence[NodeId]:
        return self._nodes

    @property
    def roles(self) -> Mapping[NodeId, Roles]:
        return {node: self._target.roles(node) for node in self._nodes}

    @property
    def settings(self) -> Mapping[str, str]:
        return self._target.settings

    @property
    def images(self) -> Mapping[str, str]:
        return self._assembly.image_ids()

    @property
    def promises(self) -> Sequence[str]:
        return self._target.promises

    @property
    def bootstrap(self) -> Mapping[NodeId, Address]:
        return self.topology.bootstrap()

    @property
    def entries(self) -> Mapping[NodeId, Address]:
        return self.topology.entries()

    @property
    def topology(self) -> Topology:
        """Who is joined to whom, and where."""
        return self._parts.topology

    @property
    def version(self) -> str:
        return f"{self._target.name} ({self._images.node})"

    @property
    def traces(self) -> bool:
        return self._target.traces

    @property
    def starts(self) -> Mapping[NodeId, int]:
        return dict(self._starts)

    async def unasked_ends(self) -> Sequence[UnaskedEnd]:
        return await self._gate.run(self._life.unasked_ends)

    async def create(self) -> None:
        parts = await self._gate.run(self._create)
        self._adopt(parts)
        await asyncio.gather(*(self._readiness.answers(node) for node in self._nodes))
        self._starts = dict.fromkeys(self._nodes, 1)
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

    async def destroy(self) -> None:
        await asyncio.to_thread(self._destroy)

    def let_go(self) -> None:
        """Close what this process holds of a cluster that stays up, its lock included."""
        self._gate.close()
        self._lock.release()
        if self._parts_or_none is not None and self._parts_or_none.agent is not None:
            self._parts_or_none.agent.close()
        self._assembly.close()
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

    def _adopt(self, parts: Parts) -> None:
        bounds = self._target.bounds
        self._readiness_or_none = Readiness(
            self._gate, parts, run_id=self._labels.run_id, within_s=bounds.answers_within_s
        )
        self._life_or_none = NodeProcesses(parts, stops_within_s=bounds.stops_within_s)
        self._parts_or_none = parts
        self._links_or_none = ProxyLinks(parts.api, parts.topology, parts.agent)
        self._entrances_or_none = Entrances(parts.api, parts.topology)

    def _start(self, node: NodeId) -> bool:
        """Whether another process began: a node that runs goes on."""
        return self._life.start(node)

    def _create(self) -> Parts:
        self._name_is_anothers = True  # until it is known to be free
        if not self._lock.acquire():
            raise ClusterError(f"the run {self._labels.run_id} is already alive")
        self.reaped = reap(self._client, self._images.agent, self._labels.run_id)
        if left_of(self._client, self._labels.run_id):
            raise ClusterError(
                f"a cluster {self._labels.run_id!r} is up already\n"
                f"  try: kraft-chaos down {self._labels.run_id}"
            )
        self._name_is_anothers = False
        return self._assembly.create(self._nodes, loop_disks=not self.no_power)

    def _destroy(self) -> None:
        self._gate.close()
        if not self._name_is_anothers:
            demolish(self._client, self._labels.run_id, self._images.agent)
            self._lock.acquire()  # that of a kept cluster is held by nobody
        self.let_go()

    def _heal(self, links: Sequence[Link]) -> Mapping[Link, FaultEvidence]:
        """Probes leave from the nodes' own networks; from the proxy's where a node is off."""
        proxy_pid = self._life.proxy_pid()
        pids = self._life.pids()
        off = {node for node, pid in pids.items() if not pid}
        return self._links.heal(links, {node: pids[node] or proxy_pid for node in pids}, off)

    def _quicken_links(self) -> FaultEvidence:
        return self._links.quicken({node: pid for node, pid in self._life.pids().items() if pid})

    def _collect(self, into: Path) -> None:
        nodes = [self._life.container(node) for node in self._nodes]
        save_nodes(nodes, self._parts.agent, into)


class PoweredDockerCluster(DockerCluster):
    """A cluster on loop disks: its power can be cut, and others must not even seem to have that.

    A subclass because powers are asked for with isinstance, and this one is only on some machines.
    """

    _power_or_none: Power | None = None

    async def power_off(
        self, nodes: Sequence[NodeId], mode: PowerCutMode = PowerCutMode.LOSE_ALL
    ) -> Mapping[NodeId, FaultEvidence]:
        return await self._gate.run(self._power_off, nodes, mode)

    async def stop_then_power_off(
        self, nodes: Sequence[NodeId], *, synced: bool
    ) -> Mapping[NodeId, FaultEvidence]:
        return await self._gate.run(self._stop_then_power_off, nodes, synced)

    async def copy_disks(self, nodes: Sequence[NodeId], into: Path) -> None:
        await self._gate.run(self._copy_disks, nodes, into)

    async def power_off_copying(
        self, nodes: Sequence[NodeId], mode: PowerCutMode, copies: DiskCopies, *, stopped: bool
    ) -> Mapping[NodeId, FaultEvidence]:
        return await self._gate.run(self._power_off_copying, nodes, mode, copies, stopped)

    async def sync_disk(self, node: NodeId) -> FaultEvidence:
        return await self._gate.run(self._sync_disk, node)

    async def trouble_disks(self, nodes: Sequence[NodeId], trouble: DiskTrouble) -> None:
        await self._gate.run(self._trouble_disks, nodes, trouble)

    async def power_evidence(self, node: NodeId) -> FaultEvidence:
        return await self._gate.run(self._power_evidence, node)

    def _adopt(self, parts: Parts) -> None:
        super()._adopt(parts)
        self._power_or_none = Power(
            self._client, self._agent, self._labels, parts.topology, parts.devices
        )

    @property
    def _agent(self) -> Agent:
        if self._parts.agent is None:
            raise ClusterError("the cluster has loop disks and no agent")
        return self._parts.agent

    @property
    def _power(self) -> Power:
        return self._there(self._power_or_none)

    def _trouble_disks(self, nodes: Sequence[NodeId], trouble: DiskTrouble) -> None:
        self._power.trouble({node: self._life.container(node) for node in nodes}, trouble)

    def _power_off(
        self,
        nodes: Sequence[NodeId],
        mode: PowerCutMode,
        before: Callable[[], None] = lambda: None,
    ) -> Mapping[NodeId, FaultEvidence]:
        victims = self._running(nodes)
        self._life.is_off(nodes)
        cuts = self._power.off(victims, self._life.proxy_pid(), mode, before)
        return {node: fault_evidence.of_power_cut(cut) for node, cut in cuts.items()}

    def _power_off_copying(
        self, nodes: Sequence[NodeId], mode: PowerCutMode, copies: DiskCopies, stopped: bool
    ) -> Mapping[NodeId, FaultEvidence]:
        def copy_said() -> None:
            self._copy_disks(nodes, copies.said)

        if stopped:
            told = self._stop_then_power_off(nodes, synced=False, mode=mode, before=copy_said)
        else:
            told = self._power_off(nodes, mode, copy_said)
        self._copy_disks(nodes, copies.held)
        return told

    def _copy_disks(self, nodes: Sequence[NodeId], into: Path) -> None:
        for node in nodes:
            copy_out(self._life.container(node), DATA, into / host_name(node))

    def _stop_then_power_off(
        self,
        nodes: Sequence[NodeId],
        synced: bool,
        mode: PowerCutMode = PowerCutMode.LOSE_ALL,
        before: Callable[[], None] = lambda: None,
    ) -> Mapping[NodeId, FaultEvidence]:
        """`before` is called between the end of the processes and that of the power."""
        held = self._power.hold(self._running(nodes))
        try:
            exit_codes = self._life.stop_all(nodes)
            unlike = {n: code for n, code in exit_codes.items() if code not in IN_ORDER}
            if unlike:
                raise ClusterError(f"not stopped in good order, exit codes by node: {unlike}")
            before()
            cuts = self._power.off_stopped(held, exit_codes, mode, synced=synced)
        finally:
            self._power.let_go(held)
        self._power.wait_gone(nodes)
        return {node: fault_evidence.of_power_cut(cut) for node, cut in cuts.items()}

    def _sync_disk(self, node: NodeId) -> FaultEvidence:
        self._power.sync(self._running([node])[node])
        return FaultEvidence(bit=True, what="its file system was written out")

    def _running(self, nodes: Sequence[NodeId]) -> dict[NodeId, Container]:
        """Their containers. Raises ClusterError if one is off."""
        victims = {node: self._life.container(node) for node in nodes}
        off = [n for n, c in victims.items() if not c.attrs["State"]["Running"]]
        if off:
            raise ClusterError(f"nodes {off} are off already: their power cannot be cut")
        return victims

    def _start(self, node: NodeId) -> bool:
        container = self._life.container(node)
        self._power.connect(node, container)
        began = super()._start(node)
        self._power.look_at_canary(node, container)
        return began

    def _power_evidence(self, node: NodeId) -> FaultEvidence:
        cut = self._power.cuts.get(node)
        if cut is None:
            return FaultEvidence(bit=False, what=f"the power of node {node} was never cut")
        return fault_evidence.of_power_cut(cut)


class WipeableDockerCluster(PoweredDockerCluster):
    """A cluster whose nodes may come back with an empty disk."""

    async def wipe(self, node: NodeId) -> FaultEvidence:
        return await self._gate.run(self._wipe, node)

    def _wipe(self, node: NodeId) -> FaultEvidence:
        container = self._life.container(node)
        if container.attrs["State"]["Running"]:
            raise ClusterError(f"node {node} runs: its disk cannot be wiped")
        self._power.look_at_canary_of(node, container)
        wiper = Wiper(self._client, self._agent, self._labels, self._target)
        return wiper.wipe(node, container, self._parts.devices[node], self._parts.topology)


def _kind(target: Target, no_power: str) -> type[DockerCluster]:
    if no_power:
        return DockerCluster
    return WipeableDockerCluster if isinstance(target, Reformatting) else PoweredDockerCluster
