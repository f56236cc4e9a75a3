"""A partition as the controller knows it, and what a record makes of it."""

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from node.ids import ZERO_UUID
from node.lazy_dataclass import dataclass
from node.records.metadata import PartitionChangeRecord, PartitionRecord
from node.records.metadata_versions import DIRECTORIES, ELR
from node.records.topic_schemas import NO_LEADER, NO_LEADER_CHANGE

PartitionKey = tuple[UUID, int]  # topic id, index

RECOVERED, RECOVERING = 0, 1  # LeaderRecoveryState (KIP-704)
_NO_CHANGE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """`isr` and `elr` are disjoint and of `replicas`; the leader is in the ISR, or there is none.

    `last_known_elr` holds the last leader alone, while there is none and no recovery manager.
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
    recovery: int = RECOVERED

    def __str__(self) -> str:
        """All of it, as the digest hashes it at every change: `repr` takes five times as long."""
        return (
            f"{self.replicas}{self.isr}{self.leader} {self.leader_epoch} {self.partition_epoch}"
            f"{self.removing}{self.adding}{[each.int for each in self.directories]}"
            f"{self.elr}{self.last_known_elr}{self.recovery}"
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
        """With other replicas; `first` has the directory of a new one."""
        kept = dict(zip(self.replicas, self.directories, strict=True))
        directories = tuple(
            kept[broker] if broker in kept else first(broker) for broker in replicas
        )
        return replace(self, replicas=replicas, directories=directories)

    def record(self, key: PartitionKey, level: int) -> PartitionRecord:
        """Of which `read` makes it again; in older levels of metadata.version, what they know."""
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
        )

    def changed(self, change: PartitionChangeRecord) -> "Partition":
        """Each change raises the partition epoch; one that has a leader raises the leader epoch."""
        is_led_anew = change.leader != NO_LEADER_CHANGE
        recovery = change.leader_recovery_state
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
    """Older records say nothing of directories, nor of an ELR."""
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
        recovery=record.leader_recovery_state,
    )


def _or(given: tuple[int, ...] | None, before: tuple[int, ...]) -> tuple[int, ...]:
    return before if given is None else given
