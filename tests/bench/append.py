"""How fast the append workload sends and records, against brokers that run already.

    python -m tests.bench.append --bootstrap 1=127.0.0.1:9092,2=127.0.0.1:9093,3=...
        [--seconds 10] [--batch-records 1] [--producers 20] [--client raw|librdkafka|kafka-python]
        [--out DIRECTORY]

Prints records and megabytes a second, the client's CPU an operation, what operations came to, and
the sizes of the sealed tables.
"""

import argparse
import asyncio
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from chaos.recorder import MachineClock, Recorder
from chaos.run.seal import seal
from checkers.history.events import HistoryKind
from checkers.history.sealed_run import RunInfo, write_run_info
from checkers.history.store import read_run
from workloads.append import AppendOptions, AppendWorkload
from workloads.clients.library_clients import library_clients
from workloads.clients.log_driver import LogClients
from workloads.connection import ClientEntry, Driver, TcpDriver

FIRST_ACKNOWLEDGED_WITHIN_S = 90.0
READ_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One run: what was sent and acknowledged while the load ran, and what was read after it."""

    seconds: float
    records: int
    record_bytes: int
    operations: int
    cpu_s: float
    unread: tuple[str, ...]

    @property
    def records_per_s(self) -> float:
        return self.records / self.seconds

    @property
    def megabytes_per_s(self) -> float:
        return self.records_per_s * self.record_bytes / 1e6

    @property
    def cpu_us_per_operation(self) -> float:
        return self.cpu_s / self.operations * 1e6


async def measure_at(
    driver: Driver,
    options: AppendOptions,
    *,
    directory: Path,
    seconds: float,
    clients: LogClients | None = None,
) -> Measured:
    """Load for so long, recorded in `directory`, then read everything."""
    clock = MachineClock()
    _describe(directory, clock, seconds, len(driver.nodes))
    with Recorder(directory, clock) as recorder:
        workload = AppendWorkload(driver, recorder, seed=1, options=options, clients=clients)
        running = asyncio.create_task(workload.run())
        try:
            await _first_acknowledged(workload, running)
            began, cpu = time.monotonic(), time.process_time()
            sent, done = workload.acknowledged_records, sum(recorder.counts.values())
            await asyncio.sleep(seconds)
            took, cpu_s = time.monotonic() - began, time.process_time() - cpu
            records = workload.acknowledged_records - sent
            operations = sum(recorder.counts.values()) - done
            workload.stop()
            await running
            unread = await workload.read_all(READ_WITHIN_S)
        finally:
            running.cancel()
            await workload.close()
    return Measured(
        seconds=took,
        records=records,
        record_bytes=options.record_bytes,
        operations=operations,
        cpu_s=cpu_s,
        unread=unread,
    )


async def _first_acknowledged(workload: AppendWorkload, running: asyncio.Task[None]) -> None:
    async with asyncio.timeout(FIRST_ACKNOWLEDGED_WITHIN_S):
        while not workload.acknowledged_writes:
            if running.done():
                running.result()
            await asyncio.sleep(0.02)


def _describe(directory: Path, clock: MachineClock, seconds: float, nodes: int) -> None:
    info = RunInfo(
        run_id="append",
        scenario="append",
        seed=1,
        target="kafka",
        runtime="docker",
        nodes=nodes,
        duration_s=seconds,
        started_utc=time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()),
        started_mono_ns=clock.started_mono_ns,
        workload="append",
        history=HistoryKind.LOG,
    )
    write_run_info(directory, info)


def entries_of(bootstrap: str) -> dict[int, ClientEntry]:
    """`1=host:port,2=host:port`, by node id."""
    entries = {}
    for part in bootstrap.split(","):
        node, _, address = part.partition("=")
        host, _, port = address.rpartition(":")
        entries[int(node)] = ClientEntry(host=host, port=int(port))
    return entries


def _print_what_was_recorded(directory: Path) -> None:
    began = time.monotonic()
    dropped = seal(directory).truncated
    print(f"sealed in {time.monotonic() - began:.1f} s; dropped: {list(dropped) or 'nothing'}")
    tables = read_run(directory).tables
    ops = tables["ops"]
    columns = (ops[name].to_pylist() for name in ("phase", "f", "outcome", "error"))
    for what, count in sorted(Counter(zip(*columns, strict=True)).items(), key=str):
        print(f"  {count:>9,}  {' '.join(str(word) for word in what if word is not None)}")
    for name in ("ops", "spans"):
        size = (directory / f"{name}.parquet").stat().st_size
        print(f"  {name}: {tables[name].num_rows:,} rows, {size:,} bytes of Parquet")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.append")
    parser.add_argument("--bootstrap", required=True, type=entries_of)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--batch-records", type=int, default=1)
    parser.add_argument("--producers", type=int, default=20)
    parser.add_argument("--consumers", type=int, default=3)
    parser.add_argument("--replication", type=int, default=3)
    parser.add_argument("--client", default="raw")
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    options = AppendOptions(
        prefix=f"append{time.time_ns() % 1_000_000_000}",
        batch_records=chosen.batch_records,
        producers=chosen.producers,
        consumers=chosen.consumers,
        replication=chosen.replication,
        configs={"min.insync.replicas": str(min(2, chosen.replication))},
    )
    with tempfile.TemporaryDirectory() as kept:
        directory = chosen.out or Path(kept)
        directory.mkdir(parents=True, exist_ok=True)
        measured = asyncio.run(
            measure_at(
                TcpDriver(chosen.bootstrap),
                options,
                directory=directory,
                seconds=chosen.seconds,
                clients=library_clients(chosen.client, chosen.bootstrap, options.patience),
            )
        )
        print(
            f"{measured.records_per_s:,.0f} records/s, {measured.megabytes_per_s:,.1f} MB/s "
            f"acknowledged with their offsets; client {measured.cpu_us_per_operation:,.0f} us of "
            f"CPU an operation"
        )
        for what in measured.unread:
            print(f"  short: {what}")
        _print_what_was_recorded(directory)


if __name__ == "__main__":
    main()
