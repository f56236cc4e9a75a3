"""How often does a fault that was done in earnest leave no evidence? It should be never.

    python -m tests.support.bite_rates [--times 30] [--seed 1] [--kind NAME ...]

One cluster of real nodes under load is hurt many times in every way. Prints what was missing each
time, and a table: kind, faults, without evidence. Exit code 1 if there was any.
"""

import argparse
import asyncio
import os
import random
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from chaos.cluster.docker.clusters import new_cluster
from chaos.cluster.docker.docker_cluster import DockerCluster
from chaos.cluster.interface import FaultEvidence, PowerCutMode
from chaos.nemesis.aim import resolve
from chaos.nemesis.fault import Fault, cure, inject
from chaos.nemesis.kinds.cuts import NetworkPartition, Ways
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill, Pause, Terminate
from chaos.nemesis.victims import AllVoters, ControllerLeader, RandomFollower
from chaos.probes import QuorumProbe, driver_for
from chaos.run.installation import prepare
from tests.support.recorded import ListedHistory
from workloads.register import RegisterWorkload
from workloads.workload import RegisterOptions

WHOLE_WITHIN_S = 60.0
HOLD_S = (0.1, 1.5)
LEADER, FOLLOWER = ControllerLeader(), RandomFollower()

KINDS: Mapping[str, tuple[Fault, ...]] = {
    "clean-cut": (NetworkPartition(victim=LEADER), NetworkPartition(victim=FOLLOWER)),
    "cut-out": (
        NetworkPartition(victim=LEADER, ways=Ways.OUT),
        NetworkPartition(victim=FOLLOWER, ways=Ways.OUT),
    ),
    "cut-in": (
        NetworkPartition(victim=LEADER, ways=Ways.IN),
        NetworkPartition(victim=FOLLOWER, ways=Ways.IN),
    ),
    "kill": (Kill(victim=LEADER), Kill(victim=FOLLOWER)),
    "stop": (Terminate(victim=LEADER), Terminate(victim=FOLLOWER)),
    "pause": (Pause(victim=LEADER), Pause(victim=FOLLOWER)),
    "power-off": (
        *(PowerOff(victim=LEADER, mode=mode) for mode in PowerCutMode),
        PowerOff(victim=FOLLOWER),
    ),
    "power-off-all": (PowerOff(victim=AllVoters()),),
}


@dataclass(slots=True)
class Rate:
    faults: int = 0
    toothless: list[str] = field(default_factory=list)


async def measure(kinds: list[str], times: int, seed: int) -> dict[str, Rate]:
    """Hurt one cluster `times` times in each way, in a mixed order."""
    rates = {kind: Rate() for kind in kinds}
    rng = random.Random(f"{seed}:bite-rates")
    order = kinds * times
    rng.shuffle(order)
    cluster = new_cluster(run_id=f"bite-rates-{os.getpid()}")
    try:
        await cluster.create()
        await _under_load(cluster, order, rng, rates)
    finally:
        await cluster.destroy()
    return rates


async def _under_load(
    cluster: DockerCluster, order: list[str], rng: random.Random, rates: dict[str, Rate]
) -> None:
    driver = driver_for(cluster)
    probe = QuorumProbe(driver)
    load = RegisterOptions(concurrency=10)
    workload = RegisterWorkload(driver, ListedHistory(), seed=0, options=load)
    running = asyncio.create_task(workload.run())
    try:
        for number, kind in enumerate(order):
            assert await probe.wait_until_whole(WHOLE_WITHIN_S), "the quorum did not come back"
            fault = rng.choice(KINDS[kind])
            evidence = await _hurt(cluster, probe, fault, rng)
            rates[kind].faults += 1
            if not evidence.bit:
                rates[kind].toothless.append(evidence.what)
                print(f"{number:4} {kind} of {fault.victim}: {evidence.what}", flush=True)
                print(f"     {dict(evidence.facts)}", flush=True)
    finally:
        workload.stop()
        await running
        await workload.close()
        await probe.close()


async def _hurt(
    cluster: DockerCluster, probe: QuorumProbe, fault: Fault, rng: random.Random
) -> FaultEvidence:
    nodes = await resolve(fault.victim, cluster, probe, rng)
    hit = await inject(cluster, fault, nodes)
    await asyncio.sleep(rng.uniform(*HOLD_S))  # the fault lasts
    return await cure(cluster, hit)


def table(rates: Mapping[str, Rate]) -> str:
    lines = [f"{'kind':<16}{'faults':>8}{'without evidence':>18}"]
    lines += [f"{k:<16}{rate.faults:>8}{len(rate.toothless):>18}" for k, rate in rates.items()]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--times", type=int, default=30, help="faults of each kind (default 30)")
    parser.add_argument("--seed", type=int, default=1, help="of order, victims and holds")
    parser.add_argument("--kind", nargs="*", default=list(KINDS), choices=list(KINDS))
    given = parser.parse_args()
    prepare(print)
    began = time.monotonic()
    rates = asyncio.run(measure(given.kind, given.times, given.seed))
    print(f"{table(rates)}\n{time.monotonic() - began:.0f} s")
    return int(any(rate.toothless for rate in rates.values()))


if __name__ == "__main__":
    sys.exit(main())
