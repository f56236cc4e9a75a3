"""Turns recorded events into the sealed tables; also for a run that was killed.

Pairs invocations with completions, gathers the stages of each fault, reads the nodes' traces and
disks. What a truncated file lost is dropped and reported. Sealing again gives the same tables.

Collects what a cluster leaves, with an inventory by which later losses are found.

Sealing reads all of them back and compares (`checkers.history.sealed_run`).
"""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import zstandard
from crc32c import crc32c

from chaos.cluster.interface import Cluster, NodeId, NodeStatus, UnaskedEnd
from checkers.disk import read_disks
from checkers.evidence.faults import Kind
from checkers.evidence.missing import rows_to_count
from checkers.history.events import EventType, FaultStage
from checkers.history.sealed_run import (
    INVENTORY,
    Run,
    RunInfo,
    differences,
    evidence_files,
    inventory_of,
    read_run_info,
)
from checkers.history.store import EVENTS, ManifestValue, replace_file, write_tables
from checkers.history.tables import (
    ANSWERED,
    FAULTS,
    HARM,
    LOG_ERRORS,
    MALFORMED,
    NODE_EVENTS,
    OPS,
    PROBES,
    SPANS,
    TABLES,
)
from checkers.history.traces import error_rows, parse_trace_lines
from checkers.verdict import counted

# From events of operations on logs to rows of SPANS: the records that they sent and polled.
#
# An operation that both sends and polls is a list of micro-operations. Its invocation has the
# sends; its completion has everything in the order in which it was done. An entry with the next
# record to be sent was sent, all others were polled.


_Row = dict[str, Any]
_LINE = ("key", "offset", "value", "records", "epoch", "high_watermark")
_POLLED = {"sent": False, "acks": None, "idempotent": None}


def spans_table(events: Sequence[Mapping[str, Any]]) -> pa.Table:
    """One row a run of records, in the order of the operations; events in the order recorded."""
    operations: list[list[_Row]] = []
    open_operations: dict[int, int] = {}
    for event in events:
        lines = event.get("s") or ()
        if event["type"] == EventType.INVOKE:
            op_id = open_operations[event["p"]] = len(operations)
            how = {"sent": True, "acks": event.get("a"), "idempotent": event.get("x")}
            operations.append([_span(line, op_id, how) for line in lines])
        elif lines:
            op_id = open_operations[event["p"]]
            operations[op_id] = list(_done(operations[op_id], lines, op_id))
    return pa.Table.from_pylist([row for rows in operations for row in rows], schema=SPANS)


def _done(sent: Sequence[_Row], lines: Sequence[Sequence[Any]], op_id: int) -> Iterator[_Row]:
    """The rows of an operation in its order; sends without a result come last."""
    told = 0
    for line in lines:
        row = _span(line, op_id, _POLLED)
        if told < len(sent) and _names(row, sent[told]):
            yield {**sent[told], "offset": row["offset"]}
            told += 1
        else:
            yield row
    yield from sent[told:]


def _names(row: _Row, sent: _Row) -> bool:
    return all(row[name] == sent[name] for name in ("key", "value", "records"))


def _span(line: Sequence[Any], op_id: int, how: Mapping[str, Any]) -> _Row:
    return {"op_id": op_id, **how, **dict(zip(_LINE, line, strict=True))}


class UnsealableError(Exception):
    """The directory is not a run, or not one that this program recorded."""


_OF_OPERATIONS = (EventType.INVOKE, EventType.OK, EventType.FAIL, EventType.INFO)


@dataclass(slots=True)
class _Recorded:
    """All events of a run, by kind, and the losses."""

    operations: list[dict[str, Any]] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)
    probes: list[dict[str, Any]] = field(default_factory=list)
    malformed: list[dict[str, Any]] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)

    def by_type(self) -> dict[str, list[dict[str, Any]]]:
        """Where events of each type belong."""
        return {
            **dict.fromkeys(_OF_OPERATIONS, self.operations),
            EventType.FAULT: self.faults,
            EventType.PROBE: self.probes,
            EventType.MALFORMED: self.malformed,
            EventType.NOTE: [],  # for people; not judged
        }


def seal(directory: Path) -> Run:
    """Write a run's tables and manifest; returns the run as a reader finds it.

    Raises UnsealableError where the directory does not hold a run.
    """
    try:
        info = read_run_info(directory)
    except (FileNotFoundError, ValueError) as error:
        raise UnsealableError(f"{directory}: {error}") from error
    recorded = _read_events(directory)
    try:
        tables = _tables(directory, info, recorded)
    except UnsealableError as error:
        raise UnsealableError(f"{directory}: {error}") from error
    differs = {} if info.inventory_crc32c is None else differences(directory, info.inventory_crc32c)
    rows = rows_to_count(tables)
    run = Run(
        directory=directory,
        info=info,
        tables=tables,
        truncated=tuple(recorded.dropped),
        differs=differs,
        rows=rows,
        broken_lines=_broken_lines(info, rows["node_events"]),
    )
    found: dict[str, ManifestValue] = {
        "truncated": run.truncated,
        "differs": run.differs,
        "rows": run.rows,
        "broken_lines": run.broken_lines,
    }
    write_tables(directory, tables, found, syncs=not info.is_simulated)
    return run


def _tables(directory: Path, info: RunInfo, recorded: _Recorded) -> dict[str, pa.Table]:
    tables: dict[str, pa.Table] = {
        "ops": operations_table(recorded.operations),
        "spans": spans_table(recorded.operations),
        "faults": faults_table(recorded.faults),
        "node_events": _node_events(directory, info.started_mono_ns),
        "log_errors": _log_errors(directory, info),
        "probes": pa.Table.from_pylist(recorded.probes, schema=PROBES),
        "malformed": pa.Table.from_pylist(recorded.malformed, schema=MALFORMED),
        **read_disks(directory / "disks"),
    }
    assert tables.keys() == TABLES.keys()
    return tables


def _broken_lines(info: RunInfo, rows: Mapping[str, int]) -> dict[str, int]:
    """Incomplete trace lines, of a node that died while it wrote."""
    return {node: lines - rows.get(node, 0) for node, lines in info.trace_lines.items()}


def _read_events(directory: Path) -> _Recorded:
    recorded = _Recorded()
    kept = recorded.by_type()
    for path in sorted(directory.glob(EVENTS)):
        try:
            for line in read_lines(path, recorded.dropped):
                event = orjson.loads(line)
                kept[event["type"]].append(event)
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise UnsealableError(f"{path}: not an event of ours: {error}") from error
    recorded.operations.sort(key=lambda event: int(event["i"]))
    return recorded


def read_lines(path: Path, dropped: list[str]) -> Iterator[bytes]:
    """The lines of a file up to its first torn frame; the rest is reported in `dropped`."""
    data = path.read_bytes()
    frames = zstandard.ZstdDecompressor()
    position = 0
    while position < len(data):
        decompressor = frames.decompressobj()
        try:
            text = decompressor.decompress(data[position:])
        except zstandard.ZstdError:
            text = b""
        if not decompressor.eof:
            torn = counted(len(data) - position, "byte")
            dropped.append(f"{path.name}: {torn} of a torn frame at {position}")
            return
        position = len(data) - len(decompressor.unused_data)
        yield from text.splitlines()


def operations_table(events: Sequence[Mapping[str, Any]]) -> pa.Table:
    """One row an operation, in the order of invocation; events must be in the order recorded."""
    rows: list[dict[str, Any]] = []
    open_rows: dict[int, dict[str, Any]] = {}
    for event in events:
        process = event["p"]
        if event["type"] == EventType.INVOKE:
            if process in open_rows:
                raise UnsealableError(f"process {process} has two open operations at {event['i']}")
            row = open_rows[process] = _invoked(event, len(rows))
            rows.append(row)
            continue
        row = open_rows.pop(process, {})
        if not row:
            raise UnsealableError(
                f"process {process} completes at {event['i']} an operation that it never began"
            )
        row["outcome"] = event["type"]
        row["error"] = event["e"]
        row["value"] = event["v"] if row["f"] in ANSWERED else row["value"]
        row["voters"] = event.get("w")
        row["complete_index"] = event["i"]
        row["t1"] = event["t"]
    return pa.Table.from_pylist(rows, schema=OPS)


def _invoked(event: Mapping[str, Any], op_id: int) -> dict[str, Any]:
    """Without a completion it stays as it is here: perhaps it happened."""
    return {
        "op_id": op_id,
        "process": event["p"],
        "f": event["f"],
        "key": event["k"],
        "value": event["v"],
        "outcome": EventType.INFO.value,
        "error": "never completed",
        "node": event["n"],
        "phase": event["ph"],
        "invoke_index": event["i"],
        "complete_index": None,
        "t0": event["t"],
        "t1": None,
        "request": event.get("r"),
        "voters": None,
    }


_STAGE_TIMES = {
    FaultStage.START: "t_start",
    FaultStage.BIT: "t_bit",
    FaultStage.HEAL: "t_heal",
    FaultStage.HEALED: "t_healed",
}


def faults_table(events: Sequence[Mapping[str, Any]]) -> pa.Table:
    """One row a fault, in the order of their ids; stages that were not reached stay null."""
    rows: dict[int, dict[str, Any]] = {}
    for event in events:
        row = rows.setdefault(event["id"], {"fault_id": event["id"]})
        stage = FaultStage(event["stage"])
        if stage in _STAGE_TIMES:
            row[_STAGE_TIMES[stage]] = event["t"]
        if stage is FaultStage.START:
            row["kind"] = event["kind"]
            row["nodes"] = event["nodes"]
            row["links"] = event["links"]
            row["params"] = json.dumps(event["params"], sort_keys=True)
            row |= _harm(event)
        elif stage is FaultStage.EVIDENCE:
            row["bit"] = event["bit"]
            row["evidence"] = event["evidence"]
            row["facts"] = json.dumps(event["facts"], sort_keys=True)
    full = [{name: rows[key].get(name) for name in FAULTS.names} for key in sorted(rows)]
    return pa.Table.from_pylist(full, schema=FAULTS)


def _harm(event: Mapping[str, Any]) -> Mapping[str, bool]:
    harm = event.get("harm")
    if not isinstance(harm, dict) or harm.keys() != set(HARM):
        raise UnsealableError(
            f"fault {event['id']} is recorded without its effects, by another version\n"
            "  try: the version that recorded it; its commit is in run.json, in made_of"
        )
    return harm


def _log_errors(directory: Path, info: RunInfo) -> pa.Table:
    """None where no check uses them: a long trace is not read twice."""
    if Kind.NODE_LOGS not in info.gives:
        return LOG_ERRORS.empty_table()
    started_ms = datetime.fromisoformat(info.started_utc).timestamp() * 1_000
    rows = []
    for path in _logs(directory):
        with path.open(encoding="utf-8", errors="replace") as lines:
            rows += [
                {"node": int(path.stem.removeprefix("node-")), **row}
                for row in error_rows(lines, started_ms)
            ]
    return pa.Table.from_pylist(rows, schema=LOG_ERRORS)


def _logs(directory: Path) -> list[Path]:
    return sorted((directory / "logs").glob("node-*.log"))


def _node_events(directory: Path, started_mono_ns: int) -> pa.Table:
    tables = []
    for path in _logs(directory):
        with path.open(encoding="utf-8", errors="replace") as lines:
            tables.append(parse_trace_lines(lines, started_mono_ns, orjson.loads))
    return pa.concat_tables(tables).combine_chunks() if tables else NODE_EVENTS.empty_table()


_TRACE = re.compile(r"logs/node-(\d+)\.log")


def take(directory: Path, *, syncs: bool = True) -> int:
    """Write a run's inventory; returns its own CRC."""
    data = inventory_of(directory)
    replace_file(directory / INVENTORY, data, syncs=syncs)
    return crc32c(data)


def trace_lines(directory: Path) -> dict[str, int]:
    """By node: the number of lines of its log that begin as trace lines do."""
    found = {}
    for name in evidence_files(directory):
        if match := _TRACE.fullmatch(name):
            with (directory / name).open("rb") as lines:
                found[match[1]] = sum(line.startswith(b"{") for line in lines)
    return found


# Collects what a cluster leaves, and records what has to be there.
#
# Nodes that trace are shut down cleanly first: the last line of a trace then says that it is the
# last, and the engine has delivered all buffered output. A kept cluster goes on.


STOPPED, KILLED, RUNS, OFF = "stopped", "killed", "runs", "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """By node, as in `RunInfo`."""

    endings: dict[str, str] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    trace_lines: dict[str, int] = field(default_factory=dict)
    unasked_ends: Sequence[UnaskedEnd] = ()
    inventory_crc32c: int | None = None


async def collect(
    cluster: Cluster, directory: Path, *, keeps: bool, syncs: bool = True
) -> Collected:
    """Logs and disks of all nodes; with `keeps` their processes go on.

    A node that cannot be stopped runs on, and its disk is copied all the same.
    """
    stops = cluster.traces and not keeps
    endings = await asyncio.gather(
        *(_end(cluster, node, stops=stops) for node in cluster.nodes), return_exceptions=True
    )
    await cluster.collect(directory)
    return Collected(
        endings={
            str(node): end if isinstance(end, str) else RUNS
            for node, end in zip(cluster.nodes, endings, strict=True)
        },
        starts={str(node): count for node, count in cluster.starts.items()},
        trace_lines=trace_lines(directory) if cluster.traces else {},
        unasked_ends=await cluster.unasked_ends(),  # also of those that failed as they stopped
        inventory_crc32c=take(directory, syncs=syncs),
    )


async def _end(cluster: Cluster, node: NodeId, *, stops: bool) -> str:
    if await cluster.status(node) is NodeStatus.OFF:
        return OFF
    if not stops:
        return RUNS
    return STOPPED if await cluster.stop(node) else KILLED
