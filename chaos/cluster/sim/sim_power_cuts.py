"""Power cuts of simulated machines, each with what it left as evidence."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from chaos.cluster import fault_evidence
from chaos.cluster.fault_evidence import PowerCutMeasured
from chaos.cluster.interface import FaultEvidence, NodeId, NodeStatus, PowerCutMode
from chaos.cluster.sim.sim_machine import Machine
from chaos.cluster.sim.strike import strike


class SimPowerCuts:
    """`rng` draws between which two things that they do several machines lose it at once."""

    def __init__(self, machines: Mapping[NodeId, Machine], rng: random.Random) -> None:
        self._machines = machines
        self._rng = rng
        self._cuts: dict[NodeId, PowerCutMeasured] = {}

    async def cut(self, nodes: Sequence[NodeId], mode: PowerCutMode) -> None:
        victims = [self._machines[node] for node in sorted(nodes)]
        await strike(victims, self._rng, partial(self._cut_all, victims, mode))

    def cut_stopped(self, nodes: Sequence[NodeId], *, synced: bool) -> None:
        """Of those that ended in good order; `synced`: an operator did that to their disks."""
        for node in nodes:
            machine = self._machines[node]
            if synced:
                machine.drive.files.sync()
            cut = _cut(machine, PowerCutMode.LOSE_ALL)
            self._cuts[node] = replace(cut, stopped=True, synced=synced)

    def evidence(self, node: NodeId) -> FaultEvidence:
        return fault_evidence.of_power_cut(self._cuts[node])

    def look_at_canary(self, node: NodeId) -> None:
        """It is on again."""
        cut = self._cuts.get(node)
        if cut is not None and not cut.canary:
            self._cuts[node] = replace(cut, canary=self._machines[node].drive.canary())

    def forget(self, node: NodeId) -> None:
        """Its disk is another one."""
        self._cuts.pop(node, None)

    def _cut_all(self, victims: Sequence[Machine], mode: PowerCutMode) -> None:
        for machine in victims:
            self._cuts[machine.node] = _cut(machine, mode)


def _cut(machine: Machine, mode: PowerCutMode) -> PowerCutMeasured:
    drive = machine.drive
    ran = machine.status is not NodeStatus.OFF
    trouble, troubled = drive.trouble, drive.troubled
    overwritten = drive.overwrite_canary(f"unsynced overwriting on node {machine.node}")
    drive.cut_power(mode)
    machine.kill()
    runs = machine.status is not NodeStatus.OFF
    return PowerCutMeasured(
        mode=mode,
        threads_stopped=int(ran and not runs),
        threads_moving=int(runs),
        overwritten=overwritten,
        exit_code=machine.exit_code,
        trouble=str(trouble or ""),
        troubled=troubled if trouble else 0,
    )
