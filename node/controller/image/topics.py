"""Topics and their partitions."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from uuid import UUID

from node.controller.image.digest import Counter
from node.ids import ZERO_UUID, uuid_text
from node.lazy_dataclass import dataclass
from node.records.metadata import (
    DIRECTORIES,
    ELR,
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from node.records.schemas import NO_LEADER, NO_LEADER_CHANGE

# A partition as the controller knows it, and the effect of records on it.


PartitionKey = tuple[UUID, int]  # topic id, index

RECOVERED, RECOVERING = 0, 1  # LeaderRecoveryState (KIP-704)
_NO_CHANGE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """`isr` and `elr` are disjoint and of `replicas`; the leader is in the ISR, or there is none.

    `last_known_elr` holds only the last leader, while there is none and no recovery manager. With
    one (KIP-966), it holds the replicas that lost their place in the ELR, until the ISR has the
    minimum again; the last leader is `last_known_leader`, while there is none.
    `directories` has one for each replica; zeros where metadata.version does not know them.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    removing: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    directories: tuple[UUID, ...]
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    last_known_leader: int = NO_LEADER
    recovery: int = RECOVERED

    def __str__(self) -> str:
        """All fields, for the digest, at every change: `repr` takes five times as long."""
        return (
            f"{self.replicas}{self.isr}{self.leader} {self.leader_epoch} {self.partition_epoch}"
            f"{self.removing}{self.adding}{[each.int for each in self.directories]}"
            f"{self.elr}{self.last_known_elr}{self.last_known_leader} {self.recovery}"
        )

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_LEADER

    @property
    def is_reassigning(self) -> bool:
        return bool(self.removing or self.adding)

    def directory(self, broker: int) -> UUID:
        return self.directories[self.replicas.index(broker)]

    def moved(self, replicas: tuple[int, ...], first: Callable[[int], UUID]) -> "Partition":
        """With other replicas; `first` returns the directory of a new one."""
        kept = dict(zip(self.replicas, self.directories, strict=True))
        directories = tuple(
            kept[broker] if broker in kept else first(broker) for broker in replicas
        )
        return replace(self, replicas=replicas, directories=directories)

    def record(self, key: PartitionKey, level: int) -> PartitionRecord:
        """The inverse of `read`; older levels of metadata.version omit fields."""
        topic, index = key
        return PartitionRecord(
            partition_id=index,
            topic_id=topic,
            replicas=self.replicas,
            isr=self.isr,
            removing_replicas=self.removing,
            adding_replicas=self.adding,
            leader=self.leader,
            leader_recovery_state=self.recovery,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            directories=self.directories if level >= DIRECTORIES else (),
            eligible_leader_replicas=(self.elr or None) if level >= ELR else None,
            last_known_elr=(self.last_known_elr or None) if level >= ELR else None,
            last_known_leader=self.last_known_leader if level >= ELR else NO_LEADER,
        )

    def changed(self, change: PartitionChangeRecord) -> "Partition":
        """Each change raises the partition epoch; one that has a leader raises the leader epoch."""
        is_led_anew = change.leader != NO_LEADER_CHANGE
        recovery = change.leader_recovery_state
        last_leader = change.last_known_leader
        return Partition(
            replicas=_or(change.replicas, self.replicas),
            isr=_or(change.isr, self.isr),
            leader=change.leader if is_led_anew else self.leader,
            leader_epoch=self.leader_epoch + is_led_anew,
            partition_epoch=self.partition_epoch + 1,
            removing=_or(change.removing_replicas, self.removing),
            adding=_or(change.adding_replicas, self.adding),
            directories=self._directories(change),
            elr=_or(change.eligible_leader_replicas, self.elr),
            last_known_elr=_or(change.last_known_elr, self.last_known_elr),
            last_known_leader=(
                self.last_known_leader if last_leader == NO_LEADER_CHANGE else last_leader
            ),
            recovery=self.recovery if recovery == _NO_CHANGE else recovery,
        )

    def _directories(self, change: PartitionChangeRecord) -> tuple[UUID, ...]:
        if change.directories is not None:
            return change.directories
        if change.replicas is None:
            return self.directories
        kept = dict(zip(self.replicas, self.directories, strict=True))
        return tuple(kept.get(broker, ZERO_UUID) for broker in change.replicas)


def read(record: PartitionRecord) -> Partition:
    """Older records have no directories and no ELR."""
    return Partition(
        replicas=record.replicas,
        isr=record.isr,
        leader=record.leader,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        removing=record.removing_replicas,
        adding=record.adding_replicas,
        directories=record.directories or (ZERO_UUID,) * len(record.replicas),
        elr=record.eligible_leader_replicas or (),
        last_known_elr=record.last_known_elr or (),
        last_known_leader=record.last_known_leader,
        recovery=record.leader_recovery_state,
    )


def _or(given: tuple[int, ...] | None, before: tuple[int, ...]) -> tuple[int, ...]:
    return before if given is None else given


INTERNAL = frozenset({"__consumer_offsets", "__transaction_state"})  # Kafka's own topics
_TOPIC, _PARTITION = -4, -5
_LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,249}", re.ASCII)


def is_legal(name: str) -> bool:
    """Is it a valid topic name?"""
    return name not in (".", "..") and _LEGAL.fullmatch(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Its partitions are 0 to `partitions` - 1."""

    id: UUID
    name: str
    partitions: int = 0


class Topics:
    def __init__(self, digest: Counter) -> None:
        self._digest = digest
        self._by_id: dict[UUID, Topic] = {}
        self._ids: dict[str, UUID] = {}
        self._plain: dict[str, str] = {}  # topic name by its name in metrics
        self._partitions: dict[PartitionKey, Partition] = {}
        self._changed: dict[PartitionKey, None] | None = None  # None: no caller reads it

    def copy(self, digest: Counter) -> "Topics":
        copy = Topics(digest)
        copy._by_id, copy._ids = dict(self._by_id), dict(self._ids)
        copy._plain = dict(self._plain)
        copy._partitions = dict(self._partitions)
        return copy

    def records(self, level: int) -> Iterator[TopicRecord | PartitionRecord]:
        for topic in self._by_id.values():
            yield TopicRecord(name=topic.name, topic_id=topic.id)
            for index in range(topic.partitions):
                key = (topic.id, index)
                yield self._partitions[key].record(key, level)

    # --- queries ---

    def find(self, topic: UUID) -> Topic | None:
        return self._by_id.get(topic)

    def named(self, name: str) -> Topic | None:
        found = self._ids.get(name)
        return None if found is None else self._by_id[found]

    def rival(self, name: str) -> str | None:
        """The topic that collides with that name in metrics, where "." becomes "_"."""
        return self._plain.get(_plain(name))

    def ids(self) -> dict[str, UUID]:
        """By name."""
        return dict(self._ids)

    def all(self) -> list[Topic]:
        """By name."""
        return [self._by_id[self._ids[name]] for name in sorted(self._ids)]

    def partition(self, topic: UUID, index: int) -> Partition | None:
        return self._partitions.get((topic, index))

    def partition_count(self) -> int:
        """Of all topics."""
        return len(self._partitions)

    def partitions(self) -> Iterator[tuple[PartitionKey, Partition]]:
        """Of all topics, in the same order on every node that replayed the same."""
        for topic in self._by_id.values():
            for index in range(topic.partitions):
                yield (topic.id, index), self._partitions[topic.id, index]

    def take_changed(self) -> list[PartitionKey] | None:
        """Partitions created, changed or removed since the previous call by the same caller; None
        the first time: the caller then knows none."""
        changed, self._changed = self._changed, {}
        return None if changed is None else list(changed)

    # --- replay ---

    def replay_topic(self, record: TopicRecord) -> None:
        assert record.name not in self._ids, f"a second topic {record.name}"
        self._by_id[record.topic_id] = Topic(id=record.topic_id, name=record.name)
        self._ids[record.name] = record.topic_id
        self._plain[_plain(record.name)] = record.name
        self._digest.count(_TOPIC, "", record.name, None, uuid_text(record.topic_id))

    def replay_partition(self, record: PartitionRecord) -> None:
        key = (record.topic_id, record.partition_id)
        topic = self._by_id[record.topic_id]
        if key not in self._partitions:
            self._by_id[topic.id] = replace(topic, partitions=topic.partitions + 1)
        self._put(key, read(record))

    def replay_change(self, record: PartitionChangeRecord) -> None:
        key = (record.topic_id, record.partition_id)
        self._put(key, self._partitions[key].changed(record))

    def replay_clear_elr(self, record: ClearElrRecord) -> None:
        """A partition change like any other, if the partition has any."""
        only = self._ids[record.topic_name] if record.topic_name else None
        for key, found in list(self.partitions()):
            if (found.elr or found.last_known_elr) and only in (None, key[0]):
                self.replay_change(
                    PartitionChangeRecord(
                        topic_id=key[0],
                        partition_id=key[1],
                        eligible_leader_replicas=(),
                        last_known_elr=(),
                    )
                )

    def remove(self, record: RemoveTopicRecord) -> Topic:
        topic = self._by_id.pop(record.topic_id)
        del self._ids[topic.name]
        self._plain.pop(_plain(topic.name), None)
        self._digest.count(_TOPIC, "", topic.name, uuid_text(topic.id), None)
        for index in range(topic.partitions):
            self._put((topic.id, index), None)
        return topic

    def _put(self, key: PartitionKey, after: Partition | None) -> None:
        before = self._partitions.pop(key, None)
        if after is not None:
            self._partitions[key] = after
        if self._changed is not None:
            self._changed[key] = None
        of, name = uuid_text(key[0]), str(key[1])
        self._digest.count(_PARTITION, of, name, before, after)


def _plain(name: str) -> str:
    return name.replace(".", "_")
