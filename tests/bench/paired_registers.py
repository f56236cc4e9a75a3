"""Do register operations through the proxies cost what they cost in another checkout?

    python -m tests.bench.paired_registers OTHER [--pairs 5]

OTHER is the root of an older checkout, as `git worktree add` makes one. Each measurement is a
process of its own in one of the two, with a cluster of three nodes in containers and 20 clients;
the two take turns, and change places after every pair. Told are operations a second, and the CPU
time of all node processes a write that was acknowledged, as ratios of each pair. What a node does
once is done by then: in its first ten seconds it makes the codecs of all that it serves
(`node.server.run`).
"""

import argparse
import asyncio
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chaos.recorder import MachineClock, Recorder
from checkers.history.events import EventType
from workloads.connection import ClientEntry, TcpDriver
from workloads.register import RegisterWorkload
from workloads.workload import RegisterOptions

HERE = Path(__file__).parents[2]
WARM_S, LOAD_S = 14.0, 10.0
_NODE = b"node.server"  # in the command line of its process
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    operations_per_s: float
    cpu_ms_per_write: float


def compare(other: Path, pairs: int) -> None:
    found: list[tuple[Measured, Measured]] = []
    for checkout in (other, HERE):
        _run(checkout, "-m", "chaos.cli", "setup")
    for number in range(1, pairs + 1):
        order = (other, HERE) if number % 2 else (HERE, other)
        by_checkout = {checkout: _measured_in(checkout) for checkout in order}
        before, now = by_checkout[other], by_checkout[HERE]
        found.append((before, now))
        told = f"{before.operations_per_s:.0f} ops/s there, {now.operations_per_s:.0f} here; "
        told += f"{before.cpu_ms_per_write:.2f} ms of CPU a write there, "
        print(f"pair {number}  {told}{now.cpu_ms_per_write:.2f} here", flush=True)
    rates = [now.operations_per_s / before.operations_per_s for before, now in found]
    costs = [now.cpu_ms_per_write / before.cpu_ms_per_write for before, now in found]
    for name, ratios in (("operations a second", rates), ("CPU time a write", costs)):
        told = ", ".join(f"{ratio:.2f}" for ratio in sorted(ratios))
        print(f"{name}: {statistics.median(ratios):.2f} times  ({told})")


def _measured_in(checkout: Path) -> Measured:
    return Measured(**json.loads(_run(checkout, __file__, "--once")))


def _run(checkout: Path, *words: str) -> str:
    return subprocess.run(
        [sys.executable, "-P", *words],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


async def measure() -> Measured:
    """In the checkout that this process imported."""
    cluster = _new_cluster(f"bench-{time.time_ns()}")
    try:
        await cluster.create()
        entries = {
            int(node): ClientEntry(host=at.host, port=at.port)
            for node, at in cluster.bootstrap.items()
        }
        with (
            tempfile.TemporaryDirectory() as directory,
            Recorder(Path(directory), MachineClock()) as recorder,
        ):
            driver = TcpDriver(entries)
            workload = RegisterWorkload(driver, recorder, seed=1, options=RegisterOptions())
            load = asyncio.create_task(workload.run())
            while not workload.acknowledged_writes:
                await asyncio.sleep(0.02)
            await asyncio.sleep(WARM_S)
            began, done = time.monotonic(), recorder.counts[EventType.OK]
            cpu_s, writes = _cpu_of_nodes_s(), workload.acknowledged_writes
            await asyncio.sleep(LOAD_S)
            measured = Measured(
                operations_per_s=(recorder.counts[EventType.OK] - done)
                / (time.monotonic() - began),
                cpu_ms_per_write=(_cpu_of_nodes_s() - cpu_s)
                / (workload.acknowledged_writes - writes)
                * 1000,
            )
            workload.stop()
            await load
            await workload.close()
        return measured
    finally:
        await cluster.destroy()


def _new_cluster(run_id: str) -> Any:
    """As each checkout makes one."""
    try:
        return importlib.import_module("chaos.cluster.docker.clusters").new_cluster(run_id=run_id)
    except ModuleNotFoundError:
        made = importlib.import_module("chaos.cluster.docker.docker_cluster")
        return made.DockerCluster.new(run_id=run_id)


def _cpu_of_nodes_s() -> float:
    """Of all of this machine, in containers as well."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_node = _NODE in (process / "cmdline").read_bytes()
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        total += is_node * (int(fields[11]) + int(fields[12]))
    return total / _TICKS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.paired_registers")
    parser.add_argument("other", nargs="?", type=Path)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once:
        print(json.dumps(asdict(asyncio.run(measure()))))
    elif arguments.other is None:
        parser.error("name the root of another checkout")
    else:
        compare(arguments.other.absolute(), arguments.pairs)


if __name__ == "__main__":
    main()
