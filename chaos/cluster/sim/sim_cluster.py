"""A simulated cluster as scenarios and nemesis see it (`chaos.cluster.interface`)."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID

from chaos.cluster import fault_evidence
from chaos.cluster.cluster_errors import ClusterError, FailedPart
from chaos.cluster.interface import (
    Address,
    AlteredMinIsr,
    BrokenInvariant,
    DiskSickness,
    DiskTrouble,
    ElectionType,
    FaultEvidence,
    Link,
    NodeId,
    NodeStatus,
    PowerCutMode,
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
from chaos.cluster.sim.disk.power_cuts import (
    SimPowerCuts,
    strike,
    until_brokers_know_each_other,
    until_it_answers,
    until_off,
)
from chaos.cluster.sim.invariant_keeper import InvariantKeeper
from chaos.cluster.sim.known_frames import known_frames
from chaos.cluster.sim.loop import VirtualLoop
from chaos.cluster.sim.network import Network, client_address
from chaos.cluster.sim.sim_links import SimEntrances, SimLinks
from chaos.cluster.sim.sim_machine import Machine, Site, save_machine
from chaos.cluster.sim.surroundings import NodeClock, VirtualClock
from chaos.cluster.sim.watchdog import Watchdog
from chaos.cluster.targets.kafka_settings import SettingError
from chaos.cluster.targets.named import NODE, layout
from chaos.cluster.targets.node import STATIC, OwnNode
from chaos.cluster.targets.of_target import OfTarget
from chaos.cluster.targets.target import Seat
from chaos.cluster.topology import host_name, inner_port
from chaos.conditions import Conditions
from node import ids
from node.config import NodeConfig
from node.ids import Endpoint, ReplicaKey, parse_uuid, uuid_text
from node.server.properties import parse_settings
from node.server.property_values import ConfigError
from node.storage.format import FormattedVoters

_BOOT_S = (0.05, 0.4)  # as containers take
_LOOK_AT_RATE_S = 0.01


class SimCluster(OfTarget[OwnNode]):
    """Every power of the interface, in virtual time."""

    def __init__(
        self,
        *,
        loop: VirtualLoop,
        clock: VirtualClock,
        nodes: int,
        seed: int,
        watchdog: Watchdog,
        mutation: str = "",
        conditions: Conditions | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """`nodes` as the layout of the target counts them. Raises SettingError where a node has no
        such settings."""
        conditions = conditions or Conditions()
        target, count = layout(
            NODE, nodes, settings or {}, mutation=mutation, conditions=conditions
        )
        assert isinstance(target, OwnNode), target
        super().__init__(target, count)
        self._loop = loop
        self._rng = random.Random(f"{seed}:cluster")
        self._is_static = target.form == STATIC
        self._network = Network(loop, self._nodes, seed, conditions)
        loop.internet = self._network
        self._links = SimLinks(self._network, self._nodes, loop, conditions.longest_latency_s)
        self._entrances = SimEntrances(self._network, loop, conditions.longest_latency_s)
        self._ids = random.Random(f"{seed}:ids")
        self._cluster_id = self._uuid()
        self._seats = {node: _seat(node, self._uuid()) for node in self._nodes}
        self._keeper = InvariantKeeper(loop)
        framing, broker_framing = known_frames()
        site = Site(
            loop=loop,
            network=self._network,
            seed=seed,
            conditions=conditions,
            keeper=self._keeper,
            watchdog=watchdog,
            framing=framing,
            broker_framing=broker_framing,
        )
        self._watchdog = watchdog
        self.machines = {
            node: Machine(site, self._config(seat), NodeClock(clock, loop))
            for node, seat in self._seats.items()
        }
        self._power_cuts = SimPowerCuts(self.machines, self._rng)

    @property
    def images(self) -> Mapping[str, str]:
        return {}  # it is made of none

    @property
    def bootstrap(self) -> Mapping[NodeId, Address]:
        return {node: client_address(node) for node in self._nodes}

    @property
    def entries(self) -> Mapping[NodeId, Address]:
        return self.bootstrap

    @property
    def version(self) -> str:
        return f"{self._target.name} (simulated)"

    async def until_machinery_fails(self) -> None:
        await self._watchdog.until_it_bites()

    async def failed_part(self) -> FailedPart | None:
        return self._watchdog.failed_part

    @property
    def slow_answers(self) -> Sequence[SlowAnswer]:
        return ()  # its time is virtual, and nothing is late

    async def unasked_ends(self) -> Sequence[UnaskedEnd]:
        ends = [end for machine in self.machines.values() for end in machine.unasked_ends]
        return sorted(ends, key=lambda end: end.mono_ns)

    async def create(self) -> None:
        await self.prepare()
        await asyncio.gather(*(self.start(node) for node in self._nodes))
        await until_brokers_know_each_other(self._brokers(), self._loop)

    async def prepare(self) -> None:
        voters = self._voters()
        for node, seat in self._seats.items():
            self.machines[node].format(
                self._cluster_id,
                voters if self._target.roles(node).is_controller else (),
                parse_uuid(seat.directory_id),
                static=self._is_static,
                elr=self._target.has_elr,
            )
        is_listed = all(machine.is_listed for machine in self.machines.values())
        first = (ReplicaKey(key.id) if is_listed else key for key, _ in voters)
        if not self._is_static:  # there a disk that was wiped breaks every promise of its node's
            self._keeper.open(first, self._fetch_timeout_ms())
        if self._target.brokers.count:
            brokers = self._target.brokers
            self._keeper.open_for_brokers(
                brokers.min_isr if brokers.elr else brokers.min_isr_of_brokers
            )

    async def start_all(self) -> None:
        await asyncio.gather(*(self._boot(node) for node in self._nodes))

    async def until_ready(self) -> None:
        for node in self._nodes:
            await until_it_answers(self.machines[node], self._loop)
            self._starts[node] = max(self._starts[node], 1)
        await until_brokers_know_each_other(self._brokers(), self._loop)

    async def status(self, node: NodeId) -> NodeStatus:
        return self.machines[node].status

    async def start(self, node: NodeId) -> None:
        machine = self.machines[node]
        was_off = machine.status is NodeStatus.OFF
        if was_off:
            await self._boot(node)
        await until_it_answers(machine, self._loop)
        self._starts[node] += was_off
        self._power_cuts.look_at_canary(node)

    async def _boot(self, node: NodeId) -> None:
        await asyncio.sleep(self._rng.uniform(*_BOOT_S))
        self.machines[node].boot()

    async def stop(self, node: NodeId) -> bool:
        machine = self.machines[node]
        process = machine.process
        if process is None or machine.status is NodeStatus.OFF:
            return True
        process.resume()
        process.terminate()
        ended = await until_off(machine, self._loop)
        if not ended:
            machine.kill()
        return ended

    async def collect(self, into: Path) -> None:
        """Nothing moves meanwhile: time stands still."""
        for machine in self.machines.values():
            save_machine(machine, into)

    async def destroy(self) -> None:
        for machine in self.machines.values():
            machine.kill()

    async def kill(self, node: NodeId) -> FaultEvidence:
        machine = self.machines[node]
        ran = machine.status is not NodeStatus.OFF
        if ran:
            await strike([machine], self._rng, machine.kill)
        runs = machine.status is not NodeStatus.OFF
        return fault_evidence.of_kill(ran, runs, machine.exit_code)

    async def pause(self, node: NodeId) -> FaultEvidence:
        machine = self.machines[node]
        if machine.status is NodeStatus.OFF or machine.process is None:
            return fault_evidence.of_pause("")
        machine.process.pause()
        return fault_evidence.of_pause("T" if machine.status is NodeStatus.PAUSED else "S")

    async def resume(self, node: NodeId) -> None:
        process = self.machines[node].process
        if process is not None:
            process.resume()

    async def cut(self, links: Sequence[Link]) -> None:
        self._links.cut(links)

    async def heal(self, links: Sequence[Link]) -> Mapping[Link, FaultEvidence]:
        return await self._links.heal(links)

    async def close_entrances(self, nodes: Sequence[NodeId]) -> None:
        self._entrances.close(nodes)

    async def open_entrances(self, nodes: Sequence[NodeId]) -> Mapping[NodeId, FaultEvidence]:
        return await self._entrances.open(nodes)

    async def slow_links(self, latency_ms: int) -> None:
        self._links.slow(latency_ms)

    async def quicken_links(self) -> FaultEvidence:
        running = [n for n, m in self.machines.items() if m.status is NodeStatus.RUNNING]
        return await self._links.quicken(running)

    async def make_flaky(self, links: Sequence[Link], share: float) -> None:
        self._links.make_flaky(links, share)

    async def steady(self, links: Sequence[Link]) -> FaultEvidence:
        return self._links.steady(links)

    async def sicken_disk(self, node: NodeId, sickness: DiskSickness) -> None:
        self.machines[node].drive.sicken(sickness)

    async def mend_disk(self, node: NodeId) -> FaultEvidence:
        """A node that is about to die of it does so first."""
        machine = self.machines[node]
        sickness = machine.drive.sickness
        assert sickness is not None, f"the disk of node {node} is well"
        return fault_evidence.of_sick_disk(sickness, machine.drive.mend(), machine.exit_code)

    async def jump_clock(self, node: NodeId, offset_ms: int) -> FaultEvidence:
        clock = self.machines[node].clock
        clock.jump(offset_ms * 1_000_000 - clock.offset_ns)
        return fault_evidence.of_clock(clock.offset_ns // 1_000_000, offset_ms)

    async def run_clock(self, node: NodeId, rate: float) -> FaultEvidence:
        machine = self.machines[node]
        machine.run_clock_at(rate)
        began, true_began = machine.clock.now().mono_ns, self._loop.elapsed_ns
        await asyncio.sleep(_LOOK_AT_RATE_S)
        passed = machine.clock.now().mono_ns - began
        return fault_evidence.of_clock_rate(passed / (self._loop.elapsed_ns - true_began), rate)

    @property
    def broken_invariant(self) -> BrokenInvariant | None:
        return self._keeper.broken

    @property
    def looked_at(self) -> Mapping[str, int]:
        return dict(sorted(self._keeper.looked.items()))

    async def trouble_disks(self, nodes: Sequence[NodeId], trouble: DiskTrouble) -> None:
        if trouble is DiskTrouble.LYING:
            self._keeper.close()
        for node in nodes:
            self.machines[node].drive.go_wrong(trouble)

    async def power_off(
        self, nodes: Sequence[NodeId], mode: PowerCutMode = PowerCutMode.LOSE_ALL
    ) -> Mapping[NodeId, FaultEvidence]:
        await self._power_cuts.cut(nodes, mode)
        return {node: self._power_cuts.evidence(node) for node in nodes}

    async def stop_then_power_off(
        self, nodes: Sequence[NodeId], *, synced: bool
    ) -> Mapping[NodeId, FaultEvidence]:
        ended = await asyncio.gather(*(self.stop(node) for node in nodes))
        killed = [node for node, in_order in zip(nodes, ended, strict=True) if not in_order]
        if killed:
            raise ClusterError(f"nodes {killed} did not end in good order")
        self._power_cuts.cut_stopped(nodes, synced=synced)
        return {node: self._power_cuts.evidence(node) for node in nodes}

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

    async def power_evidence(self, node: NodeId) -> FaultEvidence:
        return self._power_cuts.evidence(node)

    async def wipe(self, node: NodeId) -> FaultEvidence:
        """Formatted as an operator would: a set of voters of its own would be one that two wiped
        disks are a majority of."""
        machine = self.machines[node]
        before = machine.directory_id
        machine.wipe()
        emptied = not machine.is_formatted
        new = parse_uuid(self._uuid())
        static, elr = self._is_static, self._target.has_elr
        machine.format(self._cluster_id, (), new, static=static, elr=elr)
        self._power_cuts.forget(node)
        return fault_evidence.of_wipe(
            uuid_text(before), uuid_text(machine.directory_id), emptied=emptied
        )

    def _voters(self) -> FormattedVoters:
        seats = self._seats.items()
        return tuple(
            _voter(seat, self._target.controller_port(node))
            for node, seat in seats
            if self.roles[node].is_controller
        )

    def _brokers(self) -> list[Machine]:
        return [self.machines[node] for node, roles in self.roles.items() if roles.is_broker]

    def _uuid(self) -> str:
        """An id in Kafka's text form."""
        return uuid_text(UUID(bytes=self._ids.randbytes(16), version=4))

    def _config(self, seat: Seat) -> NodeConfig:
        """By the very properties of the containers. Raises SettingError for a number that no node
        can have."""
        try:
            return parse_settings(self._target.properties(seat, "/data/kraft")).config
        except ConfigError as error:
            raise SettingError(str(error)) from error

    def _fetch_timeout_ms(self) -> int:
        return self._config(next(iter(self._seats.values()))).timeouts.fetch_ms


def _seat(node: NodeId, directory_id: str) -> Seat:
    return Seat(
        node=node,
        directory_id=directory_id,
        inner=Address(host_name(node), inner_port(node)),
        outer=client_address(node),
    )


def _voter(seat: Seat, port: int) -> tuple[ReplicaKey, tuple[Endpoint, ...]]:
    key = ReplicaKey(ids.NodeId(seat.node), parse_uuid(seat.directory_id))
    inner = Endpoint(name="CONTROLLER", host=seat.inner.host, port=port)
    return key, (inner,)
