"""Sealed runs of random rows: no cluster would leave them, and every case is among them.

Times are drawn from few values, so that ties are common; faults overlap, and some never heal; disks
are missing or unreadable; values are acknowledged, refused or left open, and are on any number of
disks.
"""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pyarrow as pa

from checkers.history.sealed_run import RunInfo, write_run_info
from checkers.history.store import write_tables
from checkers.history.tables import NO_DIRECTORY, TABLES
from tests.support.harm import harm_of
from tests.support.histories import given

MS = 1_000_000
SPAN_MS = 4_000

Row = dict[str, object]


def table(name: str, rows: Sequence[Row]) -> pa.Table:
    schema = TABLES[name]
    return pa.table({f.name: [row.get(f.name) for row in rows] for f in schema}, schema=schema)


def seal_random_run(directory: Path, seed: int) -> Path:
    """Seal a run with this seed into `directory` (which is made) and return it."""
    rng = random.Random(f"{seed}:run")
    nodes = rng.choice([3, 5])
    target = "2 of ours, 1 kafka 4.3.1" if seed % 4 == 2 else "node test"
    directory.mkdir(parents=True)
    write_run_info(
        directory,
        RunInfo(
            run_id=f"random-{seed}",
            scenario=rng.choice(["kill-leader", "power-off"]),
            seed=seed,
            target=target,
            runtime="docker",
            nodes=nodes,
            roles=_roles(rng, nodes),
            duration_s=SPAN_MS / 1_000,
            started_utc="2026-11-21T06:00:00Z",
            started_mono_ns=0,
            finished=True,
            gives=given(target, logs=False),
        ),
    )
    ops = _ops(rng, nodes)
    rows = {
        "ops": ops,
        "faults": _faults(rng, nodes),
        "node_events": _events(rng, nodes),
        "log_batches": _batches(rng, nodes),
        "log_records": _records(rng, nodes, ops),
        "disks": _disks(rng, nodes),
    }
    if seed % 3 == 1:
        voters = random.Random(f"{seed}:voters").sample(range(1, nodes + 1), nodes - 1)
        batch, record = _voters_named(sorted(voters))
        rows["log_batches"].append(batch)
        rows["log_records"].append(record)
    write_tables(directory, {name: table(name, rows.get(name, [])) for name in TABLES}, {})
    return directory


def _roles(rng: random.Random, nodes: int) -> dict[str, str]:
    """None, or a broker that has no vote beside the controllers."""
    if rng.random() < 0.7:
        return {}
    return {str(n): "broker" if n == nodes else "broker,controller" for n in range(1, nodes + 1)}


def _ops(rng: random.Random, nodes: int) -> list[Row]:
    ops: list[Row] = []
    written: list[tuple[str, int]] = []
    for op_id in range(rng.choice([1, 150, 300])):
        f = rng.choice(["read", "write"])
        key, value = f"r-{rng.randrange(4)}", op_id
        if f == "read" and written:
            key, value = rng.choice(written)
        outcome = rng.choice(["ok", "ok", "ok", "fail", "info"])
        t0 = rng.randrange(SPAN_MS // 10) * 10
        done = None if outcome == "info" and rng.random() < 0.5 else t0 + rng.choice([0, 10, 700])
        if f == "write":
            written.append((key, value))
        nothing = f == "read" and (outcome != "ok" or rng.random() < 0.2)
        ops.append(
            {
                "op_id": op_id,
                "process": op_id % 7,
                "f": f,
                "key": key,
                "value": None if nothing else value,
                "outcome": outcome,
                "node": rng.randrange(1, nodes + 1),
                "phase": "final" if f == "read" and rng.random() < 0.3 else "main",
                "invoke_index": 2 * op_id,
                "complete_index": None if done is None else 2 * op_id + 1,
                "t0": t0 * MS,
                "t1": None if done is None else done * MS,
            }
        )
    return ops


def _faults(rng: random.Random, nodes: int) -> list[Row]:
    faults: list[Row] = []
    for fault_id in range(rng.choice([0, 1, 4, 4])):
        kind = rng.choice(["kill", "partition"])
        start = rng.randrange(SPAN_MS // 10) * 10
        healed = None if rng.random() < 0.2 else (start + rng.choice([10, 800])) * MS
        faults.append(
            {
                "fault_id": fault_id,
                "kind": kind,
                "nodes": sorted(rng.sample(range(1, nodes + 1), rng.randrange(1, nodes))),
                "links": [],
                "t_start": start * MS,
                "t_bit": None if rng.random() < 0.2 else (start + 10) * MS,
                "t_healed": healed,
                "bit": True,
                **harm_of(kind),
            }
        )
    return faults


def _events(rng: random.Random, nodes: int) -> list[Row]:
    events: list[Row] = []
    at = 0
    for epoch in range(1, rng.choice([1, 4, 12])):
        at += rng.choice([0, 100, 900])
        node = rng.randrange(1, nodes + 1)
        common: Row = {"node": node, "epoch": epoch, "seq": 2 * epoch}
        events.append({**common, "event": "q.state", "state": "leader", "t": at * MS})
        if rng.random() < 0.7:
            events.append({**common, "event": "c.active", "t": (at + 20) * MS})
        events.append({**common, "event": "q.state", "state": "follower", "t": at * MS})
    if rng.random() < 0.3:
        events.append(
            {"node": 1, "seq": 0, "event": "q.hwm", "t": 0, "hwm": 2 * rng.randrange(300)}
        )
    rng.shuffle(events)
    return events


def _records(rng: random.Random, nodes: int, ops: Sequence[Row]) -> list[Row]:
    records: list[Row] = []
    for op in ops:
        if op["f"] != "write":
            continue
        for node in rng.sample(range(1, nodes + 1), rng.randrange(nodes + 1)):
            records.append(
                {
                    "node": node,
                    "offset": 2 * cast("int", op["op_id"]) + (rng.random() < 0.1),
                    "epoch": 1 + (rng.random() < 0.05),
                    "type": "Config",
                    "resource_type": 16 if rng.random() < 0.9 else 2,
                    "resource": op["key"],
                    "name": "interval.ms",
                    "value": str(op["value"]) if rng.random() < 0.95 else "no number",
                }
            )
    return records


def _batches(rng: random.Random, nodes: int) -> list[Row]:
    """Of logs that begin at 0 or, behind a snapshot, later."""
    begins = {node: rng.choice([0, 0, 0, 0, 7]) for node in range(1, nodes + 1)}
    return [
        {"node": node, "base_offset": begin + at, "last_offset": begin + at}
        for node, begin in begins.items()
        for at in range(rng.choice([0, 3]))
    ]


def _voters_named(voters: Sequence[int]) -> tuple[Row, Row]:
    """By one log, the only one whose batches can be read: others than were planned."""
    told = [{"voterId": node, "voterDirectoryId": NO_DIRECTORY} for node in voters]
    batch: Row = {"node": 1, "base_offset": 0, "last_offset": 0, "epoch": 1, "crc": 1}
    record: Row = {"node": 1, "offset": 0, "epoch": 1, "type": "KRaftVoters"}
    return {**batch, "crc_ok": True}, {**record, "detail": json.dumps({"voters": told})}


def _disks(rng: random.Random, nodes: int) -> list[Row]:
    read = rng.choice([0, nodes - 1, nodes, nodes])
    torn = "000.log: cut at 77"
    return [{"node": n, "problem": rng.choice([None, None, torn])} for n in range(1, read + 1)]
