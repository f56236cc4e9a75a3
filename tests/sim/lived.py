"""A simulated cluster under load, and what is fed to one of its processes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import orjson

from chaos.cluster.interface import NodeId
from chaos.cluster.sim.loop import VirtualLoop, run
from chaos.cluster.sim.sim_cluster import SimCluster
from chaos.cluster.sim.sim_machine import Machine
from chaos.cluster.sim.surroundings import VirtualClock
from chaos.cluster.sim.watchdog import Watchdog
from chaos.conditions import Conditions
from chaos.probes import QuorumProbe, driver_for
from node.effects import Effect, Event
from node.ids import Now
from node.outbox import Output
from tests.support.recorded import ListedHistory
from workloads.register import RegisterWorkload
from workloads.workload import RegisterOptions

LOAD = RegisterOptions(concurrency=4, rate=40.0)


@dataclass
class Rig:
    """A cluster under load."""

    cluster: SimCluster
    clock: VirtualClock
    loop: VirtualLoop

    def machine(self, node: int) -> Machine:
        return self.cluster.machines[NodeId(node)]

    async def leader(self) -> Machine:
        probe = QuorumProbe(driver_for(self.cluster))
        try:
            return self.cluster.machines[await probe.leader(10.0)]
        finally:
            await probe.close()

    def lines(self, node: NodeId, event: str = "") -> list[dict[str, object]]:
        parsed = [orjson.loads(line) for line in self.cluster.machines[node].stdout.splitlines()]
        return [line for line in parsed if not event or line["ev"] == event]


def lived(
    story: Callable[[Rig], Awaitable[None]],
    *,
    seed: int = 1,
    nodes: int = 3,
    conditions: Conditions | None = None,
) -> None:
    """Tell a story while clients read and write."""

    async def main() -> None:
        clock = VirtualClock(loop, seed)
        cluster = SimCluster(
            loop=loop,
            clock=clock,
            nodes=nodes,
            seed=seed,
            watchdog=Watchdog(lambda: loop.is_signalled),
            conditions=conditions,
        )
        rig = Rig(cluster, clock, loop)
        await cluster.create()
        workload = RegisterWorkload(driver_for(cluster), ListedHistory(), seed=seed, options=LOAD)
        load = asyncio.create_task(workload.run())
        while not workload.acknowledged_writes:
            await asyncio.sleep(0.1)
        await story(rig)
        workload.stop()
        await load
        await workload.close()
        await cluster.destroy()

    loop = VirtualLoop()
    run(main(), loop)


@contextmanager
def watched(machine: Machine) -> Iterator[list[object]]:
    """What a process is fed and what comes of it, in order; frames as they enter the network."""
    account: list[object] = []
    process = machine.process
    assert process is not None
    decide, encode, carry = process.node.decide, process.node.encode, process._around.network.carry

    def decided(event: Event, now: Now) -> list[Output]:
        account.append(event)
        return decide(event, now)

    def encoded(outputs: list[Output]) -> list[Effect]:
        effects = encode(outputs)
        account.extend(effects)
        return effects

    process.node.decide = decided  # type: ignore[method-assign]
    process.node.encode = encoded  # type: ignore[method-assign]
    yield account
    process.node.decide = decide  # type: ignore[method-assign]
    process.node.encode = encode  # type: ignore[method-assign]
    assert process._around.network.carry == carry
