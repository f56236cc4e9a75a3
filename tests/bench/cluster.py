"""What containers cost: power off and on again, and the proxies against the direct way."""

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from chaos.cluster.docker.clusters import new_cluster
from chaos.cluster.interface import Address, Cluster, NodeId
from chaos.cluster.powers import PowerCuttable
from chaos.cluster.topology import OUTER_PORT
from chaos.recorder import MachineClock, Recorder
from checkers.history.events import EventType
from tests.bench.row import Row
from workloads.connection import ClientEntry, TcpDriver
from workloads.register import RegisterWorkload
from workloads.workload import RegisterOptions

POWER_CYCLES = 5
LOAD_S = 8.0


def measure() -> Iterator[Row]:
    return iter(asyncio.run(_measure()))


async def _measure() -> list[Row]:
    cluster = new_cluster(run_id=f"bench-{time.time_ns()}")
    try:
        await cluster.create()
        direct = {
            node: Address(cluster.topology.networks[node].address, OUTER_PORT)
            for node in cluster.nodes
        }
        through = await _operations_per_s(cluster.bootstrap)
        straight = await _operations_per_s(direct)
        rows = [
            Row(name="register: 20 processes, through the proxies", value=through, unit="ops/s"),
            Row(name="register: 20 processes, past the proxies", value=straight, unit="ops/s"),
            Row(name="register: through against past", value=through / straight, unit="ratio"),
        ]
        return [*rows, await _power_cycle(cluster)]
    finally:
        await cluster.destroy()


async def _power_cycle(cluster: Cluster) -> Row:
    """Off and on again, until the process answers."""
    name = "power off and on, until the process answers"
    if not isinstance(cluster, PowerCuttable):
        return Row(name=name, value=None, unit="s", bar=1, note="no loop devices here")
    took = []
    for _ in range(POWER_CYCLES):
        began = time.monotonic()
        await cluster.power_off([NodeId(1)])
        await cluster.start(NodeId(1))
        took.append(time.monotonic() - began)
    return Row(name=name, value=median(took), unit="s", bar=1, note=f"median of {POWER_CYCLES}")


async def _operations_per_s(entries: Mapping[NodeId, Address]) -> float:
    driver = TcpDriver(
        {int(node): ClientEntry(host=at.host, port=at.port) for node, at in entries.items()}
    )
    with (
        tempfile.TemporaryDirectory() as directory,
        Recorder(Path(directory), MachineClock()) as recorder,
    ):
        workload = RegisterWorkload(driver, recorder, seed=1, options=RegisterOptions())
        load = asyncio.create_task(workload.run())
        while not workload.acknowledged_writes:
            await asyncio.sleep(0.02)
        before, began = recorder.counts[EventType.OK], time.monotonic()
        await asyncio.sleep(LOAD_S)
        rate = (recorder.counts[EventType.OK] - before) / (time.monotonic() - began)
        workload.stop()
        await load
        await workload.close()
    return rate
