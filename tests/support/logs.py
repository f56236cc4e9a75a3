"""Hand-made histories of logs: sends, polls, faults, probes and disks of a run that never was.

Every operation takes two event indices, a millisecond each, one operation after the other unless
it is begun and ended apart. A value is its process << 32 | a number; here it is given as such, or
as the number of a record of process 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from checkers.history.events import HistoryKind
from checkers.history.sealed_run import Run
from checkers.history.tables import PROBES, REPLICA_SPANS, REPLICAS, SPANS
from tests.support.histories import MS, Row, fault, make_run, op

KEY = "t-0"
BROKERS = (1, 2, 3)
Records = Sequence[tuple[int, int]]  # offset and value


@dataclass
class LogRun:
    """Tell it in order; `run` gives the sealed run."""

    ops: list[Row] = field(default_factory=list)
    spans: list[Row] = field(default_factory=list)
    faults: list[Row] = field(default_factory=list)
    probes: list[Row] = field(default_factory=list)
    replicas: list[Row] = field(default_factory=list)
    replica_spans: list[Row] = field(default_factory=list)
    events: int = 0

    def begin(self, f: str, process: int, *, key: str = KEY, phase: str = "main") -> Row:
        """An operation that has not returned yet: an `info` unless `end` says otherwise."""
        row = op(f, None, self._tick(), None, key=key, process=process, phase=phase)
        row["op_id"] = len(self.ops)
        self.ops.append(row)
        return row

    def end(self, row: Row, outcome: str = "ok") -> None:
        index = self._tick()
        row |= {"outcome": outcome, "complete_index": index, "t1": index * MS}

    def send(
        self,
        value: int,
        offset: int | None,
        *,
        process: int | None = None,
        key: str = KEY,
        outcome: str = "ok",
        records: int = 1,
        acks: int = -1,
    ) -> Row:
        """A whole send."""
        row = self.begin("send", value >> 32 if process is None else process, key=key)
        self.sent(row, value, offset, records=records, acks=acks)
        self.end(row, outcome)
        return row

    def sent(
        self,
        row: Row,
        value: int,
        offset: int | None,
        *,
        key: str | None = None,
        records: int = 1,
        acks: int = -1,
    ) -> None:
        """What an operation sends, to its key or another."""
        how = {"acks": acks, "idempotent": False, "sent": True}
        self.spans.append(
            {"op_id": row["op_id"], "key": key or row["key"], "offset": offset, "value": value}
            | {"records": records, **how}
        )

    def poll(
        self,
        *records: tuple[int, int],
        process: int = 50,
        key: str = KEY,
        outcome: str = "ok",
        phase: str = "main",
        epoch: int = 0,
        high_watermark: int | None = None,
    ) -> Row:
        """A whole poll, a span a record."""
        row = self.begin("poll", process, key=key, phase=phase)
        self.polled(row, records, epoch=epoch, high_watermark=high_watermark)
        self.end(row, outcome)
        return row

    def polled(
        self,
        row: Row,
        records: Records,
        *,
        key: str | None = None,
        epoch: int = 0,
        high_watermark: int | None = None,
    ) -> None:
        """What an operation was given, of its key or another."""
        for offset, value in records:
            self.spans.append(
                {"op_id": row["op_id"], "key": key or row["key"], "sent": False, "value": value}
                | {"offset": offset, "records": 1, "epoch": epoch}
                | {"high_watermark": high_watermark}
            )

    def assign(self, process: int = 50, *, key: str = KEY, f: str = "assign") -> None:
        self.end(self.begin(f, process, key=key))

    def final(self, *records: tuple[int, int], key: str = KEY, process: int = 90) -> Row:
        """What a fresh client reads from the beginning, after everything was healed."""
        return self.poll(*records, process=process, key=key, phase="final")

    def fault(self, kind: str, *nodes: int) -> None:
        """From now until `heal`."""
        row = fault(len(self.faults), kind, self.events, self.events)
        row |= {"nodes": list(nodes), "t_heal": None, "t_healed": None}
        self.faults.append(row)
        self.events += 2

    def heal(self) -> None:
        """All faults."""
        for row in self.faults:
            if row["t_healed"] is None:
                row |= {"t_heal": self.events * MS, "t_healed": (self.events + 1) * MS}
        self.events += 2

    def probe(self, *isr: int, node: int = 1, key: str = KEY, epoch: int = 0) -> None:
        at = self._tick() * MS
        leader = isr[0] if isr else -1
        said = {"kind": "partition", "key": key, "leader": leader, "epoch": epoch}
        members = {"isr": list(isr), "elr": [], "last_known_elr": []}
        self.probes.append({"t0": at, "t1": at + 1, "node": node, **said, **members})

    def disk(
        self,
        node: int,
        *records: tuple[int, int],
        key: str = KEY,
        problem: str | None = None,
        log_start: int = 0,
    ) -> None:
        """One replica, as it was read after the run."""
        end = max((offset for offset, _ in records), default=-1) + 1
        found = {"log_start": log_start, "log_end": end, "high_watermark": end, "epochs": "[]"}
        head = {"node": node, "directory": f"dir-{node}", "key": key, "topic_id": "t"}
        self.replicas.append({**head, **found, "problem": problem})
        for offset, value in records:
            place = {"offset": offset, "value": value, "records": 1, "epoch": 0}
            self.replica_spans.append({"node": node, "key": key, **place})

    def run(self, *, truncated: tuple[str, ...] = (), **settings: str) -> Run:
        """With replication 3 and min ISR 2 unless told otherwise."""
        settings = {"replication": "3", "min_isr": "2", "elr": "on", "unclean": "off"} | settings
        roles = {str(node): "broker" for node in BROKERS} | {"4": "controller"}
        run = make_run(
            ops=self.ops,
            faults=self.faults,
            truncated=truncated,
            history=HistoryKind.LOG,
            nodes=4,
            roles=roles,
            settings=settings,
        )
        mine = {
            "spans": pa.Table.from_pylist(self.spans, schema=SPANS),
            "probes": pa.Table.from_pylist(self.probes, schema=PROBES),
            "replicas": pa.Table.from_pylist(self.replicas, schema=REPLICAS),
            "replica_spans": pa.Table.from_pylist(self.replica_spans, schema=REPLICA_SPANS),
        }
        return replace(run, tables={**run.tables, **mine})

    def _tick(self) -> int:
        self.events += 1
        return self.events - 1
