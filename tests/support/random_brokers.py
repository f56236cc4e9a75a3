"""Whatever brokers and operators can ask of a controller, at random, and what it makes of it.

Each decision is replayed twice: as it is, by the controller, and from its bytes, by a follower,
which now and then begins anew from a snapshot; and now and then the controller goes on as a new
process does, from the log alone. Both must have the same image after every step, and what was
answered must be what it says.
"""

import random
from collections.abc import Callable
from uuid import UUID

from node.controller.decision import elects_uncleanly
from node.controller.image import Image, Partition, Topic
from node.controller.partitions import elections
from node.errors import ErrorCode
from node.ids import NodeId
from node.records.metadata import decode_metadata, encode_metadata
from node.wire.alter_partition import (
    AlteredPartition,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AssignDirectoriesRequest,
    AssignedReplica,
    IsrMember,
)
from node.wire.apis import Response, WriteRequest
from node.wire.configs import AlterConfigsRequest, ConfigChange, ResourceChange
from node.wire.produce import AllocateProducerIdsRequest
from node.wire.reassignments import (
    PREFERRED,
    UNCLEAN,
    AlterReassignmentsRequest,
    ElectLeadersRequest,
    NamedPartition,
    Reassignment,
)
from node.wire.registration import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
    UnregisterBrokerRequest,
)
from node.wire.topic_changes import (
    CreatePartitionsRequest,
    DeletedTopic,
    DeleteTopicsRequest,
    WantedPartitions,
)
from tests.support.brokers import Brokers

IDS = (1, 2, 3, 4, 5)
DISKS = tuple(UUID(int=(1 << 93) + number) for number in range(2))  # of each broker, by its id
MIN_ISR, UNCLEAN_ELECTION = "min.insync.replicas", "unclean.leader.election.enable"
TOPIC, BROKER = 2, 4


class RandomBrokers:
    """`ends` are the faults that ended lives of brokers, in order; `restarts` and `snapshots`
    count what happened to the controller and to its follower."""

    def __init__(self, seed: str, *, elr: bool) -> None:
        self.rng = random.Random(seed)
        self.brokers = Brokers(elr=elr)
        self.ends: list[tuple[str, int]] = []
        self.restarts = self.snapshots = 0
        self.follower = Image()
        self._followed = 0  # batches
        self._begun: set[int] = set()  # brokers that registered at all
        for broker in IDS:
            self._register(broker, clean=False)
            self.brokers.beat(broker)
        self.brokers.create("t", (1, 2, 3), min_insync_replicas="2")
        self.brokers.create("u", (2, 3, 4), (3, 4, 5), min_insync_replicas="2")
        self.brokers.create("v", (4, 5, 1, 2), min_insync_replicas="3")
        self.follow()

    @property
    def image(self) -> Image:
        return self.brokers.image

    def step(self) -> None:
        """One thing happens, and everybody follows."""
        self.rng.choices([act for act, _ in _ACTS], [weight for _, weight in _ACTS])[0](self)
        self.follow()

    def follow(self) -> None:
        level = self.image.metadata_version
        for batch in self.brokers.history[self._followed :]:
            for record in batch:
                self.follower.replay(decode_metadata(encode_metadata(record, level)))
        self._followed = len(self.brokers.history)
        assert content(self.follower) == content(self.image), "decided and replayed differ"

    def ask(self, request: WriteRequest) -> Response:
        answer = self.brokers.ask(request)
        self._check(request, answer)
        return answer

    # --- what is answered is so ---

    def _check(self, request: WriteRequest, answer: Response) -> None:
        match answer:
            case AlterPartitionResponse(results=results):
                for each in results:
                    found = self.image.topics.partition(each.topic, each.index)
                    if each.error == ErrorCode.NONE:
                        assert found is not None
                        assert (each.isr, each.leader) == (found.isr, found.leader)
                        assert each.leader_epoch == found.leader_epoch
                        assert each.partition_epoch == found.partition_epoch
            case BrokerHeartbeatResponse(error=ErrorCode.NONE):
                assert isinstance(request, BrokerHeartbeatRequest)
                broker = self.image.brokers.find(request.broker)
                assert broker is not None
                assert broker.fenced == answer.is_fenced
                if answer.should_shut_down:
                    assert not any(
                        each.leader == request.broker for _, each in self.image.topics.partitions()
                    )
            case _:
                pass

    # --- what happens ---

    def _register(self, broker: int, *, clean: bool, **changes: object) -> None:
        known = self.image.brokers.find(broker)
        disks = tuple(UUID(int=disk.int + 16 * broker) for disk in DISKS)
        answer = self.brokers.register(broker, clean=clean, directories=disks, **changes)
        assert isinstance(answer, BrokerRegistrationResponse)
        if answer.error == ErrorCode.NONE:
            now = self.image.brokers.find(broker)
            assert now is not None
            assert now.broker_epoch == answer.epoch
            is_new = known is None or known.incarnation_id != now.incarnation_id
            if is_new and broker in self._begun:
                self.ends.append(("stop" if clean else "power-off", broker))
            self._begun.add(broker)

    def _come_back(self) -> None:
        """It is fenced, or was silent so long that it may be replaced before it is."""
        broker = self.rng.choice(IDS)
        self._register(broker, clean=self.rng.random() < 0.4)
        if self.rng.random() < 0.7:
            self._beat(broker)

    def _come_back_early(self) -> None:
        """Nobody was fenced meanwhile: the controller had other things to do."""
        broker = self.rng.choice(IDS)
        self.brokers.now_ns += (self.brokers.settings.session_ms + 1) * 1_000_000
        for other in IDS:
            if other != broker and self.image.brokers.is_active(other):
                self._beat(other)
        self._register(broker, clean=self.rng.random() < 0.4)

    def _register_again(self) -> None:
        """The same life: its answer was lost."""
        broker = self.rng.choice(IDS)
        known = self.image.brokers.find(broker)
        if known is not None:
            self._register(broker, clean=False, incarnation=known.incarnation_id)

    def _fence(self) -> None:
        broker = self.rng.choice(IDS)
        known = self.image.brokers.find(broker)
        if known is not None and not known.fenced:
            self.brokers.fence(broker)

    def _some_heartbeat(self) -> None:
        rng = self.rng
        self._beat(rng.choice(IDS), shutdown=rng.random() < 0.1, fence=rng.random() < 0.1)

    def _beat(self, broker: int, *, shutdown: bool = False, fence: bool = False) -> None:
        known = self.image.brokers.find(broker)
        if known is None:
            return
        offline = known.log_dirs[1:] if self.rng.random() < 0.05 else ()
        self.ask(
            BrokerHeartbeatRequest(
                broker=NodeId(broker),
                epoch=known.broker_epoch,
                metadata_offset=self.brokers.offset - 1,
                want_fence=fence,
                want_shutdown=shutdown,
                offline=offline,
            )
        )

    def _unregister(self) -> None:
        self.ask(UnregisterBrokerRequest(broker=NodeId(self.rng.choice(IDS))))

    def _propose(self) -> None:
        """A leader; of anybody, in the lives that they are in or were."""
        led = [(key, each) for key, each in self.image.topics.partitions() if each.has_leader]
        if not led:
            return
        key, found = self.rng.choice(led)
        others = [each for each in found.replicas if each != found.leader]
        isr = (found.leader, *self.rng.sample(others, self.rng.randrange(len(others) + 1)))
        old = self.rng.random() < 0.1
        proposal = AlteredPartition(
            topic=key[0],
            index=key[1],
            leader_epoch=found.leader_epoch - (self.rng.random() < 0.05),
            partition_epoch=found.partition_epoch - (self.rng.random() < 0.05),
            isr=tuple(
                IsrMember(broker=NodeId(each), epoch=self.brokers.epoch(each) - old) for each in isr
            ),
            recovery=found.recovery if len(isr) == 1 else 0,
        )
        leader = NodeId(found.leader)
        repeated = (proposal,) * self.rng.choice((1, 1, 1, 2))
        self.ask(
            AlterPartitionRequest(
                broker=leader, epoch=self.brokers.epoch(leader), partitions=repeated
            )
        )

    def _create(self) -> None:
        count = self.rng.randrange(1, 5)
        least = str(max(2, count - 1))
        replicas = tuple(self.rng.sample(IDS, count))
        self.brokers.create(self.rng.choice("tuvw"), replicas, min_insync_replicas=least)

    def _delete(self) -> None:
        if len(self.image.topics.all()) > 1:
            asked = DeletedTopic(name=self._topic().name)
            self.ask(DeleteTopicsRequest(topics=(asked,)))

    def _add_partitions(self) -> None:
        topic = self._topic()
        wanted = WantedPartitions(topic=topic.name, count=topic.partitions + 1)
        if topic.partitions < 4:
            self.ask(CreatePartitionsRequest(topics=(wanted,)))

    def _reassign(self) -> None:
        named, _ = self._partition()
        cancel = self.rng.random() < 0.3
        targets = tuple(map(NodeId, self.rng.sample(IDS, self.rng.randrange(1, 5))))
        asked = Reassignment(partition=named, replicas=None if cancel else targets)
        self.ask(
            AlterReassignmentsRequest(reassignments=(asked,), may_resize=self.rng.random() < 0.5)
        )

    def _assign_disk(self) -> None:
        named, found = self._partition()
        topic = self.image.topics.named(named.topic)
        assert topic is not None
        broker = self.rng.choice(found.replicas)
        disk = UUID(int=self.rng.choice(DISKS).int + 16 * broker)
        replica = AssignedReplica(directory=disk, topic=topic.id, index=named.index)
        self.ask(
            AssignDirectoriesRequest(
                broker=NodeId(broker), epoch=self.brokers.epoch(broker), replicas=(replica,)
            )
        )

    def _configure(self) -> None:
        key, value = self.rng.choice(
            [(MIN_ISR, "1"), (MIN_ISR, "2"), (MIN_ISR, "2"), (MIN_ISR, None), (MIN_ISR, "3")]
        )
        kind, name = self.rng.choice([(TOPIC, self._topic().name), (BROKER, "")])
        change = ConfigChange(name=key, operation=0 if value else 1, value=value)
        self._alter(kind, name, change)

    def _allow_unclean(self) -> None:
        value = self.rng.choice(("true", "false", "false"))
        change = ConfigChange(name=UNCLEAN_ELECTION, operation=0, value=value)
        self._alter(TOPIC, self._topic().name, change)

    def _alter(self, kind: int, name: str, change: ConfigChange) -> None:
        resource = ResourceChange(type=kind, name=name, changes=(change,))
        self.ask(AlterConfigsRequest(resources=(resource,), validate_only=False))

    def _elect(self) -> None:
        """Uncleanly only where that is allowed: the judge does not know what an operator asked."""
        named, _ = self._partition()
        topic = self.image.topics.named(named.topic)
        assert topic is not None
        if elects_uncleanly(self.image, topic, self.brokers.settings.unclean):
            asked = ElectLeadersRequest(kind=UNCLEAN, partitions=(named, named))
        else:
            asked = ElectLeadersRequest(
                kind=PREFERRED, partitions=self.rng.choice((None, (named, named)))
            )
        self.ask(asked)

    def _elect_periodically(self) -> None:
        kind = self.rng.choice((elections.unclean, elections.preferred))
        self.brokers.apply(list(kind(self.brokers.context())))

    def _allocate(self) -> None:
        broker = self.rng.choice(IDS)
        self.ask(
            AllocateProducerIdsRequest(broker=NodeId(broker), epoch=self.brokers.epoch(broker))
        )

    def _fail_over(self) -> None:
        """The next controller has what the follower has."""
        self.restarts += 1
        self.brokers.image = self.follower.copy()
        self.brokers.fail_over()

    def _load_snapshot(self) -> None:
        self.snapshots += 1
        level = self.image.metadata_version
        self.follower = Image()
        for record in self.image.records():
            self.follower.replay(decode_metadata(encode_metadata(record, level)))

    # --- by chance ---

    def _topic(self) -> Topic:
        return self.rng.choice(self.image.topics.all())

    def _partition(self) -> tuple[NamedPartition, Partition]:
        topic = self._topic()
        index = self.rng.randrange(topic.partitions)
        found = self.image.topics.partition(topic.id, index)
        assert found is not None
        return NamedPartition(topic=topic.name, index=index), found


_ACTS: list[tuple[Callable[[RandomBrokers], None], int]] = [
    (RandomBrokers._come_back, 16),
    (RandomBrokers._come_back_early, 3),
    (RandomBrokers._register_again, 3),
    (RandomBrokers._fence, 16),
    (RandomBrokers._some_heartbeat, 20),
    (RandomBrokers._unregister, 1),
    (RandomBrokers._propose, 40),
    (RandomBrokers._create, 3),
    (RandomBrokers._delete, 1),
    (RandomBrokers._add_partitions, 2),
    (RandomBrokers._reassign, 8),
    (RandomBrokers._assign_disk, 6),
    (RandomBrokers._configure, 3),
    (RandomBrokers._allow_unclean, 2),
    (RandomBrokers._elect, 3),
    (RandomBrokers._elect_periodically, 2),
    (RandomBrokers._allocate, 1),
    (RandomBrokers._fail_over, 3),
    (RandomBrokers._load_snapshot, 3),
]


def content(image: Image) -> set[str]:
    return {repr(record) for record in image.records()}
