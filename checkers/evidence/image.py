"""The cluster by the committed metadata log: brokers and partitions, change by change.

Records of one batch are committed together, and a batch may hold several events of the controller
(two brokers that shut down at once). Some events write the changes of partitions before that of the
broker, others after it. So whether a broker was active is asked before a record and at the end of
its batch.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from checkers.evidence.committed import CommittedLog

NO_LEADER = -1
TOPIC, BROKER = 2, 4  # resource types of configurations
FEATURE = -1  # beside them: the level of a finalized feature

Nodes = tuple[int, ...]
Detail = dict[str, Any]  # of a record: its fields by Kafka's names, as `checkers.disk` wrote them


# Directory ids that name no directory: UNASSIGNED, and MIGRATING.
_ANYWHERE = ("AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAg")


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A registration, and the broker's later state."""

    node: int
    epoch: int
    incarnation: str
    fenced: bool
    stopping: bool  # in controlled shutdown
    log_dirs: frozenset[str] = frozenset()  # by directory id; empty: not stated

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
    adding: Nodes = ()
    removing: Nodes = ()
    directories: tuple[str, ...] = ()  # of each replica, in order; empty: not stated

    def is_online(self, broker: Broker) -> bool:
        """Whether a broker's replica lies in a directory that the broker has, as far as is known
        (KIP-858, DirectoryId)."""
        if not broker.log_dirs or len(self.directories) != len(self.replicas):
            return True
        own = self.directories[self.replicas.index(broker.node)]
        return own in _ANYWHERE or own in broker.log_dirs


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The effect of one record on one partition. None: there was, or is, no such partition.

    `min_isr` is the effective one by the log, never more than there are replicas; `asked_min_isr`
    the lowest that was ever asked for.
    """

    offset: int
    before: Partition | None
    after: Partition | None
    min_isr: int
    asked_min_isr: int
    # Whether any replica was allowed to be elected if no eligible one is left, by what was asked
    # for.
    unclean: bool
    brokers: Mapping[int, Broker]  # as they are before the record

    @property
    def partition(self) -> Partition:
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def elected(self) -> int | None:
        """The new leader, if this change gave one to an existing partition."""
        if self.before is None or self.after is None or self.after.leader == NO_LEADER:
            return None
        return self.after.leader if self.after.leader != self.before.leader else None

    @property
    def reassigned(self) -> bool:
        before, after = self.before, self.after
        return bool(before and after and set(before.replicas) != set(after.replicas))

    @property
    def ends_reassignment(self) -> bool:
        """Whether a reassignment ended, completed or cancelled."""
        before, after = self.before, self.after
        return bool(
            before
            and after
            and (before.adding or before.removing)
            and not (after.adding or after.removing)
        )

    @property
    def elected_outside(self) -> bool:
        """Whether the leader was in neither the ISR nor the ELR: all others may hold more."""
        before = self.before
        if before is None or self.elected is None or self.reassigned:
            return False
        return self.elected not in (*before.isr, *before.elr)


class MadeTopic(NamedTuple):
    """A Topic record."""

    offset: int
    name: str
    id: str


class Setting(NamedTuple):
    """A Config or FeatureLevel record. `of` is the resource's type and name, and the key; `value`
    None: it was removed. In a snapshot it `is_state`, whenever it was set."""

    offset: int
    of: tuple[int, str, str]
    value: str | None
    is_state: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A broker process that registered; one that the same process repeats is not counted."""

    offset: int
    node: int
    before: Broker | None
    after: Broker


@dataclass(slots=True, kw_only=True)
class MetadataBatch:
    """Records that were committed together; `brokers` are their states at its end."""

    base: int
    epoch: int
    from_snapshot: bool = False
    changes: list[Change] = field(default_factory=list)
    registrations: list[Registration] = field(default_factory=list)
    broker_records: list[tuple[int, str, Detail]] = field(default_factory=list)
    unregistered: set[int] = field(default_factory=set)
    sets_min_isr: bool = False
    # Partitions that have an ELR at the end of a batch that set a min ISR, and their ELR.
    kept_elr: list[tuple[Partition, int]] = field(default_factory=list)
    cleared_elr: bool = False  # by a ClearElr: the min ISR or the feature's level changed
    elr_on: bool = False
    brokers: Mapping[int, Broker] = field(default_factory=dict)

    def active(self, change: Change, node: int, *, ever: bool) -> bool:
        """Whether a broker was active before a record or at the end of the batch; without `ever`:
        at both."""
        found = [brokers.get(node) for brokers in (change.brokers, self.brokers)]
        told = [broker is not None and broker.active for broker in found]
        return any(told) if ever else all(told)


@dataclass(slots=True, kw_only=True)
class Timeline:
    """All batches with a record about brokers, topics or partitions, in order, and their end."""

    log: CommittedLog
    start: int = 0  # only a snapshot has what is below it
    batches: list[MetadataBatch] = field(default_factory=list)
    partitions: dict[str, Partition] = field(default_factory=dict)
    configs: dict[tuple[int, str, str], str] = field(default_factory=dict)
    topics: dict[str, list[int]] = field(default_factory=dict)  # name -> offsets of Topic records
    made: list[MadeTopic] = field(default_factory=list)
    settings: list[Setting] = field(default_factory=list)  # in the order in which they were set
    removed: dict[str, list[int]] = field(default_factory=dict)
    producer_ids: list[tuple[int, int]] = field(default_factory=list)  # offset, next id
    # Offsets of changes of partitions that do not exist, with the id of their topic.
    strays: list[tuple[int, str]] = field(default_factory=list)

    def walk(self) -> Iterator[tuple[MetadataBatch, Mapping[str, Partition]]]:
        """Each batch, and all partitions as they are after its last record."""
        partitions: dict[str, Partition] = {}
        for batch in self.batches:
            for change in batch.changes:
                if change.after is None:
                    partitions.pop(change.partition.key, None)
                else:
                    partitions[change.after.key] = change.after
            yield batch, partitions

    def changes(self) -> Iterator[tuple[MetadataBatch, Change]]:
        """Changes in the log; the contents of a snapshot are a state and no change."""
        for batch in self.batches:
            for change in batch.changes:
                if not batch.from_snapshot:
                    yield batch, change

    def history(self, key: str) -> list[Change]:
        """All changes of one partition, the contents of a snapshot included."""
        found = (change for batch in self.batches for change in batch.changes)
        return [change for change in found if change.partition.key == key]

    def last_leader(self, key: str) -> int:
        """The last leader of a partition, even if it has none now; NO_LEADER if it never had
        one."""
        leaders = [change.after.leader for change in self.history(key) if change.after is not None]
        return next((node for node in reversed(leaders) if node != NO_LEADER), NO_LEADER)


def partition_of(key: str, detail: Detail) -> Partition:
    """The partition of a Partition record."""
    return Partition(
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
        adding=tuple(detail.get("addingReplicas") or ()),
        removing=tuple(detail.get("removingReplicas") or ()),
        directories=tuple(detail.get("directories") or ()),
    )


def changed(before: Partition, detail: Detail) -> Partition:
    """The result of a PartitionChange record: naming a leader begins a leader epoch."""
    return replace(
        before,
        replicas=tuple(detail.get("replicas") or before.replicas),
        isr=_nodes(detail, "isr", before.isr),
        elr=_nodes(detail, "eligibleLeaderReplicas", before.elr),
        last_known_elr=_nodes(detail, "lastKnownElr", before.last_known_elr),
        leader=detail.get("leader", before.leader),
        recovering=detail.get("leaderRecoveryState", int(before.recovering)) == 1,
        leader_epoch=before.leader_epoch + ("leader" in detail),
        partition_epoch=before.partition_epoch + 1,
        adding=_nodes(detail, "addingReplicas", before.adding),
        removing=_nodes(detail, "removingReplicas", before.removing),
        directories=_directories(before, detail),
    )


def _directories(before: Partition, detail: Detail) -> tuple[str, ...]:
    """New replicas are in the directories that the record names, or in unknown ones."""
    unchanged = () if detail.get("replicas") else before.directories
    return tuple(detail.get("directories") or unchanged)


def without_elr(before: Partition) -> Partition:
    """The result of a ClearElr record for a partition that has an ELR."""
    epoch = before.partition_epoch + 1
    return replace(before, elr=(), last_known_elr=(), partition_epoch=epoch)


def _nodes(detail: Detail, name: str, otherwise: Nodes) -> Nodes:
    told = detail.get(name)
    return otherwise if told is None else tuple(told)


def node_of(detail: Detail) -> int:
    """The broker that a record is about; FenceBroker and UnfenceBroker have another field for
    it."""
    return int(detail["brokerId"] if "brokerId" in detail else detail["id"])


def epoch_of(detail: Detail) -> int:
    """The broker epoch in it, in the same way."""
    return int(detail["brokerEpoch"] if "brokerEpoch" in detail else detail["epoch"])
