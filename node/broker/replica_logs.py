"""The logs of replicas as a broker's core sees them: what is on the disks as of this step."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from node.ids import LogId, Offset
from node.records.batch import BatchHeader
from node.slices import Slice
from node.storage.leader_epochs import LeaderEpochs
from node.storage.producers import KnownProducers


class KeptSegment(Protocol):
    """See `node.storage.partition_segment`."""

    base: Offset
    size: int

    @property
    def newest_ms(self) -> int:
        """-1: no batch in it has a timestamp."""


class ReindexedSegment(Protocol):
    """See `node.storage.partition_recovery`."""

    @property
    def segment(self) -> str: ...

    @property
    def reason(self) -> str: ...


class ReplicaLog(Protocol):
    """What is in it as of this step: of its own writes, which are effects, a core reads in the next
    one. Whatever reads batches raises CorruptLog where one is damaged."""

    @property
    def topic(self) -> UUID: ...

    @property
    def start(self) -> Offset: ...

    @property
    def next_offset(self) -> Offset: ...

    @property
    def flushed(self) -> bool:
        """Is all of it durable, with what stands beside it?"""

    @property
    def epochs(self) -> LeaderEpochs: ...

    @property
    def segments(self) -> Sequence[KeptSegment]: ...

    def read(self, offset: Offset, max_bytes: int) -> bytes: ...

    def readable(self, offset: Offset, max_bytes: int, limit: Offset) -> int: ...

    def read_below(self, offset: Offset, max_bytes: int, limit: Offset) -> bytes: ...

    def slice_below(self, offset: Offset, max_bytes: int, limit: Offset) -> Slice: ...

    def first_at(self, time_ms: int, limit: Offset) -> BatchHeader | None: ...

    def latest_ms(self, limit: Offset) -> int | None: ...

    @property
    def producers(self) -> KnownProducers: ...


class ReplicaLogs(Protocol):
    """`node.storage.log_directories`, or what does the same."""

    @property
    def directories(self) -> Sequence[UUID]:
        """The log directories that there are, at least one."""

    def directory_of(self, log: LogId) -> UUID:
        """In which of them it is."""

    @property
    def previous_epoch(self) -> int:
        """The broker epoch in which the last process on these disks shut down cleanly, else -1."""

    @property
    def high_watermarks(self) -> Mapping[LogId, Offset]:
        """As they were when the last life saved them; they may be old."""

    def find(self, log: LogId) -> ReplicaLog | None: ...

    def take_reindexed(self) -> Sequence[ReindexedSegment]: ...

    def __iter__(self) -> Iterator[LogId]: ...
