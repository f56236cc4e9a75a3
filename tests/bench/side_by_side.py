"""Our brokers and Apache Kafka's, in alternation on one machine, as ratios: ours of theirs.

Each in clusters of three brokers and a controller, behind the proxies, with the same clients.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import median
from typing import TypeVar

from docker.models.containers import Container

from chaos.cluster.docker.clusters import new_cluster
from chaos.cluster.docker.docker_cluster import DockerCluster
from chaos.cluster.docker.labels import NODE as NODE_LABEL
from chaos.cluster.docker.labels import RUN
from chaos.cluster.interface import NodeId
from chaos.cluster.targets.named import KAFKA, NODE, layout
from chaos.cluster.topology import brokers_of
from chaos.probes import driver_for
from chaos.releases import NEWEST
from chaos.run.installation import prepare
from chaos.setup import docker_engine
from tests.bench.brokers import ALL_ACKS, BATCH, append, failover
from tests.bench.row import Row

_ROUNDS, _STARTS = 3, 5
_SETTINGS = {NODE: {"brokers": "3", "controllers": "1"}, KAFKA: {"quorum": "static"}}
_BROKERS = 3
_KIB = 1024
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Of one cluster. `failover_s` None: no power can be cut here."""

    single: float  # records/s
    batched: float  # records/s
    resident: float  # bytes a broker, after the load
    failover_s: float | None


def measure() -> Iterator[Row]:
    prepare(print, NEWEST)
    rounds = [(asyncio.run(_of(NODE)), asyncio.run(_of(KAFKA))) for _ in range(_ROUNDS)]
    ours, theirs = [one for one, _ in rounds], [other for _, other in rounds]
    load = "20 processes, 1 KiB, acks=all"
    yield _ratio(f"{load}, unbatched", ours, theirs, lambda one: one.single, 0.5, "records/s")
    yield _ratio(
        f"{load}, {BATCH} a send", ours, theirs, lambda one: one.batched, 0.25, "records/s"
    )
    if all(one.failover_s is not None for one in (*ours, *theirs)):
        name = "leader power-off to first acknowledged write"
        yield _ratio(name, ours, theirs, lambda one: one.failover_s or 0.0, 1.0, "s")
    name = "memory a broker, resident"
    yield _ratio(name, ours, theirs, lambda one: one.resident / 2**20, 0.25, "MiB")
    starts = [(_alone(NODE), _alone(KAFKA)) for _ in range(_STARTS)]
    ours_s, theirs_s = [one for one, _ in starts], [other for _, other in starts]
    yield _ratio("until brokers are ready", ours_s, theirs_s, lambda one: one, 1 / 3, "s")


def _ratio(
    name: str,
    ours: list[T],
    theirs: list[T],
    value: Callable[[T], float],
    bar: float,
    unit: str,
) -> Row:
    """Of medians."""
    own, other = (median(map(value, each)) for each in (ours, theirs))
    return Row(
        name=f"ours of Apache Kafka's: {name}",
        value=own / other,
        unit="ratio",
        bar=bar,
        better="more" if unit == "records/s" else "less",
        note=f"{own:,.3g} and {other:,.3g} {unit}, medians of {len(ours)} in alternation",
    )


def _alone(word: str) -> float:
    """`_ready_s` in a process of its own, as users have it: in one that has put clusters under load
    before, ours took 0.3 s longer."""
    command = [sys.executable, "-m", __spec__.name, word]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


async def _ready_s(word: str) -> float:
    """From the start of the first process until all brokers are registered, and not fenced."""
    async with _cluster(word) as (cluster, run_id):
        return time.time() - await asyncio.to_thread(_started_at, cluster, run_id)


@asynccontextmanager
async def _cluster(word: str) -> AsyncIterator[tuple[DockerCluster, str]]:
    """One that is ready, and its run's id."""
    target, nodes = layout(word, _BROKERS, _SETTINGS[word])
    run_id = f"bench-{time.time_ns()}"
    cluster = new_cluster(run_id=run_id, nodes=nodes, target=target)
    try:
        await cluster.create()
        yield cluster, run_id
    finally:
        await cluster.destroy()


async def _of(word: str) -> Measured:
    async with _cluster(word) as (cluster, run_id):
        driver = driver_for(cluster, brokers_of(cluster))
        # A fresh JVM spends its first seconds on compiling what it then does.
        await append(driver, replace(ALL_ACKS, prefix="warm", batch_records=BATCH))
        batched = await append(driver, replace(ALL_ACKS, prefix="batched", batch_records=BATCH))
        single = await append(driver, replace(ALL_ACKS, prefix="single"))
        resident = await asyncio.to_thread(_resident_bytes, cluster, run_id)
        return Measured(
            single=single.records_per_s,
            batched=batched.records_per_s,
            resident=resident,
            failover_s=(await failover(cluster)).value,
        )


def _started_at(cluster: DockerCluster, run_id: str) -> float:
    """When the first container of a node was started: seconds since 1970, as the engine tells."""
    with _containers(cluster.nodes, run_id) as found:
        told = [each.attrs["State"]["StartedAt"] for each in found]
    return min(datetime.fromisoformat(each).timestamp() for each in told)


def _resident_bytes(cluster: DockerCluster, run_id: str) -> float:
    """Of all processes of a broker's container; the median of the brokers."""
    with _containers(brokers_of(cluster), run_id) as found:
        each = [container.top(ps_args="-eo pid,rss")["Processes"] for container in found]
    return median(sum(int(row[-1]) for row in rows) * _KIB for rows in each)


@contextmanager
def _containers(nodes: Sequence[NodeId], run_id: str) -> Iterator[list[Container]]:
    """Of these nodes of a run."""
    client = docker_engine.connect(timeout_s=60)
    try:
        labels = [[f"{RUN}={run_id}", f"{NODE_LABEL}={node}"] for node in nodes]
        yield [client.containers.list(filters={"label": each})[0] for each in labels]
    finally:
        client.close()


if __name__ == "__main__":
    print(asyncio.run(_ready_s(sys.argv[1])))
