"""Apache Kafka behind the proxies: what clients are able to record, failover, and a whole scenario.

All but the scenario is measured on one cluster of three brokers and a controller, beside which the
clients run on the same machine.
"""

import asyncio
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from chaos.cluster.docker.clusters import PoweredDockerCluster, new_cluster
from chaos.cluster.docker.docker_cluster import DockerCluster
from chaos.cluster.interface import NodeId
from chaos.cluster.targets.named import KAFKA, layout
from chaos.cluster.topology import brokers_of
from chaos.probes import advertised, driver_for
from chaos.progress import ConsoleProgress
from chaos.recorder import MachineClock, Recorder
from chaos.releases import NEWEST
from chaos.run.installation import prepare
from chaos.run.launch import perform
from chaos.run.planning import Choices
from chaos.run.watches import PartitionWatch
from chaos.scenarios.elr import LAST_REPLICA_STANDING
from chaos.setup import docker_engine, kafka_image
from tests.bench.append import Measured, measure_at
from tests.bench.bare import records_per_s as bare_records_per_s
from tests.bench.row import Row
from workloads.append import AppendOptions, AppendWorkload
from workloads.connection import ClientEntry, Driver

_BROKERS = 3
_LOAD_S = 10.0
_FAILOVERS = 3
_FAILED_OVER_WITHIN_S = 60.0
_LOOK_S = 0.005
BATCH = 100  # records, 100 KiB
_THEIR_RECORDS = 300_000
_THEIR_TOOL = "org.apache.kafka.tools.ProducerPerformance"
_THEIR_RATE = re.compile(r"([\d.]+) records/sec \(([\d.]+) MB/sec\)")
ALL_ACKS = AppendOptions(acks_none_share=0.0, acks_leader_share=0.0, admin_rate=0.0)
_ONE_PARTITION = replace(
    ALL_ACKS, prefix="failover", topics=1, partitions=1, producers=10, consumers=0, rate=200.0
)
_MIB = 1 << 20


def measure() -> Iterator[Row]:
    prepare(print, NEWEST)
    yield from asyncio.run(_on_one_cluster())
    yield from _scenario()


async def _on_one_cluster() -> list[Row]:
    target, nodes = layout(KAFKA, _BROKERS, {})
    cluster = new_cluster(run_id=f"bench-{time.time_ns()}", nodes=nodes, target=target)
    try:
        await cluster.create()
        driver = driver_for(cluster, brokers_of(cluster))
        # A fresh broker spends its first seconds on compiling what it then does.
        await append(driver, replace(ALL_ACKS, prefix="warm", batch_records=BATCH))
        batched = await append(driver, replace(ALL_ACKS, prefix="batched", batch_records=BATCH))
        single = replace(ALL_ACKS, prefix="single")
        await append(driver, replace(single, producers=1))  # makes the topics
        before = await bare_records_per_s(driver, single, _LOAD_S)
        one_by_one = await append(driver, single)
        bare = (before + await bare_records_per_s(driver, single, _LOAD_S)) / 2
        rows = [
            Row(
                name="append: 20 processes, 1 KiB, recorded, through the proxies",
                value=one_by_one.records_per_s,
                unit="records/s",
                bar=1500,
                better="more",
                note=f"{one_by_one.cpu_us_per_operation:.0f} us of CPU an operation",
            ),
            Row(
                name="append: recorded and polled, of what the brokers answer to bare sends",
                value=one_by_one.records_per_s / bare,
                unit="x",
                note=f"{bare:,.0f} records/s that nobody records, before and after",
            ),
            Row(
                name=f"append: {BATCH} records a send",
                value=batched.megabytes_per_s,
                unit="MB/s",
                bar=30,
                better="more",
                note=f"{batched.records_per_s:,.0f} records/s",
            ),
            await asyncio.to_thread(
                _their_own, advertised(cluster, brokers_of(cluster)), "batched-0"
            ),
        ]
        return [*rows, await failover(cluster)]
    finally:
        await cluster.destroy()


async def append(driver: Driver, options: AppendOptions) -> Measured:
    with tempfile.TemporaryDirectory() as directory:
        return await measure_at(driver, options, directory=Path(directory), seconds=_LOAD_S)


def _their_own(entries: Mapping[int, ClientEntry], topic: str) -> Row:
    """Kafka's own producer, which records nothing, in a container on this machine's network: the
    same published ports of the proxy."""
    servers = ",".join(f"{entry.host}:{entry.port}" for entry in entries.values())
    command = ["--topic", topic, "--num-records", str(_THEIR_RECORDS), "--record-size", "1024"]
    command += ["--throughput", "-1", "--producer-props", f"bootstrap.servers={servers}"]
    client = docker_engine.connect(timeout_s=600)
    try:
        said: bytes = client.containers.run(
            kafka_image.name(client, NEWEST),
            [*command, "acks=all", "linger.ms=5", f"batch.size={BATCH * 1024}"],
            entrypoint=["java", "-cp", "/opt/kafka/libs/*", _THEIR_TOOL],
            network_mode="host",
            remove=True,
        )
    finally:
        client.close()
    records, mebibytes = _rates(said.decode().splitlines())
    return Row(
        name="Kafka's ProducerPerformance through the proxies",
        value=mebibytes * _MIB / 1e6,
        unit="MB/s",
        note=f"{records:,.0f} records/s, batches of {BATCH} KiB, acks=all, not recorded",
    )


def _rates(lines: Sequence[str]) -> tuple[float, float]:
    """Records and MiB a second, of the line that sums up."""
    found = next((rate for line in reversed(lines) if (rate := _THEIR_RATE.search(line))), None)
    if found is None:
        raise RuntimeError(f"ProducerPerformance told no rate: {' / '.join(lines[-5:])}")
    return float(found[1]), float(found[2])


async def failover(cluster: DockerCluster) -> Row:
    """From the cut of a leader's power to the first write that its successor acknowledges."""
    name = "leader power-off to first acknowledged write"
    if not isinstance(cluster, PoweredDockerCluster):
        return Row(name=name, value=None, unit="s", bar=6, note=cluster.no_power)
    clock = MachineClock()
    with tempfile.TemporaryDirectory() as directory, Recorder(Path(directory), clock) as recorder:
        driver = driver_for(cluster, brokers_of(cluster))
        workload = AppendWorkload(driver, recorder, seed=1, options=_ONE_PARTITION)
        watch = PartitionWatch(
            cluster,
            brokers_of(cluster),
            _ONE_PARTITION.names,
            workload=workload,
            recorder=recorder,
            clock=clock,
        )
        load = asyncio.create_task(workload.run())
        try:
            took = []
            for _ in range(_FAILOVERS):
                await _acknowledged(workload)
                lacks = await watch.wait_until_whole(_FAILED_OVER_WITHIN_S)
                assert not lacks, f"not in sync before a cut: {lacks}"
                took.append(await _failed_over(cluster, workload))
            workload.stop()
            await load
        finally:
            load.cancel()
            watch.close()
            await workload.close()
    each = ", ".join(f"{seconds:.1f}" for seconds in took)
    return Row(name=name, value=median(took), unit="s", bar=6, note=f"median of {each}")


async def _failed_over(cluster: PoweredDockerCluster, workload: AppendWorkload) -> float:
    """Seconds; the node is on again afterwards."""
    leader = workload.leader
    assert leader is not None, "somebody leads who acknowledged"
    began = time.monotonic()
    await cluster.power_off([NodeId(leader)])
    await _acknowledged(workload)
    took = time.monotonic() - began
    await cluster.start(NodeId(leader))
    return took


async def _acknowledged(workload: AppendWorkload) -> None:
    """Until one more write is."""
    before = workload.acknowledged_writes
    async with asyncio.timeout(_FAILED_OVER_WITHIN_S):
        while workload.acknowledged_writes == before:
            await asyncio.sleep(_LOOK_S)


def _scenario() -> Iterator[Row]:
    """Each side from nothing to its verdict, as `compare` runs it."""
    for side in LAST_REPLICA_STANDING.sides:
        with tempfile.TemporaryDirectory() as out:
            began = time.monotonic()
            ran = perform(_choices(side.settings), Path(out), ConsoleProgress(quiet=True))
            yield Row(
                name=f"{LAST_REPLICA_STANDING.name}, {side.name}, in all",
                value=time.monotonic() - began,
                unit="s",
                bar=45,
                note=f"{ran.judgement.verdict.word}, expected {side.expected.verdict.word}",
            )


def _choices(settings: Mapping[str, str]) -> Choices:
    return Choices(
        scenario=LAST_REPLICA_STANDING.name,
        seed=1,
        target=KAFKA,
        runtime="docker",
        settings=settings,
    )
