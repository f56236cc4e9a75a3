"""All replicas of a broker: made, changed and removed as the metadata log says."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from uuid import UUID

from node.broker.replicas.logs import (
    ConfiguredTopics,
    KeptSegment,
    LogPlacement,
    Pace,
    ReplicaLog,
    ReplicaLogs,
    TopicSettings,
)
from node.broker.replicas.producers import Producers
from node.broker.replicas.replica import MayJoin, Replica
from node.broker.replicas.traces import (
    NOTHING,
    Traced,
    trace_damage,
    trace_replica,
    trace_truncation,
)
from node.broker.requests.fetch_sessions import Place
from node.config import BrokerRole, BrokerSettings
from node.controller.image import Image, Partition
from node.effects import (
    AppendBatches,
    CreateLogs,
    LimitSegments,
    NewLog,
    RaiseLogStarts,
    RemoveLog,
    RestartLog,
    SaveHighWatermarks,
    SegmentLimits,
    Trace,
    TruncateLog,
)
from node.errors import ErrorCode
from node.ids import MS, NO_EPOCH, NO_NODE, ZERO_UUID, Epoch, LogId, NodeId, Offset
from node.lazy_dataclass import dataclass
from node.outbox import Outbox
from node.records.batch import BatchHeader
from node.storage.checkpoints import LeaderEpochs
from node.storage.disk import CorruptLog
from node.storage.producers import KnownProducers
from node.wire.entities import TopicPartition

Key = tuple[UUID, int]


@dataclass(slots=True, kw_only=True)
class HostedPartition:
    """A replica with its log."""

    key: Key
    name: str  # of the topic
    log: LogId
    directory: UUID  # of its log
    replica: Replica
    settings: TopicSettings  # of its topic
    told: Partition | None = None  # in the newest image that the replica knows
    limits: SegmentLimits | None = None  # as last set for its log
    traced: Traced = NOTHING
    damage: str = ""  # of its log, as last reported to the operator

    @property
    def places(self) -> tuple[Place, Place]:
        """The keys by which requests name it: by its topic's id, or its name."""
        return _place(self.key), (self.name, self.key[1])

    @property
    def at(self) -> TopicPartition:
        return TopicPartition(name=self.name, id=self.key[0], index=self.key[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRefusal:
    """Why a broker does not answer for a partition, and the broker that may."""

    error: ErrorCode
    leader: NodeId = NO_NODE
    leader_epoch: int = NO_EPOCH


class ReplicaManager:
    def __init__(
        self,
        me: NodeId,
        logs: ReplicaLogs,
        settings: BrokerSettings,
        role: BrokerRole,
        may_join: MayJoin,
        outbox: Outbox,
    ) -> None:
        self._me = me
        self._logs = logs
        self._topics = ConfiguredTopics(role, settings.min_isr)
        self._role = role
        self._may_join = may_join
        self._outbox = outbox
        # By topic ids as numbers: this is looked up most often, and UUIDs take longer to compare.
        self._held: dict[tuple[int, int], HostedPartition] = {}
        self._ids: dict[str, int] = {}  # of topics, by name
        self._starts: dict[LogId, Offset] = {}  # raised in this step
        self._saved = {**logs.high_watermarks}  # as they are on the disk
        # Those with a high watermark that may be another; None: all of them.
        self._unsaved: dict[LogId, HostedPartition] | None = None
        # All that lead and have a follower that lacks records, among all that were noted since
        # `take_ahead`.
        self._ahead: dict[Key, HostedPartition] = {}
        self._image: Image | None = None  # the newest one followed
        self._placement = LogPlacement(logs)
        # Those with a possible change of log end, high watermark, ISR or leader.
        self.moved: dict[LogId, HostedPartition] = {}
        self._untold: dict[Key, HostedPartition] = {}  # of these, since the last `trace`
        self._unasked: dict[Key, HostedPartition] = {}  # of these, since the last `take_unasked`
        self._appended: dict[LogId, HostedPartition] = {}  # in this step
        # Those with a log in another directory than the image says.
        self.elsewhere: dict[Key, HostedPartition] = {}
        self._surroundings = -1  # versions of the image that were followed
        self._producers: dict[LogId, Producers] = {}  # those asked for in this step
        # Work left on the disks: logs of new replicas to make, and of removed ones to delete.
        self._unmade: dict[Key, None] = {}
        self._new: list[NewLog] = []  # of this step
        self._unremoved: dict[LogId, None] = {}
        self._pace = Pace()

    # --- what is asked ---

    def all(self) -> list[HostedPartition]:
        return list(self._held.values())

    def find(self, partition: TopicPartition) -> HostedPartition | None:
        """The replica by the topic's id if the request has it, or by its name."""
        topic = partition.id.int or self._ids.get(partition.name)
        return None if topic is None else self._held.get((topic, partition.index))

    def by_key(self, key: Key) -> HostedPartition | None:
        return self._held.get(_place(key))

    def absent(self, at: TopicPartition) -> PartitionRefusal:
        """The refusal for a partition that `find` does not find. Another broker may have it: the
        client has to look for that, and not to give up (`ReplicaManager.getPartitionOrError`).
        """
        by_id = at.id != ZERO_UUID
        unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if self._image is None:
            return PartitionRefusal(error=unknown)
        topics = self._image.topics
        topic = topics.find(at.id) if by_id else topics.named(at.name)
        if topic is None:
            return PartitionRefusal(error=unknown)
        state = topics.partition(topic.id, at.index)
        if state is None:
            return PartitionRefusal(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return PartitionRefusal(
            error=ErrorCode.NOT_LEADER_OR_FOLLOWER,
            leader=NodeId(state.leader),
            leader_epoch=state.leader_epoch,
        )

    def log(self, held: HostedPartition) -> ReplicaLog | None:
        """None if it was made in this step."""
        log = self._logs.find(held.log)
        return None if log is None or log.topic.int != held.key[0].int else log

    def log_at(self, held: HostedPartition, offset: Offset) -> ReplicaLog | None:
        """None also if it was made anew in this step, and does not reach `offset`."""
        log = self.log(held)
        return log if log is not None and log.start <= offset <= log.next_offset else None

    def segments(self, held: HostedPartition) -> Sequence[KeptSegment]:
        log = self.log(held)
        return () if log is None else log.segments

    def producers(self, held: HostedPartition) -> Producers:
        """The producers of a leader's log, with this step's appends. Raises CorruptLog."""
        found = self._producers.get(held.log)
        if found is None:
            log = self.log(held)
            logged = KnownProducers() if log is None else log.producers
            found = self._producers[held.log] = Producers(logged)
        return found

    def damaged(self, held: HostedPartition, damage: CorruptLog) -> None:
        """Its log could not be read. This is reported once: other partitions are still served, as
        by Kafka (`ReplicaManager.readFromLog`), and the sound part of this one.
        """
        if held.damage != str(damage):
            held.damage = str(damage)
            trace_damage(held.log, held.damage, self._outbox)

    @property
    def is_whole(self) -> bool:
        """Is no log known to be damaged?"""
        return not any(held.damage for held in self._held.values())

    # --- updates from the metadata log ---

    def follow(self, image: Image, mono_ns: int) -> None:
        """Follow the image: all of it, or what has changed since the last one. Removed replicas go
        first: a topic of the same name may get its log in their place. New logs are made, and old
        ones removed, by `go_on`.
        """
        changed = image.topics.take_changed()
        is_same = image is self._image and image.surroundings == self._surroundings
        if changed is None or not is_same:
            known = [*(held.key for held in self._held.values()), *self._unmade]
            self._follow(image, known, image.topics.partitions(), mono_ns)
        else:
            found = ((key, image.topics.partition(*key)) for key in changed)
            self._follow(image, changed, found, mono_ns)
        if self._image is None:
            self._remove_strays()
        self._image, self._surroundings = image, image.surroundings

    def _follow(
        self,
        image: Image,
        before: Iterable[Key],
        after: Iterable[tuple[Key, Partition | None]],
        mono_ns: int,
    ) -> None:
        """`before`: partitions that may have to be removed; `after`: those that may be held, or are
        gone.
        """
        had = len(self._held)
        for key in before:
            held = self.by_key(key)
            state = image.topics.partition(*key)
            if state is None or self._me not in state.replicas:
                self._unmade.pop(key, None)
                if held is not None:
                    self._let_go(held)
        if len(self._held) < had:
            self._ids = {held.name: topic for (topic, _), held in self._held.items()}
        for key, state in after:
            if state is None or self._me not in state.replicas:
                continue
            if self.by_key(key) is not None or self._found(image, key) is not None:
                self._tell(image, key, state, mono_ns)
            else:
                self._unmade[key] = None

    @property
    def is_unfinished(self) -> bool:
        """Is anything left for `go_on`?"""
        return bool(self._unmade or self._unremoved)

    def go_on(self, mono_ns: int) -> bool:
        """Make and remove as many logs as fit into a step. Returns whether there were any."""
        if not self.is_unfinished:
            return False
        assert self._image is not None, "nothing was told yet"
        for _ in range(self._pace.pieces(mono_ns)):
            if self._unmade:
                key = next(iter(self._unmade))
                del self._unmade[key]
                state = self._image.topics.partition(*key)
                assert state is not None, f"{key} is no partition any more"
                self._tell(self._image, key, state, mono_ns)
            elif self._unremoved:
                self._remove(next(iter(self._unremoved)))
        if self._new:
            self._outbox.emit(CreateLogs(logs=tuple(self._new)))
            self._new.clear()
        if not self.is_unfinished:
            self._pace.rest()
        return True

    def _let_go(self, held: HostedPartition) -> None:
        del self._held[_place(held.key)]
        self.elsewhere.pop(held.key, None)
        self._placement.remove(held.log)
        self._starts.pop(held.log, None)
        self._topics.forget(held.name)
        self._unremoved[held.log] = None
        self.note(held)

    def _remove(self, log: LogId) -> None:
        del self._unremoved[log]
        self._outbox.emit(RemoveLog(log=log))

    def _remove_strays(self) -> None:
        """Remove logs of an earlier life that were taken from this broker while it was off: no
        image mentions them any more (KAFKA-14616).
        """
        for log in sorted(set(self._logs) - {held.log for held in self._held.values()}):
            self._placement.remove(log)
            self._unremoved[log] = None

    def _tell(self, image: Image, key: Key, state: Partition, mono_ns: int) -> None:
        held = self.by_key(key) or self._make(image, key, state)
        held.settings = self._topics.of(image, held.name)
        self._limit_segments(held)
        configured = held.settings.min_isr
        replica = held.replica
        if held.told is state and replica.configured_min_isr == configured:
            # A replica outside the ISR may be able to join it now, which its next Fetch decides.
            if replica.look_again(mono_ns) or replica.lacks_followers:
                self.note(held)
            return
        held.told = state
        replica.update(state, configured, mono_ns)
        if state.directory(self._me) == held.directory:
            self.elsewhere.pop(key, None)
        else:
            self.elsewhere[key] = held
        self.note(held)

    def _limit_segments(self, held: HostedPartition) -> None:
        limits = held.settings.segments
        if held.limits is not limits:
            held.limits = limits
            self._outbox.emit(LimitSegments(log=held.log, limits=limits))

    def _found(self, image: Image, key: Key) -> ReplicaLog | None:
        """The log of an earlier life; None if there is none, or it was removed since."""
        _, log = _named(image, key)
        found = self._logs.find(log)
        is_its = found is not None and found.topic == key[0] and log not in self._unremoved
        return found if is_its else None

    def _make(self, image: Image, key: Key, state: Partition) -> HostedPartition:
        name, log = _named(image, key)
        settings = self._topics.of(image, name)
        found = self._found(image, key)
        if found is None:
            if log in self._unremoved:
                self._remove(log)
            directory = self._placement.place(log, state.directory(self._me))
            self._new.append(
                NewLog(log=log, topic=key[0], directory=directory, limits=settings.segments)
            )
            self._lowered(log)
            start = end = Offset(0)
            epochs = LeaderEpochs()
        else:
            directory = self._logs.directory_of(log)
            start, end = found.start, found.next_offset
            epochs = LeaderEpochs(list(found.epochs.epochs), list(found.epochs.starts))
        replica = Replica(
            self._me,
            start=start,
            end=end,
            epochs=epochs,
            high_watermark=self._logs.high_watermarks.get(log, Offset(0)),
            may_join=self._may_join,
            lag_ns=self._role.lag_ms * MS,
        )
        held = self._held[_place(key)] = HostedPartition(
            key=key,
            name=name,
            log=log,
            directory=directory,
            replica=replica,
            settings=settings,
            limits=settings.segments if found is None else None,
        )
        self._ids[held.name] = key[0].int
        return held

    # --- what changes ---

    def note(self, held: HostedPartition) -> None:
        """Something of it may have changed: requests that wait for that look again."""
        self.moved[held.log] = self._untold[held.key] = self._unasked[held.key] = held
        self._ahead[held.key] = held
        if self._unsaved is not None:
            self._unsaved[held.log] = held

    def watch(self, held: HostedPartition) -> None:
        """A follower of it lacks records: that may go on for too long."""
        self._ahead[held.key] = held

    def take_ahead(self) -> list[HostedPartition]:
        """Those that lead, and have a follower that lacks records (`Replica.is_ahead`)."""
        self._ahead = {
            key: held
            for key, held in self._ahead.items()
            if self.by_key(key) is held and held.replica.is_ahead
        }
        return list(self._ahead.values())

    def trace_reindexed(self) -> None:
        """Trace reindexed segments since the last call."""
        for each in self._logs.take_reindexed():
            fields = {"segment": each.segment, "reason": each.reason}
            self._outbox.emit(Trace(event="n.reindexed", fields=fields))

    def trace(self) -> None:
        """Trace what has changed, as it is now; `moved` is kept."""
        for held in self._untold.values():
            held.traced = trace_replica(held.key, held.replica, held.traced, self._outbox)
        self._untold.clear()

    def take_moved(self) -> Mapping[LogId, HostedPartition]:
        """The moved replicas, for requests that wait for changes; clears `moved`."""
        moved, self.moved = self.moved, {}
        return moved

    def take_unasked(self) -> Mapping[Key, HostedPartition]:
        """Those that may have to be asked for differently at their leader."""
        unasked, self._unasked = self._unasked, {}
        return unasked

    def end_step(self, is_awaited: Callable[[Mapping[LogId, HostedPartition]], bool]) -> None:
        """This step's appends are in the logs in the next step, when waiting Fetches look again."""
        if self._appended and is_awaited(self._appended):
            self.moved.update(self._appended)
        self._appended.clear()
        self._producers.clear()

    # --- writes ---

    def append(
        self, held: HostedPartition, data: bytes, headers: list[BatchHeader], mono_ns: int
    ) -> None:
        """Whole batches with their offsets and epochs."""
        self._outbox.emit(AppendBatches(log=held.log, data=data))
        for header in headers:
            held.replica.appended(
                Epoch(header.leader_epoch), header.base_offset, header.next_offset, mono_ns
            )
        self.note(held)
        self._appended[held.log] = held

    def truncate(self, held: HostedPartition, end: Offset) -> None:
        trace_truncation(held.key, held.replica, end, self._outbox)
        if end < held.replica.start:
            self.restart(held, end)
            return
        held.replica.truncated(end)
        self.note(held)
        if end < self._saved.get(held.log, 0):
            # A high watermark saved for an older log must not cover what is written there next:
            # after an unclean election and a power cut that would be taken for committed.
            self.save_high_watermarks()
        self._outbox.emit(TruncateLog(log=held.log, end=end))

    def save_high_watermarks(self) -> None:
        if self._image is None:
            return  # which of the saved ones are still wanted is not known yet
        unsaved, self._unsaved = self._unsaved, {}
        if unsaved is None:
            unsaved = {held.log: held for held in self._held.values()}
            gone = self._saved.keys() - unsaved.keys()
        else:
            gone = {log for log, held in unsaved.items() if self.by_key(held.key) is not held}
        changed = {
            log: held.replica.high_watermark
            for log, held in unsaved.items()
            if log not in gone and held.replica.high_watermark != self._saved.get(log)
        }
        gone &= self._saved.keys()
        if changed or gone:
            for log in gone:
                del self._saved[log]
            self._saved |= changed
            self._outbox.emit(SaveHighWatermarks(offsets={**self._saved}))

    def _lowered(self, log: LogId) -> None:
        """Also the high watermark on the disk, as the log begins anew (`PartitionLogs`)."""
        self._saved.pop(log, None)

    def begin_at(self, held: HostedPartition, start: Offset) -> None:
        """Delete all below `start`, once `raise_starts` is called."""
        self._starts[held.log] = start
        held.replica.begins_at(start)
        self.note(held)

    def restart(self, held: HostedPartition, start: Offset) -> None:
        """Empty a follower's log that ends before its leader's begins, or the other way round."""
        self._starts.pop(held.log, None)
        self._outbox.emit(RestartLog(log=held.log, start=start))
        self._lowered(held.log)
        held.replica.restarted(start)
        self.note(held)

    def raise_starts(self) -> None:
        """One write for all log starts that were raised in this step."""
        if self._starts:
            self._outbox.emit(RaiseLogStarts(starts=self._starts))
            self._starts = {}


def _named(image: Image, key: Key) -> tuple[str, LogId]:
    """Its topic and its log."""
    topic = image.topics.find(key[0])
    assert topic is not None, f"{key} is a partition of no topic"
    return topic.name, LogId(f"{topic.name}-{key[1]}")


def _place(key: Key) -> tuple[int, int]:
    return key[0].int, key[1]
