"""Logs: a million recorded sends and polls, judged from their tables by all checks of logs."""

import gc
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from checkers.evidence.evidence import Evidence
from checkers.history.events import HistoryKind
from checkers.history.sealed_run import Run
from checkers.history.tables import OPS, PROBES, SPANS
from checkers.log.checks import log_offsets, log_polls, log_sends
from checkers.log.durability import log_durability, log_final_reads
from checkers.log.findings import findings_of
from checkers.page import render_page
from checkers.page.partition_drawing import PARTITIONS_LIMIT
from checkers.verdict import Judgement, Verdict
from tests.bench.row import Row
from tests.support.histories import make_run

CHECKS = (log_offsets, log_polls, log_sends, log_durability, log_final_reads)
SENDS = 600_012  # whole polls of all keys
KEYS = 12
PRODUCERS = 20
A_POLL = 3  # records; every record is polled twice, the second time by a final read
BEST_OF = 5
PROBES_OF_EACH = 400


def measure() -> Iterator[Row]:
    run = history(SENDS)
    seconds = min(_judged(run) for _ in range(BEST_OF))
    operations, spans = run.tables["ops"].num_rows, run.tables["spans"].num_rows
    yield Row(
        name="logs: 10^6 recorded sends and polls",
        value=seconds,
        unit="s",
        bar=0.6,
        note=f"{operations:,} operations, {spans:,} records in them, best of {BEST_OF}",
    )
    yield Row(name="logs: the page of them", value=_drawn(run), unit="s", bar=2)
    yield Row(name="logs: arrays to judge them, at most", value=_peak_mib(run), unit="MiB")


def _peak_mib(run: Run) -> float:
    """Beside the tables themselves."""
    tracemalloc.start()
    try:
        _judged(run)
        return tracemalloc.get_traced_memory()[1] / (1 << 20)
    finally:
        tracemalloc.stop()


def _judged(run: Run) -> float:
    """All checks, from the tables: nothing that an earlier judgement kept is used."""
    gc.collect()
    began = time.perf_counter()
    evidence = Evidence(run)
    results = [check(evidence) for check in CHECKS]
    seconds = time.perf_counter() - began
    for result in results:
        assert result.verdict is Verdict.VALID, result.message
    return seconds


def _drawn(run: Run) -> float:
    """The page, of evidence that was judged; brokers were asked of every partition meanwhile."""
    end_ns = int(run.tables["ops"]["t0"].to_numpy()[-1])
    told = [
        {"t0": at_ns, "t1": at_ns, "node": 1, "kind": "partition", "key": f"t-{key}"}
        | {"leader": 1 + at % 3, "epoch": at, "isr": [1, 2, 3], "elr": []}
        for at, at_ns in enumerate(range(0, end_ns, end_ns // PROBES_OF_EACH))
        for key in range(KEYS)
    ]
    probes = pa.Table.from_pylist(told, schema=PROBES)
    evidence = Evidence(replace(run, tables={**run.tables, "probes": probes}))
    evidence.once(findings_of)
    judgement = Judgement(run_id="bench", verdict=Verdict.VALID, sentence="", results=())
    began = time.perf_counter()
    page = render_page(evidence, judgement)
    seconds = time.perf_counter() - began
    assert page.count("high watermark of t-") == PARTITIONS_LIMIT
    return seconds


def history(sends: int) -> Run:
    """Producers take turns on the keys; consumers are close behind, and read again at the end."""
    polls = sends // A_POLL
    batch, key = np.arange(polls) // KEYS, np.arange(polls) % KEYS
    newest = ((batch + 1) * A_POLL - 1) * KEYS + key
    when = np.concatenate([np.arange(sends), newest + 0.5, sends + np.arange(polls)])
    rank = np.empty(len(when), np.int64)
    rank[np.argsort(when, kind="stable")] = np.arange(len(when))
    process = [
        np.arange(sends) % PRODUCERS,
        PRODUCERS + key,
        PRODUCERS + KEYS + key,
    ]
    names = np.char.add("t-", np.arange(KEYS).astype(str))
    ops = {
        "op_id": rank,
        "process": np.concatenate(process),
        "f": np.repeat(["send", "poll"], [sends, 2 * polls]),
        "key": names[np.concatenate([np.arange(sends) % KEYS, key, key])],
        "value": pa.nulls(len(when)),
        "outcome": np.full(len(when), "ok"),
        "error": pa.nulls(len(when)),
        "node": np.ones(len(when)),
        "phase": np.repeat(["main", "final"], [sends + polls, polls]),
        "invoke_index": 2 * rank,
        "complete_index": 2 * rank + 1,
        "t0": rank * 1000,
        "t1": rank * 1000 + 500,
        "request": pa.nulls(len(when)),
        "voters": pa.nulls(len(when)),
    }
    settings = {"min_isr": "2", "replication": "3"}
    run = make_run(history=HistoryKind.LOG, settings=settings)
    tables = {"ops": _table(ops, OPS).sort_by("op_id"), "spans": _spans(sends, polls, rank, names)}
    return replace(run, tables={**run.tables, **tables})


def _spans(sends: int, polls: int, rank: np.ndarray, names: np.ndarray) -> pa.Table:
    sent = np.arange(sends)
    value = (sent % PRODUCERS) << 32 | sent // PRODUCERS
    poll = np.repeat(np.arange(polls), A_POLL)
    offset = poll // KEYS * A_POLL + np.tile(np.arange(A_POLL), polls)
    read = offset * KEYS + poll % KEYS  # which send it was
    which = np.concatenate([sent, read, read])
    rows = len(which)
    is_sent = np.arange(rows) < sends
    spans = {
        "op_id": np.concatenate([rank[:sends], rank[sends + poll], rank[sends + polls + poll]]),
        "key": names[which % KEYS],
        "sent": is_sent,
        "offset": which // KEYS,
        "value": value[which],
        "records": np.ones(rows),
        "acks": pa.array(np.full(rows, -1), mask=~is_sent),
        "idempotent": pa.array(np.ones(rows, np.bool_), mask=~is_sent),
        "epoch": pa.array(np.zeros(rows), mask=is_sent),
        "high_watermark": pa.array(which // KEYS + 1, mask=is_sent),
    }
    return _table(spans, SPANS).sort_by("op_id")


def _table(columns: dict[str, object], schema: pa.Schema) -> pa.Table:
    arrays = {
        name: (values if isinstance(values, pa.Array) else pa.array(values)).cast(
            schema.field(name).type
        )
        for name, values in columns.items()
    }
    return pa.table(arrays, schema=schema)
