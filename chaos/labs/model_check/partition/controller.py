"""The controller of the explored partition: what it has decided, as a value, and what it decides
next, by the node's own functions on an image made of that value."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from uuid import UUID

from node.config import BrokerSettings, Own, RecoveryStrategy
from node.controller import heartbeats
from node.controller.decision import MIN_ISR, DecisionContext, recovers
from node.controller.image import Image, Partition
from node.controller.image.configurations import TOPIC
from node.controller.partitions import unclean_elections
from node.controller.partitions.changes import change, rules_for
from node.controller.partitions.unclean_elections import Recovery
from node.controller.writes import decide
from node.ids import ZERO_UUID, NodeId
from node.records.metadata import (
    ELR_VERSION,
    METADATA_VERSION,
    NEWEST,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from node.wire.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from node.wire.apis import Response, WriteRequest
from node.wire.configs import AlterConfigsRequest, ConfigChange, ResourceChange
from node.wire.registration import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    FeatureRange,
)

KEY = (UUID(int=9), 0)
ALL = (NodeId(1), NodeId(2), NodeId(3))
FIRST_LEADER, FIRST_EPOCH = NodeId(1), 1
BASE = 100  # the newest partition epoch: all others are told from it
_NAME, _CLUSTER_ID = "t", "explored"
_FEATURES = (
    FeatureRange(name=METADATA_VERSION, lowest=7, highest=NEWEST),
    FeatureRange(name=ELR_VERSION, lowest=0, highest=1),
)
_SET, _REPLAYED_ALL = 0, 1 << 40
_LATE_NS = 1 << 60  # no session lives until then


@dataclass(frozen=True, slots=True)
class Registered:
    """A broker as the controller knows it."""

    epoch: int
    fenced: bool = False


@dataclass(frozen=True, kw_only=True)
class Decided:
    """What a batch of the metadata log leaves. `brokers`: of 1, 2 and 3."""

    partition: Partition
    min_isr: int
    brokers: tuple[Registered, Registered, Registered]

    @cached_property
    def _hash(self) -> int:
        return hash((self.partition, self.min_isr, self.brokers))

    def __hash__(self) -> int:
        """Made once: states are looked up all the time."""
        return self._hash

    def broker(self, node: NodeId) -> Registered:
        return self.brokers[node - 1]

    @property
    def effective_min_isr(self) -> int:
        return min(self.min_isr, len(self.partition.replicas))

    def may_join(self, broker: int, epoch: int) -> bool:
        """As a broker asks that has replayed this."""
        found = self.brokers[broker - 1]
        return not found.fenced and epoch in (-1, found.epoch)

    def shifted(self, by: int) -> "Decided":
        """With other partition epochs."""
        return _shifted(self, by) if by else self


@cache
def _shifted(decided: Decided, by: int) -> Decided:
    epoch = decided.partition.partition_epoch + by
    return replace(decided, partition=replace(decided.partition, partition_epoch=epoch))


def first_decided(min_isr: int) -> Decided:
    """All are in the ISR."""
    partition = Partition(
        replicas=ALL,
        isr=ALL,
        leader=FIRST_LEADER,
        leader_epoch=FIRST_EPOCH,
        partition_epoch=BASE,
        directories=(ZERO_UUID,) * len(ALL),
    )
    one, two, three = (Registered(epoch=int(node)) for node in ALL)
    return Decided(partition=partition, min_isr=min_isr, brokers=(one, two, three))


class _NoSessions:
    """No broker is heard: each that is to be fenced is, and any may register."""

    def is_live(self, broker: int, now_ns: int) -> bool:
        del broker, now_ns
        return False

    def metadata_offsets(self) -> Mapping[int, int]:
        return {}

    def shutdown_offset(self, broker: int) -> int | None:
        del broker
        return None


_Made = tuple[Decided, Response | None]


class Deciding:
    """`strategy`: of the unclean recovery manager; None: there is none."""

    def __init__(self, strategy: RecoveryStrategy | None) -> None:
        self._settings = BrokerSettings(
            recovery_manager=strategy is not None, recovery_strategy=strategy
        )
        self._made: dict[tuple[Decided, object], _Made] = {}
        self._images: dict[Decided, Image] = {}

    # --- decisions ---

    def alter(
        self, decided: Decided, request: AlterPartitionRequest
    ) -> tuple[Decided, AlterPartitionResponse]:
        after, response = self._asked(decided, request)
        assert isinstance(response, AlterPartitionResponse)
        return after, response

    def configure(self, decided: Decided, min_isr: int) -> Decided:
        set_to = ConfigChange(name=MIN_ISR, operation=_SET, value=str(min_isr))
        request = AlterConfigsRequest(
            resources=(ResourceChange(type=TOPIC, name=_NAME, changes=(set_to,)),),
            validate_only=False,
        )
        return self._asked(decided, request)[0]

    def register(self, decided: Decided, node: NodeId, previous_epoch: int) -> Decided:
        """A new life of the broker; it is fenced. `previous_epoch`: -1 after an unclean end."""
        epoch = _next_epoch(decided)
        request = BrokerRegistrationRequest(
            broker=node,
            cluster_id=_CLUSTER_ID,
            incarnation=_incarnation(epoch),
            listeners=(),
            features=_FEATURES,
            directories=(_directory(node),),
            previous_epoch=previous_epoch,
        )
        after, response = self._asked(decided, request)
        assert isinstance(response, BrokerRegistrationResponse)
        assert response.epoch == epoch, response
        return after

    def unfence(self, decided: Decided, node: NodeId) -> Decided:
        request = BrokerHeartbeatRequest(
            broker=node,
            epoch=decided.broker(node).epoch,
            metadata_offset=_REPLAYED_ALL,
            want_fence=False,
            want_shutdown=False,
        )
        return self._asked(decided, request)[0]

    def fence(self, decided: Decided, node: NodeId) -> Decided:
        def records(context: DecisionContext) -> tuple[Sequence[MetadataRecord], None]:
            return heartbeats.fence(context, node), None

        return self._cached(decided, ("fence", node), records)[0]

    # --- unclean recovery ---

    def may_recover(self, decided: Decided) -> bool:
        """May replicas be asked where their logs end?"""
        strategy, image = self._settings.recovery_strategy, self._image(decided)
        if strategy is None or decided.partition.has_leader:
            return False
        assert recovers(image, self._settings)
        return unclean_elections.may_recover(image, decided.partition, strategy)

    def recovered(self, decided: Decided, recovery: Recovery, *, is_late: bool) -> Decided | None:
        """After the election by these answers; None if more of them have to be waited for."""
        strategy = self._settings.recovery_strategy
        assert strategy is not None, "there is no recovery manager"
        context, found = self._context(decided), decided.partition
        answers = unclean_elections.valid_answers(context, found, recovery)
        winner = unclean_elections.elected(context.image, found, strategy, answers, is_late=is_late)
        if winner is None:
            return None
        record = change(KEY, found, found, rules_for(context, KEY, found, winner=winner))
        assert record is not None, f"{winner} is elected, and changes nothing"
        return self._after(decided, [record])

    # --- how ---

    def _asked(self, decided: Decided, request: WriteRequest) -> _Made:
        def records(context: DecisionContext) -> tuple[Sequence[MetadataRecord], Response]:
            decision = decide(context, request)
            return decision.records, decision.response

        return self._cached(decided, request, records)

    def _cached(
        self,
        decided: Decided,
        what: object,
        records: Callable[[DecisionContext], tuple[Sequence[MetadataRecord], Response | None]],
    ) -> _Made:
        known = self._made.get((decided, what))
        if known is None:
            written, response = records(self._context(decided))
            known = self._after(decided, written), response
            self._made[decided, what] = known
        return known

    def _context(self, decided: Decided) -> DecisionContext:
        return DecisionContext(
            image=self._image(decided),
            settings=self._settings,
            own=Own(),
            cluster_id=_CLUSTER_ID,
            sessions=_NoSessions(),
            next_offset=_next_epoch(decided),
            now_ns=_LATE_NS,
            rng=random.Random(0),  # draws topics' ids, and nothing here
            voters_without=lambda _: None,
        )

    def _image(self, decided: Decided) -> Image:
        known = self._images.get(decided)
        if known is None:
            known = self._images[decided] = Image()
            for record in _records(decided):
                known.replay(record)
        return known

    def _after(self, decided: Decided, records: Sequence[MetadataRecord]) -> Decided:
        if not records:
            return decided
        image = self._image(decided).copy()
        for record in records:
            image.replay(record)
        partition, least = image.topics.partition(*KEY), image.topic_config(_NAME, MIN_ISR)
        found = [image.brokers.find(node) for node in ALL]
        assert partition is not None
        assert least is not None
        one, two, three = (
            Registered(epoch=each.broker_epoch, fenced=each.fenced)
            for each in found
            if each is not None
        )
        return Decided(partition=partition, min_isr=int(least), brokers=(one, two, three))


def _records(decided: Decided) -> list[MetadataRecord]:
    """What an image is made of."""
    return [
        FeatureLevelRecord(name=METADATA_VERSION, feature_level=NEWEST),
        FeatureLevelRecord(name=ELR_VERSION, feature_level=1),
        *(
            RegisterBrokerRecord(
                broker_id=node,
                incarnation_id=_incarnation(broker.epoch),
                broker_epoch=broker.epoch,
                end_points=(),
                features=(),
                rack=None,
                fenced=broker.fenced,
                log_dirs=(_directory(node),),
            )
            for node, broker in zip(ALL, decided.brokers, strict=True)
        ),
        TopicRecord(name=_NAME, topic_id=KEY[0]),
        ConfigRecord(
            resource_type=TOPIC, resource_name=_NAME, name=MIN_ISR, value=str(decided.min_isr)
        ),
        decided.partition.record(KEY, NEWEST),
    ]


def _next_epoch(decided: Decided) -> int:
    return 1 + max(broker.epoch for broker in decided.brokers)


def _incarnation(epoch: int) -> UUID:
    return UUID(int=(1 << 90) + epoch)


def _directory(node: NodeId) -> UUID:
    return UUID(int=(1 << 91) + node)
