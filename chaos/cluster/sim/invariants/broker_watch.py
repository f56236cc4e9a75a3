"""The watch over all brokers of a cluster: their replicas, by their writes and their traces.

The contents of a replica follow from the writes that its broker requests. The broker traces in the
same step (`node.trace`) which partition it leads, with which ISR, and how far a high watermark
moved; whether that may be so is decided here again, by the logs of the others and the newest
metadata that any broker has replayed. That metadata is judged as well (`committed_changes`).
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
