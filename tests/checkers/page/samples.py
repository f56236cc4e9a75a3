"""Runs in memory, made by hand: three nodes, the leader is cut off once and killed once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa

from checkers.history.sealed_run import Run, RunInfo
from checkers.history.tables import TABLES
from checkers.verdict import CheckResult, Judgement, Verdict
from tests.support.harm import harm_of

MS = 1_000_000
SECOND = 1_000 * MS
LENGTH_NS = 40 * SECOND
OUTAGES = ((10 * SECOND, 11_400 * MS), (24 * SECOND, 25_100 * MS))  # no leader

INFO = RunInfo(
    run_id="20261121T061200-partition-leader-7",
    scenario="partition-leader",
    seed=7,
    target="node 0.1.0",
    runtime="docker",
    nodes=3,
    duration_s=40.0,
    parameters={"concurrency": "20", "keys": "10"},
    started_utc="2026-11-21T06:12:00Z",
    started_mono_ns=0,
    duration_ns=LENGTH_NS,
    finished=True,
    command="kraft-chaos run partition-leader --seed 7 --nodes 3 --duration 40",
)


def table(name: str, rows: Sequence[Mapping[str, object]]) -> pa.Table:
    """Rows that name only the columns that matter; the others are null, or follow from a kind."""
    schema = TABLES[name]
    if name == "faults":
        rows = [row if "cuts" in row else {**row, **harm_of(str(row["kind"]))} for row in rows]
    return pa.table(
        {field.name: [row.get(field.name) for row in rows] for field in schema}, schema=schema
    )


def run_of(info: RunInfo = INFO, **tables: pa.Table) -> Run:
    """A run with these tables, the others empty."""
    empty = {name: schema.empty_table() for name, schema in TABLES.items()}
    return Run(directory=Path("runs") / info.run_id, info=info, tables={**empty, **tables})


def operations(count: int = 20_000, seed: int = 7) -> pa.Table:
    """Closed processes at an even pace that wait, or fail, while nobody leads."""
    rng = np.random.default_rng(seed)
    t0 = np.sort(rng.integers(200 * MS, 39 * SECOND, count))
    took = (rng.lognormal(15.2, 0.5, count)).astype(np.int64)
    outcome = np.full(count, "ok", dtype=object)
    for begin, end in OUTAGES:
        inside = (t0 >= begin) & (t0 < end)
        kept = inside & (rng.random(count) < 0.03)
        took[inside] = end - t0[inside] + took[inside]
        outcome[inside] = np.where(rng.random(count) < 0.8, "fail", "info")[inside]
        outcome[kept] = "ok"
    done = t0 + took
    completed: list[int | None] = [
        None if name == "info" and n % 2 else int(at)
        for n, (name, at) in enumerate(zip(outcome, done, strict=True))
    ]
    writes = rng.random(count) < 0.5
    return pa.table(
        {
            "op_id": np.arange(count),
            "process": rng.integers(0, 20, count).astype(np.int32),
            "f": np.where(writes, "write", "read"),
            "key": [f"r-{key}" for key in rng.integers(0, 10, count)],
            "value": np.arange(count) + 1_000,
            "outcome": outcome,
            "error": ["not leader" if name == "fail" else None for name in outcome],
            "node": rng.integers(1, 4, count).astype(np.int16),
            "phase": ["main"] * count,
            "invoke_index": np.arange(count) * 2,
            "complete_index": np.arange(count) * 2 + 1,
            "t0": t0,
            "t1": completed,
            "request": pa.nulls(count, pa.int64()),
            "voters": pa.nulls(count, pa.list_(pa.string())),
        },
        schema=TABLES["ops"],
    )


def faults() -> pa.Table:
    return table(
        "faults",
        [
            {
                "fault_id": 1,
                "kind": "partition",
                "nodes": [1],
                "links": ["1->2", "2->1", "1->3", "3->1"],
                "params": "{}",
                "t_start": 9_990 * MS,
                "t_bit": 10 * SECOND,
                "t_heal": 18 * SECOND,
                "t_healed": 18_040 * MS,
                "bit": True,
                "evidence": "27,310 bytes were taken in and not passed on, on all 4 links",
                "facts": '{"swallowed_bytes": 27310, "links": 4}',
            },
            {
                "fault_id": 2,
                "kind": "kill",
                "nodes": [2],
                "links": [],
                "params": "{}",
                "t_start": 23_990 * MS,
                "t_bit": 24 * SECOND,
                "t_heal": 30 * SECOND,
                "t_healed": 30_700 * MS,
                "bit": True,
                "evidence": "the process ended with code 137",
                "facts": '{"exit_code": 137}',
            },
            {
                "fault_id": 3,
                "kind": "pause",
                "nodes": [1],
                "links": [],
                "params": "{}",
                "t_start": 27 * SECOND,
                "t_bit": 27 * SECOND,
                "t_heal": 29 * SECOND,
                "t_healed": 29 * SECOND,
                "bit": True,
                "evidence": "state of the process: stopped",
                "facts": "{}",
            },
        ],
    )


_STATES = (
    (1, 100, "n.start", None, None),
    (2, 110, "n.start", None, None),
    (3, 120, "n.start", None, None),
    (1, 130, "q.state", "unattached", 0),
    (2, 130, "q.state", "unattached", 0),
    (3, 130, "q.state", "unattached", 0),
    (1, 180, "q.state", "candidate", 1),
    (1, 200, "q.state", "leader", 1),
    (2, 210, "q.state", "follower", 1),
    (3, 211, "q.state", "follower", 1),
    (2, 10_900, "q.state", "prospective", 1),
    (2, 11_100, "q.state", "candidate", 2),
    (2, 11_300, "q.state", "leader", 2),
    (3, 11_310, "q.state", "follower", 2),
    (1, 13_000, "q.state", "resigned", 1),
    (1, 13_400, "q.state", "unattached", 1),
    (1, 18_100, "q.state", "follower", 2),
    (3, 24_800, "q.state", "candidate", 3),
    (3, 25_000, "q.state", "leader", 3),
    (1, 25_010, "q.state", "follower", 3),
    (2, 30_600, "n.start", None, None),
    (2, 30_650, "q.state", "unattached", 2),
    (2, 30_700, "q.state", "follower", 3),
)


def node_events() -> pa.Table:
    return table(
        "node_events",
        [
            {"node": node, "seq": seq, "t": at * MS, "event": event, "state": state, "epoch": epoch}
            for seq, (node, at, event, state, epoch) in enumerate(_STATES)
        ],
    )


def whole_run(count: int = 20_000) -> Run:
    return run_of(
        ops=operations(count),
        faults=faults(),
        node_events=node_events(),
        disks=table("disks", [{"node": n, "log_end": 9_812} for n in (1, 2, 3)]),
    )


VALID = CheckResult(
    check="linearizable",
    verdict=Verdict.VALID,
    message="20,000 operations on 10 keys have an order that explains them",
    looked_at=20_000,
    algorithm="zones",
    seconds=0.021,
)


def judgement(*results: CheckResult, sentence: str = "") -> Judgement:
    verdict = max((result.verdict for result in results), key=lambda v: v.value)
    return Judgement(
        run_id=INFO.run_id,
        verdict=verdict,
        sentence=sentence or "No check found a promise broken in 20,000 operations and 3 faults.",
        results=results,
        statistics={
            "operations_ok": 18_602,
            "operations_fail": 1_120,
            "operations_info": 278,
            "operations_per_s": 479.5,
            "longest_without_success_ns": 1_402 * MS,
            "elections": 3,
        },
    )


def stale_read(run: Run) -> CheckResult:
    """A violation around real operations of the run: a read that misses what was acknowledged."""
    ops = run.tables["ops"].to_pylist()
    after = [op for op in ops if op["t0"] > 17 * SECOND and op["key"] == "r-3"]
    picked = sorted(Random(3).sample(after[:30], 6), key=lambda op: op["t0"])
    witness = [
        {
            "what": f"{op['f']} of {op['value']} {word}",
            "t_ns": at,
            "node": op["node"],
            "process": op["process"],
            "key": op["key"],
            "value": op["value"],
        }
        for op in picked
        for word, at in (("invoked", op["t0"]), ("acknowledged", op["t1"]))
    ]
    return replace(
        VALID,
        verdict=Verdict.INVALID,
        count=1,
        message="r-3: a read returned 1,402 although 1,417 was acknowledged before it began",
        witness=tuple(sorted(witness, key=lambda event: int(str(event["t_ns"])))),
    )
