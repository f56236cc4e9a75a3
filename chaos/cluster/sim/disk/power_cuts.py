"""Power cuts of simulated machines, with evidence; the moments at which faults hit; bounded
waits."""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from chaos.cluster import fault_evidence
from chaos.cluster.cluster_errors import DiedAtStartError, NeverReadyError
from chaos.cluster.fault_evidence import PowerCutMeasured
from chaos.cluster.interface import FaultEvidence, NodeId, NodeStatus, PowerCutMode
from chaos.cluster.probe import answers, brokers_known
from chaos.cluster.sim.loop import VirtualLoop
from chaos.cluster.sim.network import client_address
from chaos.cluster.sim.sim_machine import Machine
from chaos.cluster.sim.surroundings import Between, StruckError

# When a fault hits: not at rest only, but between any two effects or operations of a disk.
#
# A fault at a drawn moment of virtual time would nearly always find its victims waiting, since
# steps take no time. So a strike waits for a drawn number of effects and disk operations of its
# victims, and hits before the next one; if they do too little in a short time, it hits at its end.


_MOST_EFFECTS = 40  # of a few requests under a light load
_WITHIN_S = 0.1


async def strike(
    victims: Sequence[Machine], rng: random.Random, action: Callable[[], None]
) -> None:
    """Do `action` once, at a drawn point of what the victims do; done when this returns."""
    left = rng.randrange(_MOST_EFFECTS)
    done = asyncio.get_running_loop().create_future()

    def hit() -> None:
        if not done.done():
            for victim in victims:
                victim.between = None
            done.set_result(None)
            action()

    def between_of(victim: Machine) -> Between:
        def between() -> None:
            nonlocal left
            left -= 1
            if left < 0:
                hit()
                if victim.status is NodeStatus.OFF:
                    raise StruckError

        return between

    for victim in victims:
        victim.between = between_of(victim)
    timer = asyncio.get_running_loop().call_later(_WITHIN_S, hit)
    try:
        await done
    finally:
        timer.cancel()
        for victim in victims:
            victim.between = None


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


# Conditions that are waited for in a simulated cluster, each for a bounded time.


ANSWERS_WITHIN_S = 30.0
STOP_WITHIN_S = 10.0
_POLL_S = 0.01


async def until_it_answers(machine: Machine, loop: VirtualLoop) -> None:
    """Raises DiedAtStartError, or NeverReadyError when it takes too long."""
    deadline = loop.time() + ANSWERS_WITHIN_S
    while not await answers(client_address(machine.node), 1.0):
        if machine.status is NodeStatus.OFF:
            code = machine.exit_code
            raise DiedAtStartError(_words_of(machine, f"exited during startup (code {code})"))
        if loop.time() > deadline:
            raise NeverReadyError(
                _words_of(machine, f"does not answer within {ANSWERS_WITHIN_S:g} s")
            )
        await asyncio.sleep(_POLL_S)


async def until_brokers_know_each_other(brokers: Sequence[Machine], loop: VirtualLoop) -> None:
    """Registered, and not fenced. Raises NeverReadyError when that takes too long."""
    all_of_them = frozenset(machine.node for machine in brokers)
    deadline = loop.time() + ANSWERS_WITHIN_S
    for machine in sorted(brokers, key=lambda each: each.node):
        while not all_of_them <= await brokers_known(client_address(machine.node), 1.0):
            if loop.time() > deadline:
                what = f"does not tell of all brokers within {ANSWERS_WITHIN_S:g} s"
                raise NeverReadyError(_words_of(machine, what))
            await asyncio.sleep(_POLL_S)


async def until_off(machine: Machine, loop: VirtualLoop) -> bool:
    """False: it took too long."""
    deadline = loop.time() + STOP_WITHIN_S
    while machine.status is not NodeStatus.OFF and loop.time() < deadline:
        await asyncio.sleep(_POLL_S)
    return machine.status is NodeStatus.OFF


def _words_of(machine: Machine, what: str) -> str:
    return f"node {machine.node} {what}\n  the end of its log:\n{machine.last_words()}"
