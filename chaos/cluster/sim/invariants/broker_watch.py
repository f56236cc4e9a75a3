"""The watch over all brokers of a cluster: their replicas, by what they write and what they tell.

What a replica holds follows from the writes that its broker asks for. Who leads, by which ISR, and
how far a high watermark moved is what the broker tells in the same step (`node.trace`); whether
that may be so is decided here once more, by the logs of the others and the newest metadata that any
broker has replayed. What that metadata says is judged as well (`committed_changes`).
"""

from dataclasses import dataclass
from uuid import UUID

from chaos.cluster.sim.invariants.committed_changes import CommittedChanges
from chaos.cluster.sim.invariants.eligible_rules import Key
from chaos.cluster.sim.invariants.heartbeats_answered import LetIn
from chaos.cluster.sim.invariants.kept_partition import KeptPartition, Logs, Promised
from chaos.cluster.sim.invariants.known_batches import NOTHING, KnownBatch, holds
from node.broker.broker import Broker
from node.controller.image import Image
from node.ids import LogId, NodeId, Offset
from node.storage.log_directories import LogDirectories
from node.storage.view import LogView


@dataclass(eq=False, slots=True)
class KeptReplicas:
    """What one broker holds, in one life, and what of the metadata log it knows."""

    node: NodeId
    life: int  # which one of its
    broker: Broker
    metadata: LogView
    logs: dict[Key, KnownBatch]
    had: dict[Key, KnownBatch]  # in its last life, at the end
    lost: str | None = None  # a partition of which it lacks what it had then

    @property
    def image(self) -> Image:
        return self.broker.follower.image

    @property
    def applied(self) -> Offset:
        """All below is in the image."""
        return self.broker.applied

    @property
    def epoch(self) -> int:
        """The broker epoch of this life; -1 until it is registered."""
        return self.broker.lifecycle.epoch


class BrokerWatch:
    """Of one run. `min_isr` is what topics have that do not say themselves."""

    def __init__(self, min_isr: int) -> None:
        self.changes = CommittedChanges(min_isr)
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
        return LetIn(node, life)

    def find(self, held: KeptReplicas, found: LogDirectories) -> None:
        """What it found on its disk. Raises Broken where no log may hold that."""
        for name in found:
            key = key_of(name, found[name].topic)
            partition, first = self.partition(key), found[name].segments[0].base
            log = partition.before(first)
            for header in found[name].headers():
                log = partition.batches.append(log, header)
            held.logs[key] = log
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

    def log_of(self, key: Key, node: NodeId, epoch: int) -> KnownBatch | None:
        """Of a broker in that broker epoch; None: it is in another life by now."""
        held = self._newest_lives.get(node)
        if held is None or held.epoch != epoch:
            return None
        return held.logs.get(key, NOTHING)


def key_of(log: LogId, topic: UUID) -> Key:
    return topic, int(log.rpartition("-")[2])
