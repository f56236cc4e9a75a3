"""Replays the committed metadata log, once, into the timeline that all checks share.

PartitionChange records carry no epochs, so the replay counts them: the partition epoch rises with
every record, the leader epoch with every record that names a leader.
"""

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.evidence.committed import CommittedLog
from checkers.evidence.image import (
    BROKER,
    FEATURE,
    TOPIC,
    Broker,
    Change,
    Detail,
    MadeTopic,
    MetadataBatch,
    Partition,
    Registration,
    Setting,
    Timeline,
    changed,
    node_of,
    partition_of,
    without_elr,
)
from checkers.evidence.promised import UNCLEAN, AskedFor, topic_of
from checkers.history.asked import MIN_ISR

ELR_FEATURE = "eligible.leader.replicas.version"


def timeline_of(records: pa.Table, log: CommittedLog | None, promised: AskedFor) -> Timeline | None:
    """The replayed log, from LOG_RECORDS; None if there is none or it has no broker."""
    registered = pc.any(pc.equal(records["type"], "RegisterBroker")).as_py()
    if log is None or not registered:
        return None
    rows = records.filter(pc.equal(records["node"], log.node)).to_pylist()
    replayed = _Replay(Timeline(log=log), promised)
    replayed.follow(rows)
    return replayed.timeline


class _Replay:
    """Walks through the records of one log."""

    def __init__(self, found: Timeline, promised: AskedFor) -> None:
        self.timeline = found
        self.promised = promised
        self.brokers: Mapping[int, Broker] = {}  # replaced after each record about a broker
        self.names: dict[str, str] = {}  # topic id -> name
        self.elr_on = False
        self.batch = MetadataBatch(base=-1, epoch=-1)

    def follow(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Replay the records: those of a snapshot are one batch, and the log records that it covers
        are left out."""
        ends = [batch.last for batch in self.timeline.log.batches]
        in_snapshot = False
        for row in rows:
            if row["type"] == "SnapshotHeader":
                in_snapshot, self.timeline.start = True, row["offset"] + 1
                self._begin(
                    MetadataBatch(base=row["offset"], epoch=row["epoch"], from_snapshot=True)
                )
            elif row["type"] == "SnapshotFooter":
                in_snapshot = False
            elif in_snapshot:
                self._apply(row)
            elif self.timeline.start <= row["offset"] < self.timeline.log.end:
                own = self.timeline.log.batches[bisect_left(ends, row["offset"])]
                if self.batch.base != own.base or self.batch.from_snapshot:
                    self._begin(MetadataBatch(base=own.base, epoch=own.epoch))
                self._apply(row)
        self._begin(MetadataBatch(base=self.timeline.log.end, epoch=-1))

    def _begin(self, following: MetadataBatch) -> None:
        """End the current batch, and keep it if it has anything of interest."""
        self.batch.elr_on, self.batch.brokers = self.elr_on, self.brokers
        if self.batch.sets_min_isr and not self.batch.from_snapshot:
            partitions = self.timeline.partitions.values()
            self.batch.kept_elr = [(one, self._min_isr(one)) for one in partitions if one.elr]
        if self.batch.changes or self.batch.broker_records or self.batch.kept_elr:
            self.timeline.batches.append(self.batch)
        self.batch = following

    def _apply(self, row: Mapping[str, Any]) -> None:
        offset, detail = row["offset"], json.loads(row["detail"]) if row["detail"] else {}
        match row["type"]:
            case "Config":
                self._configure(row)
            case "FeatureLevel":
                self._finalize(row)
            case "Topic":
                self.names[detail["topicId"]] = detail["name"]
                self.timeline.topics.setdefault(detail["name"], []).append(offset)
                self.timeline.made.append(MadeTopic(offset, detail["name"], detail["topicId"]))
            case "RemoveTopic":
                self._remove(offset, detail["topicId"])
            case "Partition":
                self._partition(offset, detail)
            case "PartitionChange":
                self._change(offset, detail)
            case "ClearElr":
                self._clear_elr(offset, detail["topicName"])
            case "ProducerIds":
                self.timeline.producer_ids.append((offset, detail["nextProducerId"]))
            case "RegisterBroker":
                self._register(offset, detail)
            case (
                "UnregisterBroker" | "FenceBroker" | "UnfenceBroker" | "BrokerRegistrationChange"
            ) as kind:
                self._broker(offset, kind, detail)

    def _configure(self, row: Mapping[str, Any]) -> None:
        name = (row["resource_type"], row["resource"], row["name"])
        self.timeline.settings.append(
            Setting(row["offset"], name, row["value"], is_state=self.batch.from_snapshot)
        )
        self.batch.sets_min_isr |= row["name"] == MIN_ISR
        if row["value"] is None:
            self.timeline.configs.pop(name, None)
        else:
            self.timeline.configs[name] = row["value"]

    def _finalize(self, row: Mapping[str, Any]) -> None:
        self.timeline.settings.append(
            Setting(
                row["offset"],
                (FEATURE, "", row["name"]),
                row["value"],
                is_state=self.batch.from_snapshot,
            )
        )
        if row["name"] == ELR_FEATURE:
            self.elr_on = row["value"] != "0"

    def _min_isr(self, of: Partition) -> int:
        """The effective one, as Kafka looks it up: the topic's, the cluster's, that in the brokers'
        files."""
        told, topic = self.timeline.configs, topic_of(of.key)
        ours = self.promised.min_isr_of_files
        found = told.get((TOPIC, topic, MIN_ISR), told.get((BROKER, "", MIN_ISR), ours))
        return min(int(found), len(of.replicas))

    def _is_unclean(self, topic: str) -> bool:
        """As was asked for; the log's own configurations count if requests are unknown."""
        if self.promised.is_known:
            return self.promised.unclean(topic)
        told = self.timeline.configs
        return told.get((TOPIC, topic, UNCLEAN), told.get((BROKER, "", UNCLEAN))) == "true"

    def _note(self, offset: int, before: Partition | None, after: Partition | None) -> None:
        found = after or before
        assert found is not None
        if after is None:
            del self.timeline.partitions[found.key]
        else:
            self.timeline.partitions[found.key] = after
        topic = topic_of(found.key)
        self.batch.changes.append(
            Change(
                offset=offset,
                before=before,
                after=after,
                min_isr=self._min_isr(found),
                asked_min_isr=self.promised.min_isr(topic).lowest,
                unclean=self._is_unclean(topic),
                brokers=self.brokers,
            )
        )

    def _partition(self, offset: int, detail: Detail) -> None:
        key = f"{self.names.get(detail['topicId'], detail['topicId'])}-{detail['partitionId']}"
        self._note(offset, self.timeline.partitions.get(key), partition_of(key, detail))

    def _change(self, offset: int, detail: Detail) -> None:
        key = f"{self.names.get(detail['topicId'], detail['topicId'])}-{detail['partitionId']}"
        before = self.timeline.partitions.get(key)
        if before is None:
            self.timeline.strays.append((offset, detail["topicId"]))
            return
        self._note(offset, before, changed(before, detail))

    def _remove(self, offset: int, topic_id: str) -> None:
        name = self.names.pop(topic_id, topic_id)
        for told in [one for one in self.timeline.configs if one[:2] == (TOPIC, name)]:
            del self.timeline.configs[told]  # no other record says that its configuration is gone
        self.timeline.removed.setdefault(name, []).append(offset)
        gone = [one for one in self.timeline.partitions.values() if one.topic_id == topic_id]
        for partition in gone:
            self._note(offset, partition, None)

    def _clear_elr(self, offset: int, topic: str) -> None:
        """For one topic, or for all ("")."""
        self.batch.cleared_elr = True
        for before in list(self.timeline.partitions.values()):
            named = topic in ("", topic_of(before.key))
            if named and (before.elr or before.last_known_elr):
                self._note(offset, before, without_elr(before))

    def _register(self, offset: int, detail: Detail) -> None:
        self.batch.broker_records.append((offset, "RegisterBroker", detail))
        node = detail["brokerId"]
        before = self.brokers.get(node)
        after = Broker(
            node=node,
            epoch=detail["brokerEpoch"],
            incarnation=detail["incarnationId"],
            fenced=detail["fenced"],
            stopping=detail.get("inControlledShutdown", False),
            log_dirs=frozenset(detail.get("logDirs") or ()),
        )
        self.brokers = {**self.brokers, node: after}
        if before is None or before.incarnation != after.incarnation:
            self.batch.registrations.append(
                Registration(offset=offset, node=node, before=before, after=after)
            )

    def _broker(self, offset: int, kind: str, detail: Detail) -> None:
        self.batch.broker_records.append((offset, kind, detail))
        node = node_of(detail)
        known = self.brokers.get(node)
        if kind == "UnregisterBroker":
            self.brokers = {one: self.brokers[one] for one in self.brokers if one != node}
            self.batch.unregistered.add(node)
        elif known is not None:
            told = {"FenceBroker": 1, "UnfenceBroker": -1}.get(kind, detail.get("fenced", 0))
            after = replace(
                known,
                fenced=known.fenced if told == 0 else told == 1,
                stopping=known.stopping or detail.get("inControlledShutdown", 0) == 1,
                log_dirs=frozenset(detail.get("logDirs") or known.log_dirs),
            )
            self.brokers = {**self.brokers, node: after}
