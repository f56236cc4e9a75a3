"""Hand-made histories, written tersely: operations, traces and disks of a run that never was.

Operations are placed by event index; a millisecond of run time passes with each index. Traces
are emitted as the JSON lines that a node prints and read back by the reader under test.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from checkers.evidence.faults import Kind
from checkers.history.events import HistoryKind
from checkers.history.sealed_run import Run, RunInfo
from checkers.history.tables import (
    DISKS,
    FAULTS,
    LOG_BATCHES,
    LOG_RECORDS,
    LOST_BATCHES,
    LOST_DISKS,
    LOST_RECORDS,
    OPS,
    TABLES,
)
from checkers.history.traces import TRACE_FIELDS, parse_trace_lines
from tests.support.harm import harm_of

MS = 1_000_000
Value = int | str | bool | None
Row = dict[str, object]


def op(
    f: str,
    value: int | None,
    invoke: int,
    complete: int | None,
    *,
    key: str = "r-0",
    process: int = 0,
    outcome: str | None = None,
    node: int = 1,
    phase: str = "main",
    error: str | None = None,
) -> Row:
    """One operation; without `complete` it never returned, and is an `info`."""
    return {
        "op_id": invoke,
        "process": process,
        "f": f,
        "key": key,
        "value": value,
        "outcome": outcome or ("info" if complete is None else "ok"),
        "error": error,
        "node": node,
        "phase": phase,
        "invoke_index": invoke,
        "complete_index": complete,
        "t0": invoke * MS,
        "t1": None if complete is None else complete * MS,
        "request": None,
        "voters": None,
    }


def write(value: int, invoke: int, complete: int | None, **rest: object) -> Row:
    return op("write", value, invoke, complete, **rest)  # type: ignore[arg-type]  # typed in `op`


def delete(invoke: int, complete: int | None, **rest: object) -> Row:
    return op("delete", None, invoke, complete, **rest)  # type: ignore[arg-type]  # typed in `op`


def read(value: int | None, invoke: int, complete: int | None, **rest: object) -> Row:
    return op("read", value, invoke, complete, **rest)  # type: ignore[arg-type]  # typed in `op`


@dataclass
class NodeTrace:
    """What one node prints; `restart` begins another process on the same disk."""

    node: int
    directory: str = ""
    lines: list[str] = field(default_factory=list)
    incarnation: int = 0
    seq: int = 0
    clock: int = 0

    def __post_init__(self) -> None:
        self.directory = self.directory or f"dir-{self.node}"

    def emit(self, event: str, at: int | None = None, /, **fields: object) -> "NodeTrace":
        """Print a line at `at` ns (a microsecond after the last one if not given)."""
        self.clock = self.clock + 1000 if at is None else max(at, self.clock + 1)
        known = TRACE_FIELDS.get(event, ())
        assert not known or set(fields) <= set(known), (event, fields)
        head = {"ev": event, "node": self.node, "dir": self.directory}
        head |= {"inc": f"inc-{self.node}-{self.incarnation}", "seq": self.seq}
        self.lines.append(json.dumps({**head, "mono": self.clock, "wall": self.clock, **fields}))
        self.seq += 1
        return self

    def start(
        self, log_end: int = 0, epoch: int = 0, leader: int = -1, at: int | None = None
    ) -> "NodeTrace":
        return self.emit(
            "n.start",
            at,
            version="test",
            cluster="c",
            epoch=epoch,
            leader=leader,
            log_end=log_end,
            log_epoch=0,
        )

    def restart(self, log_end: int, epoch: int = 0, at: int | None = None) -> "NodeTrace":
        self.incarnation += 1
        self.seq = 0
        return self.start(log_end, epoch, at=at)

    def state(
        self,
        state: str,
        epoch: int,
        leader: int = -1,
        *,
        at: int | None = None,
        voted: int = -1,
        log_end: int = 0,
        log_epoch: int = 0,
    ) -> "NodeTrace":
        return self.emit(
            "q.state",
            at,
            state=state,
            epoch=epoch,
            leader=leader,
            voted=voted,
            voted_dir=None if voted == -1 else f"dir-{voted}",
            log_end=log_end,
            log_epoch=log_epoch,
        )

    def append(
        self, base: int, last: int, epoch: int, role: str = "leader", crc: int | None = None
    ) -> "NodeTrace":
        crc = epoch * 1000 + base if crc is None else crc
        return self.emit("q.append", base=base, last=last, epoch=epoch, crc=crc, role=role)

    def fsync(self, end: int) -> "NodeTrace":
        return self.emit("q.fsync", end=end)

    def hwm(self, hwm: int, epoch: int, role: str = "leader") -> "NodeTrace":
        return self.emit("q.hwm", hwm=hwm, epoch=epoch, role=role)

    def fetch(self, replica: int, offset: int, epoch: int, outcome: str = "valid") -> "NodeTrace":
        rest = {"replica_dir": f"dir-{replica}", "last_epoch": epoch, "outcome": outcome}
        return self.emit("q.fetch", replica=replica, offset=offset, epoch=epoch, **rest)

    def vote(
        self,
        candidate: int,
        epoch: int,
        granted: bool = True,
        directory: str | None = None,
        log_end: int | None = None,
    ) -> "NodeTrace":
        log = {} if log_end is None else {"log_end": log_end, "log_epoch": epoch - 1}
        return self.emit(
            "q.vote",
            candidate=candidate,
            candidate_dir=directory or f"dir-{candidate}",
            epoch=epoch,
            granted=granted,
            **log,
        )


def batch(
    node: int, base: int, last: int, epoch: int, crc: int | None = None, crc_ok: bool = True
) -> Row:
    return {
        "node": node,
        "directory": f"dir-{node}",
        "base_offset": base,
        "last_offset": last,
        "epoch": epoch,
        "crc": epoch * 1000 + base if crc is None else crc,
        "crc_ok": crc_ok,
        "control": False,
        "records": last - base + 1,
        "size": 100,
        "segment": "00000000000000000000.log",
        "position": base * 100,
    }


def config_record(node: int, offset: int, key: str, value: int | None, epoch: int = 1) -> Row:
    return {
        "node": node,
        "offset": offset,
        "epoch": epoch,
        "type": "Config",
        "resource_type": 16,
        "resource": key,
        "name": "interval.ms",
        "value": None if value is None else str(value),
        "leader": None,
    }


def leader_change(
    node: int, offset: int, epoch: int, leader: int, voters: Sequence[int] = ()
) -> Row:
    """With `voters`, it says that all of them voted for it."""
    nothing = dict.fromkeys(["resource_type", "resource", "name", "value"])
    head = {"node": node, "offset": offset, "epoch": epoch, "type": "LeaderChange"}
    ballot = [{"voterId": voter} for voter in voters]
    detail = json.dumps({"voters": ballot, "grantingVoters": ballot}) if voters else None
    return {**head, **nothing, "leader": leader, "detail": detail}


def disk(node: int, epoch: int = 1, log_end: int = 0, **rest: object) -> Row:
    found: Row = {"node": node, "directory": f"dir-{node}", "cluster_id": "c", "epoch": epoch}
    found |= {"leader": -1, "voted": -1, "voted_directory": None, "log_end": log_end}
    return {**found, "problem": None, **rest}


def fault(fault_id: int, kind: str, start: int, healed: int, bit: bool | None = True) -> Row:
    """A fault from `start` to `healed` (ms); injection and cure take a millisecond each."""
    return {
        "fault_id": fault_id,
        "kind": kind,
        "nodes": [1],
        "links": [],
        "params": "{}",
        "t_start": start * MS,
        "t_bit": (start + 1) * MS,
        "t_heal": (healed - 1) * MS,
        "t_healed": healed * MS,
        "bit": bit,
        "evidence": "swallowed 100 bytes" if bit else None,
        "facts": "{}",
        **harm_of(kind),
    }


def given(target: str, logs: bool) -> tuple[str, ...]:
    """The kinds of evidence that a run on such a target is planned to leave."""
    kinds = [Kind.OPERATIONS, Kind.FAULTS, Kind.METADATA_LOGS]
    kinds.append(Kind.TRACES if target.startswith("node") else Kind.QUORUM_PROBES)
    return tuple([*kinds, Kind.PARTITION_LOGS, Kind.PARTITION_PROBES] if logs else kinds)


def run_info(**changes: object) -> RunInfo:
    fields: dict[str, object] = {
        "run_id": "test-1",
        "scenario": "baseline",
        "seed": 1,
        "target": "node test",
        "runtime": "docker",
        "nodes": 3,
        "duration_s": 30.0,
        "started_utc": "2026-01-01T00:00:00Z",
        "started_mono_ns": 0,
        "finished": True,
        "pressure": {"longest_late_ms": 1.0},  # on a machine that had time for its nodes
    }
    told = {**fields, **changes}
    told.setdefault("gives", given(str(told["target"]), told.get("history") == HistoryKind.LOG))
    return RunInfo(**told)  # type: ignore[arg-type]  # a test's own mistake shows


_EMPTY = {name: schema.empty_table() for name, schema in TABLES.items()}


@dataclass(frozen=True)
class LostDisk:
    """What was on the disk that a node lost, with the directory that `disk` makes for it."""

    node: int
    batches: Sequence[Row] = ()
    records: Sequence[Row] = ()
    problem: str | None = None

    @property
    def row(self) -> Row:
        return disk(self.node, problem=self.problem)


def _joined(lost: Sequence[LostDisk], part: str) -> list[Row]:
    return [
        {**row, "directory": one.row["directory"]} for one in lost for row in getattr(one, part)
    ]


def wiped(fault_id: int, node: int, start: int, healed: int, **changes: object) -> Row:
    """A fault that took the disk that `disk` makes for a node."""
    facts = {f"node {node} directory_id_before": f"dir-{node}", f"node {node} emptied": True}
    row = fault(fault_id, "wipe", start, healed)
    return {**row, "nodes": [node], "facts": json.dumps(facts), **changes}


def make_run(
    *,
    ops: Sequence[Row] = (),
    traces: Iterable[NodeTrace] = (),
    batches: Sequence[Row] = (),
    records: Sequence[Row] = (),
    disks: Sequence[Row] = (),
    faults: Sequence[Row] = (),
    lost: Sequence["LostDisk"] = (),
    truncated: tuple[str, ...] = (),
    **info: object,
) -> Run:
    tables: Mapping[str, pa.Table] = {
        **_EMPTY,
        "ops": pa.Table.from_pylist(list(ops), schema=OPS),
        "faults": pa.Table.from_pylist(list(faults), schema=FAULTS),
        "node_events": node_events(traces),
        "log_batches": pa.Table.from_pylist(list(batches), schema=LOG_BATCHES),
        "log_records": pa.Table.from_pylist(list(records), schema=LOG_RECORDS),
        "disks": pa.Table.from_pylist(list(disks), schema=DISKS),
        "lost_batches": pa.Table.from_pylist(_joined(lost, "batches"), schema=LOST_BATCHES),
        "lost_records": pa.Table.from_pylist(_joined(lost, "records"), schema=LOST_RECORDS),
        "lost_disks": pa.Table.from_pylist([one.row for one in lost], schema=LOST_DISKS),
    }
    return Run(directory=Path("test"), info=run_info(**info), tables=tables, truncated=truncated)


def node_events(traces: Iterable[NodeTrace]) -> pa.Table:
    parsed = [parse_trace_lines(trace.lines, 0) for trace in traces]
    return pa.concat_tables(parsed) if parsed else TABLES["node_events"].empty_table()


def with_snapshots(run: Run, *records: Row) -> Run:
    """The same run, with these records in snapshots that end at their offsets, before the logs of
    their nodes, as `checkers.disk.metadata_log` gives them."""
    table = run.tables["log_records"]
    framed = [
        each
        for record in records
        for each in (record | _frame("SnapshotHeader"), record, record | _frame("SnapshotFooter"))
    ]
    rows = pa.Table.from_pylist([*framed, *table.to_pylist()], schema=table.schema)
    return replace(run, tables={**run.tables, "log_records": rows})


def _frame(kind: str) -> Row:
    return {"type": kind, "resource_type": None, "resource": None, "name": None, "value": None}
