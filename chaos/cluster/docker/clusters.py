"""Makes a new cluster, or attaches to a running one, with the powers that target and machine
allow."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import docker
from docker.models.containers import Container

from chaos.cluster import fault_evidence
from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.docker.agent import Agent
from chaos.cluster.docker.assembly import Assembly, Parts, images_of, target_up
from chaos.cluster.docker.disks import LostDisks, Wiper, program_of, start_as
from chaos.cluster.docker.docker_cluster import DockerCluster
from chaos.cluster.docker.labels import Owner, RunLabels
from chaos.cluster.docker.loop_disks import why_no_loop_disks
from chaos.cluster.docker.power_cuts import Power
from chaos.cluster.docker.registry import kept, left_of, standing
from chaos.cluster.fault_evidence import IN_ORDER
from chaos.cluster.interface import (
    DiskTrouble,
    FaultEvidence,
    NodeId,
    PowerCutMode,
    StandingCluster,
)
from chaos.cluster.powers import DiskCopies
from chaos.cluster.targets.node import OwnNode
from chaos.cluster.targets.target import DATA, Reformatting, Switching, Target
from chaos.cluster.topology import host_name
from chaos.container_files import copy_out
from chaos.errors import UsageError
from chaos.setup import docker_engine

# Clusters with powers that not all machines allow.
#
# Each is a subclass, because powers are asked for with isinstance, and a cluster without loop
# disks must not seem to have them.


class PoweredDockerCluster(DockerCluster):
    """A cluster on loop disks: its power can be cut."""

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

    def adopt(self, parts: Parts) -> None:
        super().adopt(parts)
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
        """`before` is called after the end of the processes, and before the power fails."""
        held = self._power.hold(self._running(nodes))
        try:
            exit_codes = self._life.stop_all(nodes)
            mismatch = {n: code for n, code in exit_codes.items() if code not in IN_ORDER}
            if mismatch:
                raise ClusterError(
                    f"nodes did not stop in good order; exit codes by node: {mismatch}"
                )
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
        """The containers of running nodes. Raises ClusterError if one is off."""
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
    """A cluster with nodes that may come back with an empty disk; the contents of the old disk are
    kept."""

    _lost_or_none: LostDisks | None = None

    async def wipe(self, node: NodeId) -> FaultEvidence:
        return await self._gate.run(self._wipe, node)

    def adopt(self, parts: Parts) -> None:
        super().adopt(parts)
        self._lost_or_none = LostDisks()  # before there are threads, which would make several

    def _wipe(self, node: NodeId) -> FaultEvidence:
        container = self._life.container(node)
        if container.attrs["State"]["Running"]:
            raise ClusterError(f"node {node} runs: its disk cannot be wiped")
        self._power.look_at_canary_of(node, container)
        self._lost.keep(node, container)
        wiper = Wiper(self._client, self._agent, self._labels, self._target)
        return wiper.wipe(node, container, self._parts.devices[node], self._parts.topology)

    @property
    def _lost(self) -> LostDisks:
        return self._there(self._lost_or_none)

    def _collect(self, into: Path) -> None:
        super()._collect(into)
        self._lost.move(into)

    def _destroy(self) -> None:
        if self._lost_or_none is not None:
            self._lost_or_none.drop()
        super()._destroy()


class SwitchableDockerCluster(WipeableDockerCluster):
    """A cluster with nodes that may go on as the other program of its target."""

    async def program(self, node: NodeId) -> str:
        return await self._gate.run(self._program, node)

    async def switch_program(self, node: NodeId) -> None:
        await self._gate.run(self._switch_program, node)

    def _program(self, node: NodeId) -> str:
        container = self._life.container(node)
        return program_of(container) if container.attrs["State"]["Running"] else ""

    def _switch_program(self, node: NodeId) -> None:
        container = self._life.container(node)
        if container.attrs["State"]["Running"]:
            raise ClusterError(
                f"node {node} runs: its program cannot be changed before it is stopped"
            )
        assert isinstance(self._target, Switching), "asked for when the cluster was made"
        self._target = self._target.switched(node)
        start_as(container, self._target, self.topology, node)


def new_cluster(
    *,
    run_id: str,
    nodes: int = 3,
    keep: bool = False,
    directory: Path | None = None,
    target: Target | None = None,
) -> DockerCluster:
    """A cluster that does not exist yet. With `keep` it outlives this process.

    `directory` is where the next run saves the nodes' logs if this one is killed. Raises SetupError
    if the engine or an image is missing.
    """
    target = target or OwnNode(nodes=nodes)
    labels = RunLabels(
        run_id=run_id,
        owner=Owner.KEPT if keep else Owner.RUN,
        directory=str(directory.resolve()) if directory else "",
    )
    with _client_of_a_cluster() as client:
        no_power = why_no_loop_disks(client, images_of(client, target, ()).agent)
        return _kind(target, no_power)(client, labels, nodes, target, no_power)


def attached_cluster(run_id: str, target: Target | None = None) -> DockerCluster:
    """A running cluster that another process keeps up; UsageError if there is none.

    The remains of an interrupted creation can only be destroyed.
    """
    labels = RunLabels(run_id=run_id, owner=Owner.KEPT)
    with _client_of_a_cluster() as client:
        if not left_of(client, run_id):
            names = ", ".join(kept(client)) or "none is"
            raise UsageError(f"no cluster {run_id!r} is up ({names})\n  try: kraft-chaos up")
        target = target or target_up(client, run_id)
        parts = Assembly(client, images_of(client, target, ()), labels, target).find()
        if parts is None:
            return DockerCluster(client, labels, 0, target, "")
        no_power = "" if parts.devices else "it was made without loop devices"
        nodes = len(parts.containers)
        cluster = _kind(target, no_power)(client, labels, nodes, target, no_power)
        cluster.adopt(parts)
        return cluster


def standing_clusters() -> Sequence[StandingCluster]:
    """All clusters of this user on the engine. Raises SetupError without one."""
    client = docker_engine.require()
    try:
        return standing(client)
    finally:
        client.close()


@contextmanager
def _client_of_a_cluster() -> Iterator[docker.DockerClient]:
    """A client for the cluster that is made with it, which closes it; closed if none is made."""
    client = docker_engine.require()
    try:
        yield client
    except BaseException:
        client.close()
        raise


def _kind(target: Target, no_power: str) -> type[DockerCluster]:
    if no_power:
        return DockerCluster
    if isinstance(target, Switching):
        return SwitchableDockerCluster
    return WipeableDockerCluster if isinstance(target, Reformatting) else PoweredDockerCluster
