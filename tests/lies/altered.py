"""A recorded run whose rows may be changed; counts and numbers are brought into line at the end."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from chaos.run.seal import take
from checkers.evidence.faults import Kind
from checkers.evidence.missing import rows_to_count
from checkers.history.sealed_run import INVENTORY, Run, RunInfo, read_run_info, write_run_info
from checkers.history.store import MANIFEST, write_tables
from checkers.history.tables import TABLES

Row = dict[str, Any]

# A record that says nothing, in the place of another one.
NO_RECORD: Mapping[str, None] = dict.fromkeys(
    ("resource_type", "resource", "name", "value", "leader", "detail")
)

_BETWEEN_PROBES_NS = 500_000_000


class NotHere(Exception):
    """The run has nothing that could be altered in this way."""


class Altered:
    """A copy of a run. Rows are dictionaries of the columns of `checkers.history.tables`; those of
    a table that is asked for by `rows` may be changed, added and removed in place."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._rows: dict[str, list[Row]] = {}
        self.info: RunInfo = run.info
        self.broken_lines = dict(run.broken_lines)

    # --- what there is ---

    def rows(self, table: str) -> list[Row]:
        """The rows of a table, to be changed."""
        if table not in self._rows:
            self._rows[table] = self._run.tables[table].to_pylist()
        return self._rows[table]

    def keep(self, table: str, wanted: Callable[[Row], bool]) -> int:
        """Leaves only these rows; how many are gone."""
        before = self.rows(table)
        self._rows[table] = [row for row in before if wanted(row)]
        return len(before) - len(self._rows[table])

    def where(self, table: str, **equal: Any) -> list[Row]:
        """The rows whose columns have these values."""
        return [
            row for row in self.rows(table) if all(row[n] == value for n, value in equal.items())
        ]

    def ops(self, **equal: Any) -> list[Row]:
        return self.where("ops", **equal)

    def events(self, event: str, **equal: Any) -> list[Row]:
        """The lines of traces of one kind."""
        return self.where("node_events", event=event, **equal)

    def records(self, type_: str, **equal: Any) -> list[Row]:
        """The records of metadata logs of one type, on all nodes' disks."""
        return self.where("log_records", type=type_, **equal)

    def spans_of(self, op: Row) -> list[Row]:
        return self.where("spans", op_id=op["op_id"])

    @property
    def nodes(self) -> range:
        return range(1, self.info.nodes + 1)

    # --- what may be done ---

    def inform(self, **fields: Any) -> None:
        """Says something else in run.json."""
        self.info = replace(self.info, **fields)

    def untrace(self) -> None:
        """The same run as of a target that traces nothing, and promises no linearizable reads.
        Instead of traces the harness has what leaders answer to DescribeQuorum."""
        if Kind.TRACES not in self.info.gives:
            return  # it was such a run before
        told = _told_by_leaders(self._run.tables["node_events"].to_pylist())
        self.rows("probes").extend(told)
        self._rows["node_events"] = []
        self.broken_lines = {}
        gives = [kind for kind in self.info.gives if kind != Kind.TRACES]
        looks = {"looked": len(told), "longest_gap_ms": 1000}
        self.inform(
            gives=(*gives, Kind.QUORUM_PROBES),
            looks={**self.info.looks, Kind.QUORUM_PROBES: looks},
            target="kafka 4.3.1",
            trace_lines={},
            promises=(),
        )

    def drop_events(self, gone: Callable[[Row], bool]) -> int:
        """Takes lines out of traces; how many."""
        return self.keep("node_events", lambda row: not gone(row))

    def insert_event(self, row: Row, after: Row) -> None:
        """Puts a line into a trace, behind another line of it."""
        events = self.rows("node_events")
        at = next(i for i, each in enumerate(events) if each is after)
        events.insert(at + 1, row)

    def erase_records(self, gone: Callable[[Row], bool]) -> int:
        """Makes NoOps of records, on every disk; how many."""
        found = [row for row in self.rows("log_records") if gone(row)]
        for row in found:
            row.update(type="NoOp", **NO_RECORD)
        return len(found)

    def change_record(self, offset: int, type_: str, **fields: Any) -> None:
        """The record at an offset says something else, on every disk; None takes a field away."""
        for row in self.where("log_records", offset=offset, type=type_):
            set_detail(row, **fields)

    def put_record(
        self, offset: int, type_: str, detail: Mapping[str, Any] | None = None, **columns: Any
    ) -> None:
        """The NoOp at an offset is another record, on every disk."""
        found = self.where("log_records", offset=offset, type="NoOp")
        if not found:
            raise NotHere(f"no NoOp at offset {offset}")
        for row in found:
            row.update(type=type_, detail=None if detail is None else _compact(detail), **columns)

    def noops(self, after: int = -1) -> list[int]:
        """Offsets of NoOps on the first disk, in order."""
        rows = self.records("NoOp")
        nodes = {row["node"] for row in rows}
        return [r["offset"] for r in rows if r["node"] == min(nodes) and r["offset"] > after]

    def append_to_metadata_log(self, nodes: Iterable[int], type_: str, **columns: Any) -> None:
        """One more batch of one record at the end of the logs of these nodes."""
        for node in nodes:
            last = max(self.where("log_batches", node=node), key=lambda row: row["base_offset"])
            offset = last["last_offset"] + 1
            batch = {**last, "base_offset": offset, "last_offset": offset, "records": 1}
            batch |= {"crc": 1_000_003 + offset, "control": False}
            batch["position"] = last["position"] + last["size"]
            self.rows("log_batches").append(batch)
            record = dict.fromkeys(TABLES["log_records"].names)
            record |= {"node": node, "offset": offset, "epoch": last["epoch"], "type": type_}
            self.rows("log_records").append(record | columns)
            for disk in self.where("disks", node=node):
                disk["log_end"] = offset + 1
        self.rows("log_batches").sort(key=lambda row: (row["node"], row["base_offset"]))
        self.rows("log_records").sort(key=lambda row: (row["node"], row["offset"]))

    # --- how it ends ---

    def renumber(self) -> None:
        """Indices and ids of operations are dense again, in the order that indices give, which may
        be fractions; `invoke_index` and `complete_index` of None stay."""
        ops = self.rows("ops")
        marks = [(row["invoke_index"], 0, row, "invoke_index") for row in ops]
        marks += [
            (row["complete_index"], 1, row, "complete_index")
            for row in ops
            if row["complete_index"] is not None
        ]
        marks.sort(key=lambda mark: (mark[0], mark[1]))
        for index, (_, _, row, name) in enumerate(marks):
            row[name] = index
        ops.sort(key=lambda row: row["invoke_index"])
        numbers = {row["op_id"]: number for number, row in enumerate(ops)}
        for row in ops:
            row["op_id"] = numbers[row["op_id"]]
        self.keep("spans", lambda row: row["op_id"] in numbers)
        for span in self.rows("spans"):
            span["op_id"] = numbers[span["op_id"]]
        self.rows("spans").sort(key=lambda row: row["op_id"])

    def write(self, directory: Path) -> None:
        """Seals it into a directory, which is made."""
        if "ops" in self._rows:
            self.renumber()
        if "node_events" in self._rows:
            self._number_lines()
        tables = {name: self._table(name) for name in TABLES}
        directory.mkdir(parents=True)
        for name in (INVENTORY, "schedule.json"):
            shutil.copy(self._run.directory / name, directory / name)
        write_run_info(directory, self._counted(tables))
        write_tables(
            directory,
            tables,
            {
                "truncated": [],
                "differs": {},
                "rows": rows_to_count(tables),
                "broken_lines": self.broken_lines,
            },
            syncs=False,
        )

    def _table(self, name: str) -> pa.Table:
        if name not in self._rows:
            return self._run.tables[name]
        return pa.Table.from_pylist(self._rows[name], schema=TABLES[name])

    def _number_lines(self) -> None:
        """The numbers of a process's lines are dense, in their present order."""
        seen: Counter[tuple[int, str, str]] = Counter()
        for row in self._rows["node_events"]:
            process = (row["node"], row["directory"], row["incarnation"])
            row["seq"] = seen[process]
            seen[process] += 1

    def _counted(self, tables: Mapping[str, pa.Table]) -> RunInfo:
        """What recorder, clients and harness would have counted of these tables."""
        info = self.info
        recorded = dict(info.recorded or {}) | dict(_counts(tables))
        recorded = {n: c for n, c in recorded.items() if c or n in (info.recorded or {})}
        lines = Counter(str(node) for node in tables["node_events"]["node"].to_pylist())
        ended = [at for at in tables["ops"]["t1"].to_pylist() if at is not None]
        return replace(
            info,
            duration_ns=max([info.duration_ns, *ended]),
            recorded=recorded,
            counted=None
            if info.counted is None
            else {name: recorded.get(name, 0) for name in info.counted},
            trace_lines={
                node: lines[node] + self.broken_lines.get(node, 0) for node in info.trace_lines
            },
        )


def _counts(tables: Mapping[str, pa.Table]) -> Iterator[tuple[str, int]]:
    ops = tables["ops"]
    yield "invoked", ops.num_rows
    ended = Counter(ops.filter(ops["complete_index"].is_valid())["outcome"].to_pylist())
    yield from ((outcome, ended[outcome]) for outcome in ("ok", "fail", "info"))
    sent = Counter(tables["spans"]["sent"].to_pylist())
    yield from (("sent", sent[True]), ("polled", sent[False]))
    yield "faults", tables["faults"].num_rows
    kinds = Counter(tables["probes"]["kind"].to_pylist())
    yield from ((f"probes-{kind}", kinds[kind]) for kind in ("quorum", "partition"))


class Collected:
    """A copy of a run's directory without its seal, whose files may be changed."""

    def __init__(self, base: Path, directory: Path) -> None:
        shutil.copytree(base, directory, symlinks=True)
        self.directory = directory
        for pattern in ("*.parquet", MANIFEST, "verdict.json", "report.html"):
            for path in directory.glob(pattern):
                path.unlink()

    def files(self, node: int, name: str, below: str = "") -> list[Path]:
        """Those of this name on a node's disk, in a directory whose path holds `below`."""
        found = sorted((self.directory / "disks" / f"node-{node}").rglob(name))
        kept = [path for path in found if below in path.parent.as_posix()]
        if not kept:
            raise NotHere(f"no {name} on the disk of node {node}")
        return kept

    def inform(self, **fields: Any) -> None:
        write_run_info(self.directory, replace(read_run_info(self.directory), **fields))

    def untrace(self) -> None:
        """The same run as of a target that traces nothing, and promises no linearizable reads."""
        for path in (self.directory / "logs").glob("node-*.log"):
            path.write_text("")
        info = read_run_info(self.directory)
        self.inform(
            gives=tuple(kind for kind in info.gives if kind != Kind.TRACES),
            target="kafka 4.3.1",
            trace_lines={},
            promises=(),
        )

    def close(self) -> None:
        """What was collected is what there is now."""
        self.inform(inventory_crc32c=take(self.directory, syncs=False))


def _told_by_leaders(events: list[Row]) -> list[Row]:
    """What each leader would have said of the quorum just as its high watermark moved, twice a
    second at most."""
    voters: dict[int, list[str]] = {}
    last: dict[int, int] = {}
    told = []
    for row in sorted(events, key=lambda row: row["t"]):
        if row["event"] == "q.voters":
            voters[row["node"]] = [f"{each['id']}:{each['dir']}" for each in detail(row)["voters"]]
        moved = row["event"] == "q.hwm" and row["state"] == "leader"
        if moved and row["t"] - last.get(row["node"], -_BETWEEN_PROBES_NS) >= _BETWEEN_PROBES_NS:
            last[row["node"]] = row["t"]
            probe = dict.fromkeys(TABLES["probes"].names)
            probe |= {"t0": row["t"] - 1, "t1": row["t"] + 1, "node": row["node"]}
            probe |= {"kind": "quorum", "leader": row["node"], "epoch": row["epoch"]}
            probe |= {"high_watermark": row["hwm"]}
            probe |= {"detail": _compact({"voters": voters.get(row["node"], [])})}
            told.append(probe)
    return told


# --- rows ---


def detail(row: Mapping[str, Any]) -> dict[str, Any]:
    """What of a record or a line of a trace has no column."""
    found: dict[str, Any] = json.loads(row["detail"]) if row["detail"] else {}
    return found


def set_detail(row: Row, **fields: Any) -> None:
    """Says something else there; None takes a field away."""
    told = {**detail(row), **fields}
    row["detail"] = _compact({name: value for name, value in told.items() if value is not None})


def _compact(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"))


def first(rows: Iterable[Row], what: str) -> Row:
    """The first of some rows, or NotHere."""
    for row in rows:
        return row
    raise NotHere(what)
