"""Linearizability: a long run as it is judged, and histories that are hard for others."""

import resource
import time
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from checkers.history.tables import OPS
from checkers.linearizability import warm
from checkers.registers.linearizable import swept
from checkers.registers.register_anomalies import register_columns
from tests.bench import etcd, search
from tests.bench.row import Row

OPERATIONS = 1_000_000
KEYS = 100
BEST_OF = 5


def measure() -> Iterator[Row]:
    warm()
    ops = history(OPERATIONS, KEYS)
    columns = register_columns(ops)
    found = swept(ops, columns)
    assert (found.counts, found.repeated) == ({}, []), (
        "the history of the benchmark is linearizable"
    )
    yield Row(
        name="linearizability: 10^6 unique operations, 100 keys",
        value=min(_timed(lambda: swept(ops, columns)) for _ in range(BEST_OF)),
        unit="s",
        bar=0.2,
        note=f"best of {BEST_OF}, warm",
    )
    yield Row(
        name="linearizability: with the table's columns prepared",
        value=min(_timed(lambda: swept(ops, register_columns(ops))) for _ in range(BEST_OF)),
        unit="s",
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield Row(name="linearizability: peak memory of this process", value=peak, unit="MiB")
    yield from etcd.measure()
    yield from search.measure()


def history(operations: int, keys: int) -> pa.Table:
    """Linearizable: 20 operations a time overlap, odd ones read what the one before it wrote."""
    row = np.arange(operations)
    write = row // keys % 2 == 0
    round_of = row // 20
    within = row % 20
    completes = round_of * 40 + 20 + within
    columns = {
        "op_id": row,
        "process": within,
        "f": np.where(write, "write", "read"),
        "key": np.char.add("r-", (row % keys).astype(str)),
        "value": np.where(write, row, row - keys),
        "outcome": np.full(operations, "ok"),
        "error": pa.nulls(operations),
        "node": np.ones(operations),
        "phase": np.full(operations, "main"),
        "invoke_index": round_of * 40 + within,
        "complete_index": completes,
        "t0": row * 1000,
        "t1": row * 1000 + 500,
        "request": pa.nulls(operations),
        "voters": pa.nulls(operations),
    }
    return pa.table(
        {name: pa.array(values).cast(OPS.field(name).type) for name, values in columns.items()},
        schema=OPS,
    )


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
