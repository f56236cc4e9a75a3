"""Runs of a Kafka cluster that never was: its metadata log, its replicas, and what clients saw.

Three nodes, each broker and controller, with the same metadata log. `started()` begins one in which
all brokers are registered and unfenced; tests add batches to it. An offset is given to each record.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from checkers.history.sealed_run import Run
from checkers.history.tables import TABLES
from tests.support.harm import harm_of
from tests.support.histories import MS, Row, batch, disk, make_run, op

NODES = (1, 2, 3)
ALL = [1, 2, 3]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    type: str
    detail: dict[str, Any] | None = None
    columns: dict[str, Any] = field(default_factory=dict)


def topic_id(name: str) -> str:
    return f"id-of-{name}"


def register(node: int, epoch: int, incarnation: str = "", *, fenced: bool = True) -> Record:
    detail = {"brokerId": node, "incarnationId": incarnation or f"process-{epoch}"}
    detail |= {"brokerEpoch": epoch, "fenced": fenced, "inControlledShutdown": False}
    return Record(type="RegisterBroker", detail=detail)


def registration_change(node: int, epoch: int, **fields: int) -> Record:
    """`fenced=1`, `fenced=-1`, `inControlledShutdown=1`."""
    detail = {"brokerId": node, "brokerEpoch": epoch, **fields}
    return Record(type="BrokerRegistrationChange", detail=detail)


def unregister(node: int, epoch: int) -> Record:
    return Record(type="UnregisterBroker", detail={"brokerId": node, "brokerEpoch": epoch})


def topic(name: str, known_as: str = "") -> Record:
    detail = {"name": name, "topicId": known_as or topic_id(name)}
    return Record(type="Topic", detail=detail)


def remove_topic(name: str) -> Record:
    return Record(type="RemoveTopic", detail={"topicId": topic_id(name)})


def partition(key: str, isr: Sequence[int], leader: int, **fields: object) -> Record:
    name, _, number = key.rpartition("-")
    detail: dict[str, Any] = {"partitionId": int(number), "topicId": topic_id(name)}
    detail |= {"replicas": ALL, "isr": list(isr), "leader": leader}
    detail |= {"leaderEpoch": 0, "partitionEpoch": 0, **fields}
    return Record(type="Partition", detail=detail)


def change(key: str, **fields: object) -> Record:
    """Kafka's names: isr, leader, eligibleLeaderReplicas, lastKnownElr, leaderRecoveryState ..."""
    name, _, number = key.rpartition("-")
    detail = {"partitionId": int(number), "topicId": topic_id(name), **fields}
    return Record(type="PartitionChange", detail=detail)


def clear_elr(name: str) -> Record:
    return Record(type="ClearElr", detail={"topicName": name})


def producer_ids(following: int) -> Record:
    detail = {"brokerId": 1, "brokerEpoch": 1, "nextProducerId": following}
    return Record(type="ProducerIds", detail=detail)


def config(resource_type: int, resource: str, name: str, value: str | None) -> Record:
    columns = {"resource_type": resource_type, "resource": resource, "name": name, "value": value}
    return Record(type="Config", columns=columns)


def feature(name: str, level: int) -> Record:
    return Record(type="FeatureLevel", columns={"name": name, "value": str(level)})


def elr(level: int) -> Record:
    return feature("eligible.leader.replicas.version", level)


def leader_change(leader: int, granting: Sequence[int]) -> Record:
    voters = {"voters": NODES, "grantingVoters": granting}
    detail: dict[str, Any] = {"leaderId": leader}
    for name, nodes in voters.items():
        detail[name] = [{"voterId": node} for node in nodes]
    return Record(type="LeaderChange", detail=detail, columns={"leader": leader})


@dataclass
class Cluster:
    """All rows of a run's tables, as they come."""

    rows: dict[str, list[Row]] = field(default_factory=lambda: {name: [] for name in TABLES})
    info: dict[str, Any] = field(default_factory=dict)
    end: int = 0

    def commit(self, *records: Record, epoch: int = 1, nodes: Sequence[int] = NODES) -> "Cluster":
        """One batch, on the disks of all nodes or of some."""
        base, last = self.end, self.end + len(records) - 1
        for node in nodes:
            self.rows["log_batches"].append(batch(node, base, last, epoch))
            self.add(
                "log_records", *(_row(node, base + n, epoch, r) for n, r in enumerate(records))
            )
        self.end = last + 1
        return self

    def hide_head(self, *state: Record, nodes: Sequence[int] = NODES) -> "Cluster":
        """On these nodes only a snapshot of the brokers and this state is left of the log."""
        for table in ("log_batches", "log_records"):
            self.rows[table] = [row for row in self.rows[table] if row["node"] not in nodes]
        brokers = [register(node, 10 + node, fenced=False) for node in NODES]
        frame = Record(type="SnapshotHeader"), Record(type="SnapshotFooter")
        for node in nodes:
            for record in (frame[0], *brokers, *state, frame[1]):
                self.add("log_records", _row(node, self.end - 1, 1, record))
        return self.commit(Record(type="NoOp"))

    def add(self, table: str, *rows: Row) -> "Cluster":
        self.rows[table] += rows
        return self

    def replica(
        self,
        node: int,
        key: str,
        spans: Sequence[tuple[int, int, int, int]],
        *,
        high_watermark: int | None = None,
        **rest: object,
    ) -> "Cluster":
        """Spans of (offset, value, records, epoch), each a batch of its own."""
        head: Row = {"node": node, "key": key}
        for offset, value, records, epoch in spans:
            row = batch(node, offset, offset + records - 1, epoch, crc=value) | {"key": key}
            self.add("replica_batches", row | {"producer_id": -1})
            span = {"offset": offset, "value": value, "records": records, "epoch": epoch}
            self.add("replica_spans", head | span)
        end = spans[-1][0] + spans[-1][2] if spans else 0
        head |= {"directory": f"dir-{node}", "topic_id": topic_id(key.rpartition("-")[0])}
        mark = end if high_watermark is None else high_watermark
        head |= {"log_start": 0, "log_end": end, "high_watermark": mark, "epochs": "[]"}
        head |= {"whole": True}
        return self.add("replicas", {**head, **rest})

    def sent(
        self, key: str, offset: int, value: int, records: int = 1, acks: int = -1
    ) -> "Cluster":
        """An acknowledged send."""
        return self._operation("send", key, offset, value, records, sent=True, acks=acks)

    def polled(self, key: str, offset: int, value: int, records: int = 1) -> "Cluster":
        return self._operation("poll", key, offset, value, records, sent=False, acks=None)

    def _operation(
        self, f: str, key: str, offset: int, value: int, records: int, *, sent: bool, acks: object
    ) -> "Cluster":
        number = len(self.rows["ops"])
        self.add("ops", op(f, None, 2 * number, 2 * number + 1, key=key) | {"op_id": number})
        span: Row = {"op_id": number, "key": key, "sent": sent, "offset": offset, "value": value}
        return self.add("spans", span | {"records": records, "acks": acks, "high_watermark": None})

    def topic_operation(self, f: str, name: str, outcome: str = "ok") -> "Cluster":
        number = len(self.rows["ops"])
        row = op(f, None, 2 * number, 2 * number + 1, key=name, outcome=outcome)
        return self.add("ops", row | {"op_id": number})

    def ended(self, kind: str, node: int, at: int) -> "Cluster":
        """A fault, at `at` ms."""
        times = {"t_start": at * MS, "t_bit": at * MS, "t_heal": at * MS, "t_healed": at * MS}
        number = len(self.rows["faults"])
        fault: Row = {"fault_id": number, "kind": kind, "nodes": [node], "links": []}
        return self.add("faults", {**fault, **times, "bit": True, **harm_of(kind)})

    def told(self, node: int, leader: int, epoch: int, at: int, **fields: object) -> "Cluster":
        """An answer to a probe of the quorum, or with `kind` and `key` of a partition."""
        row: Row = {"t0": at * MS, "t1": at * MS + MS // 2, "node": node, "kind": "quorum"}
        return self.add("probes", {**row, "leader": leader, "epoch": epoch, **fields})

    def run(self, **info: object) -> Run:
        rows = dict(self.rows)
        rows["disks"] = rows["disks"] or [disk(node, log_end=self.end) for node in NODES]
        told = {"target": "kafka 4.3.1", "workload": "append", "settings": {"min_isr": "2"}}
        roles = {str(node): "broker,controller" for node in NODES}
        run = make_run(**{**told, "roles": roles, **self.info, **info})
        tables = {
            name: pa.Table.from_pylist(rows[name], schema=schema) for name, schema in TABLES.items()
        }
        return replace(run, tables=tables)


def _row(node: int, offset: int, epoch: int, record: Record) -> Row:
    detail = None if record.detail is None else json.dumps(record.detail)
    head = {"node": node, "offset": offset, "epoch": epoch, "type": record.type}
    return {**head, "detail": detail, **record.columns}


def started(*, with_elr: bool = True) -> Cluster:
    """Brokers 1, 2, 3 with epochs 11, 12, 13, and topic `t` with one partition, led by 1."""
    cluster = Cluster().commit(leader_change(1, [1, 2])).commit(elr(int(with_elr)))
    for node in NODES:
        cluster.commit(register(node, 10 + node))
        cluster.commit(registration_change(node, 10 + node, fenced=-1))
    return cluster.commit(topic("t"), partition("t-0", ALL, 1))
