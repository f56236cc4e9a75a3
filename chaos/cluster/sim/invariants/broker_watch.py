"""The watch over all brokers of a cluster: their replicas, by their writes and their traces.

The contents of a replica follow from the writes that its broker requests. The broker traces in the
same step (`node.server.output`) which partition it leads, with which ISR, and how far a high
watermark moved; whether that may be so is decided here again, by the logs of the others and the
newest metadata that any broker has replayed. That metadata is judged as well (`committed_changes`),
and so are the committed offsets of groups and the fencing of brokers.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from chaos.cluster.sim.invariants.committed_changes import CommittedChanges, Key
from chaos.cluster.sim.invariants.known_batches import NOTHING, KnownBatch, KnownBatches, cut, holds
from chaos.cluster.sim.invariants.rules import Broken, InvariantViolated, Looked
from node.broker.broker import Broker
from node.controller.image import Image
from node.controller.image.topics import RECOVERING, Partition
from node.ids import ZERO_UUID, ConnectionId, LogId, NodeId, Offset
from node.outbox import Output, ResponseTo
from node.records.batch import split_batches
from node.records.group_records import OffsetCommitKey, OffsetCommitValue, decode_key, decode_value
from node.storage.log_directories import LogDirectories
from node.storage.view import LogView
from node.wire.entities import TopicPartition
from node.wire.registration import BrokerHeartbeatResponse

# One partition on all its brokers: what was shown to consumers, and which replica may lead.


Logs = dict[NodeId, KnownBatch]  # of brokers that are in the broker epoch that is committed
BrokerLife = tuple[NodeId, int]  # a broker, and the number of its life


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """A partition as the metadata log has it, as far as some broker has replayed that."""

    state: Partition
    min_isr: int  # the effective one
    elr: bool  # whether eligible leader replicas are on (KIP-966)


@dataclass(eq=False, slots=True)
class KeptPartition:
    """`shown` ends at the true high watermark, the highest that any leader ever published."""

    name: str
    batches: KnownBatches = field(
        default_factory=lambda: KnownBatches(frozenset(), "P11-replicas-agree")
    )
    shown: KnownBatch = NOTHING
    _leaders: dict[int, BrokerLife] = field(default_factory=dict)  # by leader epoch
    _forgot: set[NodeId] = field(default_factory=set)  # since all in the ISR had everything
    _began: int = 0  # the last leader epoch in which loss was allowed

    def lead(self, life: BrokerLife, epoch: int, log: KnownBatch, promised: Promised) -> None:
        """A replica begins to lead: no other did in that epoch, nor another life of its own, and it
        has all that was shown. A replica that hears late of its past leadership need not have
        that."""
        known = self._leaders.setdefault(epoch, life)
        if known != life:
            what = f"n{life[0]} leads {self.name} in leader epoch {epoch}, as "
            other = "it did in another life" if known[0] == life[0] else f"n{known[0]} did"
            raise Broken("P1-one-leader-per-epoch", what + other)
        if epoch < max(self._leaders) or holds(log, self.shown):
            return
        if not self._may_forget(promised):
            what = f"n{life[0]} leads {self.name} in leader epoch {epoch}, and lacks {self.shown}"
            raise Broken("P10-leaders-hold-acknowledged", f"{what}, which was shown to consumers")
        self.shown, self._began = shared(log, self.shown), epoch

    def show(self, node: NodeId, epoch: int, log: KnownBatch, mark: Offset) -> None:
        """A leader publishes a high watermark; a deposed one may do so late."""
        if epoch < self._began:
            return
        batch = cut(log, mark)
        lower, higher = sorted((batch, self.shown), key=lambda one: one.end)
        if not holds(higher, lower):
            what = f"n{node} shows {batch} of {self.name}, and {self.shown} was shown, which is "
            raise Broken("P11-replicas-agree", f"{what}of another log")
        self.shown = higher

    def before(self, start: Offset) -> KnownBatch:
        """The deleted part of a log that begins at `start`: only what was shown can be deleted."""
        return cut(self.shown, start)

    def check_isr(self, leader: KnownBatch, mark: Offset, logs: Logs, promised: Promised) -> None:
        """All of the ISR have what is below its leader's high watermark (HS StrongIsr)."""
        batch = cut(leader, mark)
        for broker in promised.state.isr:
            log = logs.get(NodeId(broker))
            if log is not None and not holds(log, batch):
                what = f"the high watermark of {self.name} is {mark}, and n{broker}, which is in "
                raise Broken("P7-maximal-isr-holds-all", f"{what}the ISR, lacks {batch}")

    def check_kept_up(self, node: NodeId, mark: Offset, ends: Mapping[NodeId, Offset]) -> None:
        """`ends`: log ends of all replicas that may be waited for, as the leader knows them."""
        bound = min(ends.values())
        if mark < bound:
            what = f"n{node} leaves the high watermark of {self.name} at {mark}, and all that it "
            what += f"may wait for, {sorted(ends)}, have what is below {bound}"
            raise Broken("P18-high-watermark-keeps-up", what)

    def truncate(self, node: NodeId, log: KnownBatch, end: Offset, promised: Promised) -> None:
        """A follower truncates its log, but nothing that was shown."""
        common = shared(log, self.shown)
        if end < common.end and not self._may_forget(promised):
            what = f"n{node} truncates its log of {self.name} to {end}, and had {common}"
            raise Broken("P16-no-committed-record-cut", f"{what}, which was shown to consumers")

    def check_cut(
        self, node: NodeId, log: KnownBatch, end: int, mark: int, promised: Promised
    ) -> None:
        """A follower truncates its log to `end`, below its high watermark `mark`. Loss that was
        allowed when a leader was elected is allowed to each log that ends before that epoch,
        however late its broker comes back."""
        if log.epoch >= self._began and not self._may_forget(promised):
            what = f"n{node} truncates its log of {self.name} to {end}, and has a high watermark "
            raise Broken("P16-no-committed-record-cut", f"{what}of {mark}")

    def come_back(self, node: NodeId, before: KnownBatch, log: KnownBatch) -> None:
        """A new life found `log` on its disk, where its last one had `before`."""
        if holds(before, self.shown) and not holds(log, self.shown):
            self._forgot.add(node)

    def forgot(self, node: NodeId) -> bool:
        """Whether it came back without what was shown, since all replicas had everything."""
        return node in self._forgot

    def was_forgotten_since(self, epoch: int) -> bool:
        """Whether loss was allowed in a later leader epoch than that."""
        return epoch < self._began

    def recover(self, logs: Logs, promised: Promised) -> None:
        """Once all in the ISR have everything, earlier losses no longer count."""
        if set(promised.state.isr) == set(promised.state.replicas) and all(
            holds(logs.get(NodeId(broker), NOTHING), self.shown) for broker in promised.state.isr
        ):
            self._forgot.clear()

    def _may_forget(self, promised: Promised) -> bool:
        """Data survives min ISR - 1 unclean shutdowns with eligible leader replicas and without
        unclean elections (KIP-966)."""
        is_unclean = promised.state.recovery == RECOVERING
        return is_unclean or not promised.elr or len(self._forgot) >= promised.min_isr


def shared(one: KnownBatch, other: KnownBatch) -> KnownBatch:
    """The last batch in both logs."""
    while one is not other:
        longer, shorter = (one, other) if one.end >= other.end else (other, one)
        assert longer.prefix is not None, "all logs begin alike"
        one, other = longer.prefix, shorter
    return one


# Committed offsets of groups, as written to partitions of `__consumer_offsets`.


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


# P18, for fenced brokers: one that has caught up is unfenced when it asks for that.


# After it has heard that it has caught up, its next heartbeat on the connection asks to be
# unfenced.
_ONCE_MORE = 2


@dataclass(eq=False, slots=True)
class LetIn:
    """One life of a controller: its last answers to heartbeats, and how often in a row."""

    node: NodeId
    life: int  # number
    looked: Looked = field(default_factory=Counter)
    _steps: int = 0
    _left: dict[ConnectionId, int] = field(default_factory=dict)

    def after_step(self, outputs: Sequence[Output], at_ns: int) -> None:
        """Raises InvariantViolated."""
        self._steps += 1
        try:
            for output in outputs:
                if type(output) is ResponseTo:
                    self.heed(output)
        except Broken as broken:
            raise InvariantViolated(
                broken, node=self.node, life=self.life, step=self._steps, at_ns=at_ns
            ) from broken

    def heed(self, answer: ResponseTo) -> None:
        """Raises Broken."""
        told = answer.response
        if not isinstance(told, BrokerHeartbeatResponse):
            return
        self.looked["P18-brokers-are-let-in"] += 1
        if not (told.is_caught_up and told.is_fenced) or told.should_shut_down:
            self._left.pop(answer.connection, None)
            return
        times = self._left[answer.connection] = self._left.get(answer.connection, 0) + 1
        if times > _ONCE_MORE:
            what = (
                f"n{self.node} answered a broker {times} times in a row that it has caught up, and "
            )
            raise Broken("P18-brokers-are-let-in", f"{what}left it fenced")


class LedByIsr(NamedTuple):
    """The ISR by which a replica says that it leads."""

    partition_epoch: int
    committed: frozenset[int]
    maximal: frozenset[int]


class Begun(NamedTuple):
    """The step of this life in which a replica began to lead or to follow, and its log end then."""

    step: int
    epoch: int
    leads: bool
    end: int


@dataclass(eq=False, slots=True)
class KeptReplicas:
    """What one broker holds, in one life, and what it knows of the metadata log.

    The four `_before` fields have what this step changed, as it was: an answer may be given before
    a change, or after it.
    """

    node: NodeId
    life: int  # number
    broker: Broker
    metadata: LogView
    logs: dict[Key, KnownBatch]
    had: dict[Key, KnownBatch]  # at the end of its last life
    lost: str | None = None  # a partition that lacks records from then
    log_starts: dict[Key, Offset] = field(default_factory=dict)  # after DeleteRecords
    begun: dict[Key, Begun] = field(default_factory=dict)
    isrs: dict[Key, LedByIsr] = field(default_factory=dict)  # of those that it leads
    marks: dict[Key, int] = field(default_factory=dict)  # high watermarks, of those that it leads
    is_damaged: bool = False  # it has found one of its logs damaged
    has_news: bool = False  # it replayed some of the metadata log in this step
    logs_before: dict[Key, KnownBatch] = field(default_factory=dict)
    starts_before: dict[Key, Offset] = field(default_factory=dict)
    begun_before: dict[Key, Begun | None] = field(default_factory=dict)
    isrs_before: dict[Key, LedByIsr] = field(default_factory=dict)
    marks_before: dict[Key, int] = field(default_factory=dict)
    _known: Offset = Offset(0)  # as of the last step

    @property
    def image(self) -> Image:
        return self.broker.follower.image

    @property
    def applied(self) -> Offset:
        """All below is in the image."""
        return self.broker.applied

    def begin_step(self) -> None:
        """All of the step was done, and nothing was judged."""
        for each in (
            self.logs_before,
            self.starts_before,
            self.begun_before,
            self.isrs_before,
            self.marks_before,
        ):
            each.clear()
        known, self._known = self._known, self.applied
        self.has_news = known != self._known

    def key_of(self, at: TopicPartition) -> Key | None:
        """The name of a known partition in messages."""
        if at.id != ZERO_UUID:
            return (at.id, at.index) if self.image.topics.find(at.id) is not None else None
        topic = self.image.topics.named(at.name)
        return None if topic is None else (topic.id, at.index)

    def has_moved(self, key: Key, step: int) -> bool:
        """Since that step it may lead or follow in another epoch; it is not judged by what was
        before."""
        begun = self.begun.get(key)
        return begun is None or begun.step >= step or key not in self.logs

    def mark_before(self, key: Key) -> int:
        return self.marks_before.get(key, self.marks[key])

    def start_before(self, key: Key) -> Offset:
        return self.starts_before.get(key, self.log_starts.get(key, Offset(0)))

    def end_before(self, key: Key) -> Offset:
        return self.logs_before.get(key, self.logs[key]).end

    def epoch_before(self, key: Key) -> int | None:
        """None: it does not know the partition yet."""
        begun = self.begun_before.get(key, self.begun.get(key))
        return None if begun is None else begun.epoch

    @property
    def epoch(self) -> int:
        """The broker epoch of this life; -1 until it is registered."""
        return self.broker.lifecycle.epoch


class BrokerWatch:
    """All brokers of one run. `min_isr` is that of topics without a value of their own."""

    def __init__(self, min_isr: int, looked: Looked | None = None) -> None:
        self.looked = Counter() if looked is None else looked
        self.changes = CommittedChanges(min_isr, self.looked)
        self.commits = GroupCommits()
        self._partitions: dict[Key, KeptPartition] = {}
        self._newest_lives: dict[NodeId, KeptReplicas] = {}
        self._controllers: dict[NodeId, int] = {}  # the life of each

    def begin(self, node: NodeId, broker: Broker, metadata: LogView) -> KeptReplicas:
        """A new life of a broker."""
        known = self._newest_lives.get(node)
        life = 1 if known is None else known.life + 1
        had = {} if known is None else known.logs
        held = KeptReplicas(
            node=node, life=life, broker=broker, metadata=metadata, logs={}, had=had
        )
        self._newest_lives[node] = held
        return held

    def begin_controller(self, node: NodeId) -> LetIn:
        """A new life of a controller, with which brokers register."""
        life = self._controllers[node] = self._controllers.get(node, 0) + 1
        return LetIn(node, life, self.looked)

    def find(self, held: KeptReplicas, found: LogDirectories) -> None:
        """The logs that it found on its disk. Raises Broken where no log may hold that."""
        for name in found:
            key = key_of(name, found[name].topic)
            partition, first = self.partition(key), found[name].segments[0].base
            log = partition.before(first)
            for header in found[name].headers():
                log = partition.batches.append(log, header)
            held.logs[key], held.log_starts[key] = log, found[name].start
        for key, had in held.had.items():
            partition, log = self.partition(key), held.logs.get(key, NOTHING)
            partition.come_back(held.node, had, log)
            if not holds(log, had):
                held.lost = partition.name

    def partition(self, key: Key) -> KeptPartition:
        known = self._partitions.get(key)
        if known is None:
            known = self._partitions[key] = KeptPartition(f"{key[0]}-{key[1]}")
        return known

    def is_of_groups(self, key: Key) -> bool:
        """Whether it keeps the committed offsets of groups."""
        topic = self.changes.image.topics.find(key[0])
        return topic is not None and topic.name == OFFSETS_TOPIC

    def promised(self, key: Key, image: Image) -> Promised | None:
        """The partition in an image; None: it does not have it."""
        state = image.topics.partition(*key)
        if state is None:
            return None
        min_isr = self.changes.effective_min_isr(image, key, state)
        return Promised(state=state, min_isr=min_isr, elr=image.has_elr)

    def newest(self, key: Key) -> Promised | None:
        """The partition as the broker has it that has replayed most."""
        return self.promised(key, self.changes.image)

    def logs(self, key: Key) -> Logs:
        """Logs of brokers that are registered with their current life. A broker that is off counts
        as in its last step: what it lost is not known before it comes back and registers."""
        brokers = self.changes.image.brokers
        logs: Logs = {}
        for node, held in self._newest_lives.items():
            registered = brokers.find(node)
            if registered is not None and registered.broker_epoch == held.epoch:
                logs[node] = held.logs.get(key, NOTHING)
        return logs

    def log_starts(self, key: Key) -> dict[NodeId, Offset]:
        """Where those of `logs` begin that are not empty."""
        held = {node: self._newest_lives[node] for node in self.logs(key)}
        return {n: one.log_starts[key] for n, one in held.items() if key in one.logs}

    def log_of(self, key: Key, node: NodeId, epoch: int) -> KnownBatch | None:
        """The log of a broker in that broker epoch; None: it is in another life by now."""
        held = self._newest_lives.get(node)
        if held is None or held.epoch != epoch:
            return None
        return held.logs.get(key, NOTHING)


def key_of(log: LogId, topic: UUID) -> Key:
    return topic, int(log.rpartition("-")[2])
