"""The watch over all brokers of a cluster: their replicas, by what they write and what they tell.

What a replica holds follows from the writes that its broker asks for. Who leads, by which ISR, and
how far a high watermark moved is what the broker tells in the same step (`node.trace`); whether
that may be so is decided here once more, by the logs of the others and the newest metadata that any
broker has replayed. What that metadata says is judged as well (`committed_changes`).
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from chaos.cluster.sim.invariants.answer_rules import Looked
from chaos.cluster.sim.invariants.committed_changes import CommittedChanges
from chaos.cluster.sim.invariants.eligible_rules import Key
from chaos.cluster.sim.invariants.group_commits import OFFSETS_TOPIC, GroupCommits
from chaos.cluster.sim.invariants.heartbeats_answered import LetIn
from chaos.cluster.sim.invariants.kept_partition import KeptPartition, Logs, Promised
from chaos.cluster.sim.invariants.known_batches import NOTHING, KnownBatch, holds
from node.broker.broker import Broker
from node.controller.image import Image
from node.ids import ZERO_UUID, LogId, NodeId, Offset
from node.storage.log_directories import LogDirectories
from node.storage.view import LogView
from node.wire.topic_partitions import TopicPartition


class LedByIsr(NamedTuple):
    """By which a replica leads, as it says."""

    partition_epoch: int
    committed: frozenset[int]
    maximal: frozenset[int]


class Begun(NamedTuple):
    """In which step of this life a replica began to lead or to follow, and where its log ended."""

    step: int
    epoch: int
    leads: bool
    end: int


@dataclass(eq=False, slots=True)
class KeptReplicas:
    """What one broker holds, in one life, and what of the metadata log it knows.

    The four that are named `_before` have what this step changed, as it was: answers may be given
    before something changes, or after it.
    """

    node: NodeId
    life: int  # which one of its
    broker: Broker
    metadata: LogView
    logs: dict[Key, KnownBatch]
    had: dict[Key, KnownBatch]  # in its last life, at the end
    lost: str | None = None  # a partition of which it lacks what it had then
    log_starts: dict[Key, Offset] = field(default_factory=dict)  # where records were deleted
    begun: dict[Key, Begun] = field(default_factory=dict)
    isrs: dict[Key, LedByIsr] = field(default_factory=dict)  # of those that it leads
    marks: dict[Key, int] = field(default_factory=dict)  # high watermarks, of those that it leads
    is_damaged: bool = False  # it has found one of its logs to be
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
        """All of it was done, and nothing was looked at."""
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
        """Of a partition that it knows, as it is named in messages."""
        if at.id != ZERO_UUID:
            return (at.id, at.index) if self.image.topics.find(at.id) is not None else None
        topic = self.image.topics.named(at.name)
        return None if topic is None else (topic.id, at.index)

    def has_moved(self, key: Key, step: int) -> bool:
        """Since that step it may lead or follow in another epoch; nor is it judged before it did
        either."""
        begun = self.begun.get(key)
        return begun is None or begun.step >= step or key not in self.logs

    def mark_before(self, key: Key) -> int:
        return self.marks_before.get(key, self.marks[key])

    def start_before(self, key: Key) -> Offset:
        return self.starts_before.get(key, self.log_starts.get(key, Offset(0)))

    def end_before(self, key: Key) -> Offset:
        return self.logs_before.get(key, self.logs[key]).end

    def epoch_before(self, key: Key) -> int | None:
        """None: it was not told of the partition yet."""
        begun = self.begun_before.get(key, self.begun.get(key))
        return None if begun is None else begun.epoch

    @property
    def epoch(self) -> int:
        """The broker epoch of this life; -1 until it is registered."""
        return self.broker.lifecycle.epoch


class BrokerWatch:
    """Of one run. `min_isr` is what topics have that do not say themselves."""

    def __init__(self, min_isr: int, looked: Looked | None = None) -> None:
        self.looked = Counter() if looked is None else looked
        self.changes = CommittedChanges(min_isr, self.looked)
        self.commits = GroupCommits()
        self._partitions: dict[Key, KeptPartition] = {}
        self._newest_lives: dict[NodeId, KeptReplicas] = {}
        self._controllers: dict[NodeId, int] = {}  # which life each is in

    def begin(self, node: NodeId, broker: Broker, metadata: LogView) -> KeptReplicas:
        """Another life of a broker."""
        known = self._newest_lives.get(node)
        life = 1 if known is None else known.life + 1
        had = {} if known is None else known.logs
        held = KeptReplicas(
            node=node, life=life, broker=broker, metadata=metadata, logs={}, had=had
        )
        self._newest_lives[node] = held
        return held

    def begin_controller(self, node: NodeId) -> LetIn:
        """Another life of a controller, of which brokers ask to be let in."""
        life = self._controllers[node] = self._controllers.get(node, 0) + 1
        return LetIn(node, life, self.looked)

    def find(self, held: KeptReplicas, found: LogDirectories) -> None:
        """What it found on its disk. Raises Broken where no log may hold that."""
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
        """Does it keep what groups have committed?"""
        topic = self.changes.image.topics.find(key[0])
        return topic is not None and topic.name == OFFSETS_TOPIC

    def promised(self, key: Key, image: Image) -> Promised | None:
        """As an image has it; None: it knows of no such partition."""
        state = image.topics.partition(*key)
        if state is None:
            return None
        min_isr = self.changes.effective_min_isr(image, key, state)
        return Promised(state=state, min_isr=min_isr, elr=image.has_elr)

    def newest(self, key: Key) -> Promised | None:
        """As whoever has replayed most has it."""
        return self.promised(key, self.changes.image)

    def logs(self, key: Key) -> Logs:
        """Of who is registered as the life that it is. One that is off is as it was in its last
        step: what it forgets then is not known before it comes back, and registers."""
        brokers = self.changes.image.brokers
        logs: Logs = {}
        for node, held in self._newest_lives.items():
            registered = brokers.find(node)
            if registered is not None and registered.broker_epoch == held.epoch:
                logs[node] = held.logs.get(key, NOTHING)
        return logs

    def log_starts(self, key: Key) -> dict[NodeId, Offset]:
        """Where the logs of `logs` begin, of those that have one."""
        held = {node: self._newest_lives[node] for node in self.logs(key)}
        return {n: one.log_starts[key] for n, one in held.items() if key in one.logs}

    def log_of(self, key: Key, node: NodeId, epoch: int) -> KnownBatch | None:
        """Of a broker in that broker epoch; None: it is in another life by now."""
        held = self._newest_lives.get(node)
        if held is None or held.epoch != epoch:
            return None
        return held.logs.get(key, NOTHING)


def key_of(log: LogId, topic: UUID) -> Key:
    return topic, int(log.rpartition("-")[2])
