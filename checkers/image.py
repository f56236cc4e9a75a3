"""The cluster as the committed metadata log has it: brokers and partitions, change by change.

Replayed once and shared by all checks. PartitionChange records carry no epochs, the replay counts
them: the partition's with every record, the leader's with every record that names a leader.

Records of one batch are committed together, and a batch may hold several events of the controller
(two brokers that shut down at once). Some events write what they do to partitions before what they
do to the broker, others behind it. So who was active is asked before a record and behind its batch.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.committed import CommittedLog, committed_log
from checkers.history.run import Run

NO_LEADER = -1
TOPIC, BROKER = 2, 4  # resource types of configurations
ELR_FEATURE = "eligible.leader.replicas.version"
MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"

Nodes = tuple[int, ...]
Detail = dict[str, Any]  # of a record: its fields by Kafka's names, as `checkers.disk` wrote them


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A registration, and what became of it."""

    node: int
    epoch: int
    incarnation: str
    fenced: bool
    stopping: bool  # in controlled shutdown

    @property
    def active(self) -> bool:
        return not self.fenced and not self.stopping


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    key: str  # as "topic-0"
    topic_id: str
    replicas: Nodes
    isr: Nodes
    elr: Nodes
    last_known_elr: Nodes
    leader: int
    recovering: bool
    leader_epoch: int
    partition_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One record's effect on one partition. None: there was, or is, no such partition.

    `min_isr` is the effective one, never more than there are replicas.
    """

    offset: int
    before: Partition | None
    after: Partition | None
    min_isr: int
    unclean: bool  # whether anybody may be elected when nobody eligible is there
    brokers: Mapping[int, Broker]  # as they stand before the record

    @property
    def partition(self) -> Partition:
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def elected(self) -> int | None:
        """Who became leader by this change of a partition that was there before."""
        if self.before is None or self.after is None or self.after.leader == NO_LEADER:
            return None
        return self.after.leader if self.after.leader != self.before.leader else None

    @property
    def reassigned(self) -> bool:
        return bool(
            self.before and self.after and set(self.before.replicas) != set(self.after.replicas)
        )

    @property
    def elected_outside(self) -> bool:
        """Whether the leader was neither in the ISR nor in the ELR: all others may hold more."""
        known = self.elected is not None and self.before is not None and not self.reassigned
        return known and self.elected not in (*self.before.isr, *self.before.elr)  # type: ignore[union-attr]


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A broker process that registered; a repeated one of the same process is none."""

    offset: int
    node: int
    before: Broker | None
    after: Broker


@dataclass(slots=True, kw_only=True)
class Batch:
    """Records that were committed together; `brokers` is how they stand behind the last of them."""

    base: int
    epoch: int
    from_snapshot: bool = False
    changes: list[Change] = field(default_factory=list)
    registrations: list[Registration] = field(default_factory=list)
    broker_records: list[tuple[int, str, Detail]] = field(default_factory=list)
    unregistered: set[int] = field(default_factory=set)
    cleared_elr: bool = False  # by a ClearElr: the min ISR changed, or the feature was switched
    elr_on: bool = False
    brokers: Mapping[int, Broker] = field(default_factory=dict)

    def active(self, change: Change, node: int, *, ever: bool) -> bool:
        """Whether a broker was active before a record or behind the batch; not `ever`: at both."""
        found = [brokers.get(node) for brokers in (change.brokers, self.brokers)]
        told = [broker is not None and broker.active for broker in found]
        return any(told) if ever else all(told)


@dataclass(slots=True, kw_only=True)
class Timeline:
    """All batches with a record about brokers, topics or partitions, in order, and their end."""

    log: CommittedLog
    start: int = 0  # below it only a snapshot tells
    batches: list[Batch] = field(default_factory=list)
    partitions: dict[str, Partition] = field(default_factory=dict)
    configs: dict[tuple[int, str, str], str] = field(default_factory=dict)
    topics: dict[str, list[int]] = field(default_factory=dict)  # name -> offsets of Topic records
    removed: dict[str, list[int]] = field(default_factory=dict)
    producer_ids: list[tuple[int, int]] = field(default_factory=list)  # offset, next id

    def walk(self) -> Iterator[tuple[Batch, Mapping[str, Partition]]]:
        """Each batch, and all partitions as they are behind its last record."""
        partitions: dict[str, Partition] = {}
        for batch in self.batches:
            for change in batch.changes:
                if change.after is None:
                    partitions.pop(change.partition.key, None)
                else:
                    partitions[change.after.key] = change.after
            yield batch, partitions

    def changes(self) -> Iterator[tuple[Batch, Change]]:
        """Those of the log; what a snapshot says is a state, and no change."""
        for batch in self.batches:
            for change in batch.changes:
                if not batch.from_snapshot:
                    yield batch, change

    def history(self, key: str) -> list[Change]:
        """All changes of one partition, what a snapshot says among them."""
        found = (change for batch in self.batches for change in batch.changes)
        return [change for change in found if change.partition.key == key]

    def elected_outside(self) -> frozenset[str]:
        """Partitions of which somebody led who was neither in the ISR nor in the ELR."""
        return frozenset(c.partition.key for _, c in self.changes() if c.elected_outside)


_latest: list[tuple[pa.Table, Timeline | None]] = []  # every check of a run asks for the same


def timeline(run: Run) -> Timeline | None:
    """The replayed log; None where no committed log is to be had or no broker is in it."""
    table = run.tables["log_records"]
    if not (_latest and _latest[0][0] is table):
        _latest[:] = [(table, _timeline(run))]
    return _latest[0][1]


def _timeline(run: Run) -> Timeline | None:
    log = committed_log(run)
    if log is None:
        return None
    records = run.tables["log_records"]
    rows = records.filter(pc.equal(records["node"], log.node)).to_pylist()
    if not any(row["type"] == "RegisterBroker" for row in rows):
        return None
    replayed = _Replay(Timeline(log=log), run.info.settings)
    replayed.follow(rows)
    return replayed.timeline


class _Replay:
    """Walks through the records of one log."""

    def __init__(self, found: Timeline, settings: Mapping[str, str]) -> None:
        self.timeline = found
        self.settings = settings
        self.brokers: Mapping[int, Broker] = {}  # another one after each record about a broker
        self.names: dict[str, str] = {}  # topic id -> name
        self.elr_on = False
        self.batch = Batch(base=-1, epoch=-1)

    def follow(self, rows: Sequence[Mapping[str, Any]]) -> None:
        bases = {batch.last: batch.base for batch in self.timeline.log.batches}
        in_snapshot, base = False, -1
        self._begin(0, 0, from_snapshot=False)
        lasts = iter(sorted(bases))
        last = -1
        for row in rows:
            if row["type"] == "SnapshotHeader":
                in_snapshot = True
                self.timeline.start = row["offset"] + 1
                self._begin(row["offset"], row["epoch"], from_snapshot=True)
            elif row["type"] == "SnapshotFooter":
                in_snapshot = False
            elif (
                not in_snapshot and not self.timeline.start <= row["offset"] < self.timeline.log.end
            ):
                continue
            elif not in_snapshot and row["offset"] > last:
                last = next(one for one in lasts if one >= row["offset"])
                base = bases[last]
                self._begin(base, row["epoch"], from_snapshot=False)
            self._apply(row)
        self._finish()

    def _begin(self, base: int, epoch: int, *, from_snapshot: bool) -> None:
        self._finish()
        self.batch = Batch(base=base, epoch=epoch, from_snapshot=from_snapshot)

    def _finish(self) -> None:
        batch = self.batch
        batch.elr_on, batch.brokers = self.elr_on, self.brokers
        if batch.changes or batch.broker_records:
            self.timeline.batches.append(batch)

    def _apply(self, row: Mapping[str, Any]) -> None:
        offset, detail = row["offset"], json.loads(row["detail"]) if row["detail"] else {}
        match row["type"]:
            case "Config":
                self._configure(row)
            case "FeatureLevel" if row["name"] == ELR_FEATURE:
                self.elr_on = row["value"] != "0"
            case "Topic":
                self.names[detail["topicId"]] = detail["name"]
                self.timeline.topics.setdefault(detail["name"], []).append(offset)
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
        if row["value"] is None:
            self.timeline.configs.pop(name, None)
        else:
            self.timeline.configs[name] = row["value"]

    def _setting(self, topic: str, name: str, word: str, otherwise: str) -> str:
        """As Kafka looks it up: the topic's, the cluster's, that of the brokers' files."""
        told = self.timeline.configs
        ours = self.settings.get(word, self.settings.get(name, otherwise))
        return told.get((TOPIC, topic, name), told.get((BROKER, "", name), ours))

    def _note(self, offset: int, before: Partition | None, after: Partition | None) -> None:
        found = after or before
        assert found is not None
        if after is None:
            del self.timeline.partitions[found.key]
        else:
            self.timeline.partitions[found.key] = after
        topic = found.key.rpartition("-")[0]
        self.batch.changes.append(
            Change(
                offset=offset,
                before=before,
                after=after,
                min_isr=min(
                    int(self._setting(topic, MIN_ISR, "min_isr", "1")), len(found.replicas)
                ),
                unclean=self._setting(topic, UNCLEAN, "unclean", "off") in ("true", "on"),
                brokers=self.brokers,
            )
        )

    def _partition(self, offset: int, detail: Detail) -> None:
        key = f"{self.names.get(detail['topicId'], detail['topicId'])}-{detail['partitionId']}"
        made = Partition(
            key=key,
            topic_id=detail["topicId"],
            replicas=tuple(detail["replicas"]),
            isr=tuple(detail["isr"]),
            elr=tuple(detail.get("eligibleLeaderReplicas") or ()),
            last_known_elr=tuple(detail.get("lastKnownElr") or ()),
            leader=detail["leader"],
            recovering=detail.get("leaderRecoveryState", 0) == 1,
            leader_epoch=detail["leaderEpoch"],
            partition_epoch=detail["partitionEpoch"],
        )
        self._note(offset, self.timeline.partitions.get(key), made)

    def _change(self, offset: int, detail: Detail) -> None:
        key = f"{self.names.get(detail['topicId'], detail['topicId'])}-{detail['partitionId']}"
        before = self.timeline.partitions.get(key)
        if before is None:
            return  # of a topic that a snapshot does not have any more
        named = "leader" in detail
        after = replace(
            before,
            replicas=tuple(detail.get("replicas") or before.replicas),
            isr=_nodes(detail, "isr", before.isr),
            elr=_nodes(detail, "eligibleLeaderReplicas", before.elr),
            last_known_elr=_nodes(detail, "lastKnownElr", before.last_known_elr),
            leader=detail.get("leader", before.leader),
            recovering=detail.get("leaderRecoveryState", int(before.recovering)) == 1,
            leader_epoch=before.leader_epoch + named,
            partition_epoch=before.partition_epoch + 1,
        )
        self._note(offset, before, after)

    def _remove(self, offset: int, topic_id: str) -> None:
        name = self.names.pop(topic_id, topic_id)
        self.timeline.removed.setdefault(name, []).append(offset)
        gone = [one for one in self.timeline.partitions.values() if one.topic_id == topic_id]
        for partition in gone:
            self._note(offset, partition, None)

    def _clear_elr(self, offset: int, topic: str) -> None:
        """Of one topic, or of all ("")."""
        self.batch.cleared_elr = True
        for before in list(self.timeline.partitions.values()):
            named = topic in ("", before.key.rpartition("-")[0])
            if named and (before.elr or before.last_known_elr):
                epoch = before.partition_epoch + 1
                after = replace(before, elr=(), last_known_elr=(), partition_epoch=epoch)
                self._note(offset, before, after)

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
            )
            self.brokers = {**self.brokers, node: after}


def node_of(detail: Detail) -> int:
    """The broker that a record is about; FenceBroker and UnfenceBroker name it otherwise."""
    return int(detail["brokerId"] if "brokerId" in detail else detail["id"])


def epoch_of(detail: Detail) -> int:
    """Its broker epoch, in the same way."""
    return int(detail["brokerEpoch"] if "brokerEpoch" in detail else detail["epoch"])


def _nodes(detail: Detail, name: str, otherwise: Nodes) -> Nodes:
    told = detail.get(name)
    return otherwise if told is None else tuple(told)
