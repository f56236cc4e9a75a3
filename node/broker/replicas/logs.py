"""The logs of replicas as the broker's core sees them: what is on the disks as of this step."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from node.config import BrokerRole
from node.controller.image import Image
from node.controller.image.configurations import CLUSTER, TOPIC
from node.effects import SegmentLimits, Slice
from node.ids import MS, LogId, Offset
from node.lazy_dataclass import dataclass
from node.records.batch import BatchHeader
from node.storage.checkpoints import LeaderEpochs
from node.storage.producers import KnownProducers

# How much of a long task is done in one step, when the duration of a piece is unknown: to make a
# log takes some flushes, which are a millisecond on one disk and a tenth of a second on another.
#
# The first step does one piece. As long as steps are short the next does twice as many, and half as
# many after a long one: so heartbeats, followers and clients are served meanwhile, and a fast disk
# is kept busy. A step that also served others was longer than its own pieces; then fewer are done,
# but never none.


LONG_NS = 100 * MS  # of a step: 1/20 of broker.heartbeat.interval.ms, as Kafka has it
_MOST = 4096


class Pace:
    def __init__(self) -> None:
        self._pieces = 1
        self._began_ns: int | None = None  # when the last step with pieces began; None: no task

    def pieces(self, mono_ns: int) -> int:
        """The number of pieces to do in the step that begins now."""
        if self._began_ns is not None:
            took_ns = mono_ns - self._began_ns
            if took_ns > LONG_NS:
                self._pieces = max(1, self._pieces // 2)
            elif took_ns <= LONG_NS // 4:
                self._pieces = min(_MOST, self._pieces * 2)
        self._began_ns = mono_ns
        return self._pieces

    def rest(self) -> None:
        """The task is done: until there is another, the duration of steps says nothing."""
        self._began_ns = None


# Topic configs, as the broker uses them: the topic's own, or else the cluster's default, or else
# the broker's own file.


LOG_APPEND_TIME = "LogAppendTime"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """`before_max_ms`, `after_max_ms`: how far timestamps may lie from the leader's clock; with
    `takes_append_time` the leader sets them itself. A retention of -1 is unlimited.
    """

    segments: SegmentLimits
    min_isr: int
    batch_bytes: int
    takes_append_time: bool
    before_max_ms: int
    after_max_ms: int
    retention_ms: int
    retention_bytes: int


class ConfiguredTopics:
    """The settings of all topics, each read again when a config that concerns it changes."""

    def __init__(self, role: BrokerRole, min_isr: int) -> None:
        self._role = role
        self._min_isr = min_isr
        # With what they were read from: values of the image, which are replaced and never changed.
        self._read: dict[str, tuple[object, object, TopicSettings]] = {}

    def of(self, image: Image, topic: str) -> TopicSettings:
        own, of_all = image.configs.of((TOPIC, topic)), image.configs.of(CLUSTER)
        found = self._read.get(topic)
        if found is None or found[0] is not own or found[1] is not of_all:
            found = self._read[topic] = (own, of_all, self._settings(image, topic))
        return found[2]

    def forget(self, topic: str) -> None:
        self._read.pop(topic, None)

    def _settings(self, image: Image, topic: str) -> TopicSettings:
        role = self._role

        def number(key: str, default: int) -> int:
            value = image.topic_config(topic, key)
            return default if value is None else int(value)

        kind = image.topic_config(topic, "message.timestamp.type")
        return TopicSettings(
            segments=SegmentLimits(
                size=number("segment.bytes", role.segment_bytes),
                ms=number("segment.ms", role.segment_ms),
                index_interval=number("index.interval.bytes", role.index_interval),
                flush_messages=number("flush.messages", role.flush_messages),
            ),
            min_isr=number("min.insync.replicas", self._min_isr),
            batch_bytes=number("max.message.bytes", role.message_bytes),
            takes_append_time=role.takes_append_time if kind is None else kind == LOG_APPEND_TIME,
            before_max_ms=number("message.timestamp.before.max.ms", role.before_max_ms),
            after_max_ms=number("message.timestamp.after.max.ms", role.after_max_ms),
            retention_ms=number("retention.ms", role.retention_ms),
            retention_bytes=number("retention.bytes", role.retention_bytes),
        )


# The log directory of a new replica (KIP-858; `LogManager.nextLogDirs`).
#
# It is the one that the controller assigned, if the broker has that. Otherwise the broker chooses,
# as Kafka does, the one with the fewest logs, and reports it afterwards (`DirectoryReports`). Kafka
# makes no log elsewhere while a directory is offline, as the log may be there: this broker does not
# live on without one of its directories.


class PlacedLogs(Protocol):
    @property
    def directories(self) -> Sequence[UUID]: ...

    def directory_of(self, log: LogId) -> UUID: ...

    def __iter__(self) -> Iterator[LogId]: ...


class LogPlacement:
    """Knows the logs of each directory, including those placed in this step."""

    def __init__(self, logs: PlacedLogs) -> None:
        self._places = {log: logs.directory_of(log) for log in logs}
        self._counts = dict.fromkeys(logs.directories, 0)
        for directory in self._places.values():
            self._counts[directory] += 1

    def place(self, log: LogId, assigned: UUID) -> UUID:
        """The directory of a new log, which may replace one of that name; of several with the
        fewest logs, the first.
        """
        self.remove(log)
        counts = self._counts
        chosen = assigned if assigned in counts else min(counts, key=counts.__getitem__)
        counts[chosen] += 1
        self._places[log] = chosen
        return chosen

    def remove(self, log: LogId) -> None:
        directory = self._places.pop(log, None)
        if directory is not None:
            self._counts[directory] -= 1


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
    """The log as of this step: its own writes are effects, which the core reads in the next one.
    Whatever reads batches raises CorruptLog if one is damaged.
    """

    @property
    def topic(self) -> UUID: ...

    @property
    def start(self) -> Offset: ...

    @property
    def next_offset(self) -> Offset: ...

    @property
    def flushed(self) -> bool:
        """Is all of it durable, with its side files?"""

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
    """`node.storage.log_directories`, or a stand-in for it."""

    @property
    def directories(self) -> Sequence[UUID]:
        """The log directories, at least one."""

    def directory_of(self, log: LogId) -> UUID:
        """The directory of that log."""

    @property
    def previous_epoch(self) -> int:
        """The broker epoch in which the last process on these disks shut down cleanly, else -1."""

    @property
    def high_watermarks(self) -> Mapping[LogId, Offset]:
        """The high watermarks as the last life saved them; they may be old."""

    def find(self, log: LogId) -> ReplicaLog | None: ...

    def take_reindexed(self) -> Sequence[ReindexedSegment]: ...

    def __iter__(self) -> Iterator[LogId]: ...
