"""Committed offsets of groups, as written to partitions of `__consumer_offsets`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from chaos.cluster.sim.invariants.eligible_rules import Key
from chaos.cluster.sim.invariants.known_batches import KnownBatch
from node.records.batch import split_batches
from node.records.group_records import (
    OffsetCommitKey,
    OffsetCommitValue,
    decode_key,
    decode_value,
)

OFFSETS_TOPIC = "__consumer_offsets"


class CommitPlace(NamedTuple):
    """A partition that a group reads."""

    group: str
    topic: str
    partition: int


@dataclass(eq=False, slots=True)
class WrittenCommit:
    """`offset` None: the committed offset was deleted."""

    batch: KnownBatch
    offset: int | None = None
    topic_id: UUID | None = None
    is_acknowledged: bool = False


class GroupCommits:
    """All commits of one run, over all logs."""

    def __init__(self) -> None:
        self._written: dict[CommitPlace, list[WrittenCommit]] = {}
        self._noted: set[tuple[Key, int, int]] = set()

    def note(self, key: Key, batch: KnownBatch, data: bytes) -> None:
        """A log of that partition has this batch now; `data` are its bytes."""
        place = key, batch.epoch, batch.base
        if place in self._noted:
            return
        self._noted.add(place)
        for each in split_batches(data):
            if each.header.is_control:
                continue
            for record in each.records():
                written = decode_key(record.key)
                if isinstance(written, OffsetCommitKey):
                    value = decode_value(written, record.value)
                    commit = WrittenCommit(batch)
                    if isinstance(value, OffsetCommitValue):
                        commit.offset, commit.topic_id = value.offset, value.topic_id
                    where = CommitPlace(written.group, written.topic, written.partition)
                    self._written.setdefault(where, []).append(commit)

    def newest_first(self, place: CommitPlace) -> Iterator[WrittenCommit]:
        return reversed(self._of(place))

    def _of(self, place: CommitPlace) -> Sequence[WrittenCommit]:
        return self._written.get(place, ())


def partition_of(group: str, partitions: int) -> int:
    """Java's `String.hashCode`, made positive by `Utils.abs`, as `GroupMetadataManager` does."""
    number = 0
    for high, low in zip(*[iter(group.encode("utf-16-be", "surrogatepass"))] * 2, strict=True):
        number = (31 * number + 256 * high + low) % 2**32
    if number >= 2**31:
        number = 2**32 - number
    return 0 if number == 2**31 else number % partitions
