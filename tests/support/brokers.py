"""Brokers of an active controller without a quorum: what is decided is replayed at once."""

import random
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from node.config import BrokerSettings, Own
from node.controller.decision import DecisionContext
from node.controller.heartbeats import BrokerSessions, fence
from node.controller.image import Image, Partition
from node.controller.writes import decide
from node.ids import MS, NodeId
from node.records.metadata import ELR_VERSION, METADATA_VERSION, FeatureLevelRecord, MetadataRecord
from node.wire.alter_partition import (
    AlteredPartition,
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrMember,
    PartitionResult,
)
from node.wire.apis import Response, WriteRequest
from node.wire.registration import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    FeatureRange,
    UnregisterBrokerRequest,
)
from node.wire.topic_changes import CreateTopicsRequest, CreateTopicsResponse
from tests.support.assigned_topic import assigned_topic

CLUSTER_ID = "kraft-chaos-cluster-01"
FEATURES = (
    FeatureRange(name=METADATA_VERSION, lowest=7, highest=30),
    FeatureRange(name=ELR_VERSION, lowest=0, highest=1),
)


class Brokers:
    def __init__(self, *, elr: bool = True, level: int = 30, session_ms: int = 9000) -> None:
        self.image = Image()
        self.settings = BrokerSettings(session_ms=session_ms)
        self.now_ns = 0
        self.offset = 0
        self.records: list[MetadataRecord] = []  # of the last decision
        self.history: list[list[MetadataRecord]] = []  # of all of them
        self._rng = random.Random(7)
        self._lives = 0
        self.apply([FeatureLevelRecord(name=METADATA_VERSION, feature_level=level)])
        self.apply([FeatureLevelRecord(name=ELR_VERSION, feature_level=int(elr))])
        self.sessions = BrokerSessions(self.image, session_ms, 0)

    # --- the controller ---

    def context(self) -> DecisionContext:
        return DecisionContext(
            image=self.image,
            settings=self.settings,
            own=Own(),
            cluster_id=CLUSTER_ID,
            sessions=self.sessions,
            next_offset=self.offset,
            now_ns=self.now_ns,
            rng=self._rng,
            voters_without=lambda _: None,
        )

    def apply(self, records: Sequence[MetadataRecord]) -> None:
        self.records = list(records)
        self.history.append(self.records)
        for record in self.records:
            self.image.replay(record)
        self.offset += len(self.records)

    def ask(self, request: WriteRequest) -> Response:
        decision = decide(self.context(), request)
        self.apply(() if decision.only_validated else decision.records)
        if isinstance(request, BrokerHeartbeatRequest):
            self.sessions.heard(self.image, request.broker, request.metadata_offset, self.now_ns)
            found = self.image.brokers.find(request.broker)
            if found is not None and found.in_controlled_shutdown:
                self.sessions.shuts_down_at(request.broker, self.offset - 1)
        else:
            self.sessions.follow(self.image, self.now_ns)
        return decision.response

    def pass_ms(self, milliseconds: int) -> None:
        """Whoever is not heard of is fenced."""
        self.now_ns += milliseconds * MS
        while (broker := self.sessions.expired(self.now_ns)) is not None:
            self.fence(broker)

    def fence(self, broker: int) -> None:
        """Its session is over."""
        self.apply(fence(self.context(), broker))
        self.sessions.follow(self.image, self.now_ns)

    def fail_over(self) -> None:
        """Another controller is active: it knows the log alone."""
        self.sessions = BrokerSessions(self.image, self.settings.session_ms, self.now_ns)

    # --- brokers ---

    def epoch(self, broker: int) -> int:
        found = self.image.brokers.find(broker)
        return -1 if found is None else found.broker_epoch

    def register(
        self, broker: int, *, clean: bool = False, **changes: object
    ) -> BrokerRegistrationResponse:
        """A new life of it."""
        self._lives += 1
        request = BrokerRegistrationRequest(
            broker=NodeId(broker),
            cluster_id=CLUSTER_ID,
            incarnation=UUID(int=(1 << 90) + self._lives),
            listeners=(),
            features=FEATURES,
            directories=(UUID(int=(1 << 91) + broker),),
            previous_epoch=self.epoch(broker) if clean else -1,
        )
        answer = self.ask(replace(request, **changes))  # type: ignore[arg-type]
        assert isinstance(answer, BrokerRegistrationResponse)
        return answer

    def beat(
        self, broker: int, *, offset: int | None = None, fence: bool = False, shutdown: bool = False
    ) -> BrokerHeartbeatResponse:
        answer = self.ask(
            BrokerHeartbeatRequest(
                broker=NodeId(broker),
                epoch=self.epoch(broker),
                metadata_offset=self.offset - 1 if offset is None else offset,
                want_fence=fence,
                want_shutdown=shutdown,
            )
        )
        assert isinstance(answer, BrokerHeartbeatResponse)
        return answer

    def unregister(self, broker: int) -> None:
        self.ask(UnregisterBrokerRequest(broker=NodeId(broker)))

    def come_up(self, *brokers: int, clean: bool = False) -> None:
        for broker in brokers:
            self.register(broker, clean=clean)
            self.beat(broker)

    # --- topics ---

    def create(self, name: str, *replicas: tuple[int, ...], **configs: str) -> CreateTopicsResponse:
        """A partition for each of `replicas`; keys of `configs` with `_` for `.`."""
        settings = {key.replace("_", "."): value for key, value in configs.items()}
        topic = assigned_topic(name, replicas, settings)
        answer = self.ask(CreateTopicsRequest(topics=(topic,)))
        assert isinstance(answer, CreateTopicsResponse)
        return answer

    def partition(self, name: str = "t", index: int = 0) -> Partition:
        topic = self.image.topics.named(name)
        assert topic is not None
        found = self.image.topics.partition(topic.id, index)
        assert found is not None
        return found

    def proposal(self, *isr: int) -> AlteredPartition:
        topic, found = self.image.topics.named("t"), self.partition()
        assert topic is not None
        return AlteredPartition(
            topic=topic.id,
            index=0,
            leader_epoch=found.leader_epoch,
            partition_epoch=found.partition_epoch,
            isr=tuple(IsrMember(broker=NodeId(each), epoch=self.epoch(each)) for each in isr),
        )

    def propose(
        self, *isr: int, by: int | None = None, **changes: object
    ) -> PartitionResult | AlterPartitionResponse:
        """The leader of t-0 proposes an ISR, of brokers in the lives that they are in."""
        proposal = self.proposal(*isr)
        leader = self.partition().leader if by is None else by
        answer = self.ask(
            AlterPartitionRequest(
                broker=NodeId(leader),
                epoch=self.epoch(leader),
                partitions=(replace(proposal, **changes),),  # type: ignore[arg-type]
            )
        )
        assert isinstance(answer, AlterPartitionResponse)
        return answer.results[0] if answer.results else answer

    def put(self, found: Partition, name: str = "t", index: int = 0) -> None:
        """So it is, however it came about."""
        topic = self.image.topics.named(name)
        assert topic is not None
        self.apply([found.record((topic.id, index), self.image.metadata_version)])

    def state(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """ISR, ELR and leader of t-0."""
        found = self.partition()
        return found.isr, found.elr, found.leader
