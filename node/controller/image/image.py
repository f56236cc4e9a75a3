"""The whole image: all parts, one digest, one `replay`.

The registered brokers and their state (KIP-631, KIP-841), and the finalized features.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import assert_never

from node.controller.image.configurations import CLUSTER, TOPIC, Configs, Resource, broker_key
from node.controller.image.digest import Counter, Digest, Postponed, Uncounted
from node.controller.image.topics import Topics
from node.ids import Endpoint, NodeId
from node.records.metadata import (
    ELR_VERSION,
    METADATA_VERSION,
    AbortTransactionRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnknownRecord,
    UnregisterBrokerRecord,
    ZkMigrationStateRecord,
)

# The levels of finalized features.


_FEATURE = -1  # in place of a resource type


class Features:
    def __init__(self, digest: Counter) -> None:
        self._digest = digest
        self._levels: dict[str, int] = {}

    def copy(self, digest: Counter) -> "Features":
        copy = Features(digest)
        copy._levels = dict(self._levels)
        return copy

    def records(self) -> Iterator[FeatureLevelRecord]:
        """metadata.version first: it decides how the rest is read."""
        for name, level in sorted(self._levels.items(), key=lambda row: row[0] != METADATA_VERSION):
            yield FeatureLevelRecord(name=name, feature_level=level)

    def level(self, name: str) -> int:
        """0 when the feature was never finalized."""
        return self._levels.get(name, 0)

    def levels(self) -> dict[str, int]:
        """The levels of all finalized features."""
        return dict(self._levels)

    def replay(self, record: FeatureLevelRecord) -> None:
        """Level 0 removes it."""
        name, level = record.name, record.feature_level
        before = self._levels.pop(name, None)
        if level:
            self._levels[name] = level
        self._digest.count(_FEATURE, "", name, _feature_text(before), _feature_text(level or None))


def _feature_text(level: int | None) -> str | None:
    return None if level is None else str(level)


_KIND = -3
_FENCE, _UNFENCE = 1, -1

Change = (
    RegisterBrokerRecord
    | UnregisterBrokerRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | BrokerRegistrationChangeRecord
)


class Brokers:
    """Each broker as its registration record, updated by later changes."""

    def __init__(self, digest: Counter) -> None:
        self._digest = digest
        self._registered: dict[int, RegisterBrokerRecord] = {}

    def copy(self, digest: Counter) -> "Brokers":
        copy = Brokers(digest)
        copy._registered = dict(self._registered)
        return copy

    def records(self) -> Iterator[RegisterBrokerRecord]:
        yield from self._registered.values()

    @property
    def is_empty(self) -> bool:
        """Is no broker registered?"""
        return not self._registered

    def find(self, broker: int) -> RegisterBrokerRecord | None:
        return self._registered.get(broker)

    def all(self) -> list[RegisterBrokerRecord]:
        """By id."""
        return [self._registered[broker] for broker in sorted(self._registered)]

    def is_active(self, broker: int) -> bool:
        """Registered, unfenced, and not in controlled shutdown: it may lead, and be in an ISR."""
        found = self._registered.get(broker)
        return found is not None and not found.fenced and not found.in_controlled_shutdown

    def replay(self, record: Change) -> None:
        match record:
            case RegisterBrokerRecord(broker_id=broker):
                self._put(broker, record)
            case UnregisterBrokerRecord(broker_id=broker, broker_epoch=epoch):
                self._at(broker, epoch)
                self._put(broker, None)
            case FenceBrokerRecord(id=broker, epoch=epoch):
                self._put(broker, replace(self._at(broker, epoch), fenced=True))
            case UnfenceBrokerRecord(id=broker, epoch=epoch):
                self._put(broker, replace(self._at(broker, epoch), fenced=False))
            case BrokerRegistrationChangeRecord(broker_id=broker, broker_epoch=epoch):
                self._put(broker, _changed(self._at(broker, epoch), record))
            case _:
                assert_never(record)

    def _at(self, broker: int, epoch: int) -> RegisterBrokerRecord:
        found = self._registered.get(broker)
        assert found is not None, f"a record of broker {broker}, which is not registered"
        assert found.broker_epoch == epoch, f"a record of broker {broker} in epoch {epoch}: {found}"
        return found

    def _put(self, broker: int, after: RegisterBrokerRecord | None) -> None:
        before = self._registered.pop(broker, None)
        if after is not None:
            self._registered[broker] = after
        self._digest.count(_KIND, "", str(broker), _brokers_text(before), _brokers_text(after))


def _changed(
    found: RegisterBrokerRecord, change: BrokerRegistrationChangeRecord
) -> RegisterBrokerRecord:
    cordoned = change.cordoned_log_dirs
    return replace(
        found,
        fenced={_FENCE: True, _UNFENCE: False}.get(change.fenced, found.fenced),
        in_controlled_shutdown=bool(change.in_controlled_shutdown) or found.in_controlled_shutdown,
        log_dirs=change.log_dirs or found.log_dirs,
        cordoned_log_dirs=found.cordoned_log_dirs if cordoned is None else cordoned,
    )


def _brokers_text(registration: RegisterBrokerRecord | None) -> str | None:
    return None if registration is None else repr(registration)


_CONTROLLER, _PRODUCER_IDS = -2, -6
_NO_NODE = -1  # of a block of producer ids: its receiver is not remembered


class Image:
    def __init__(self) -> None:
        self._digest: Digest | Uncounted = (digest := Digest())
        self.configs = Configs(digest)
        self.features = Features(digest)
        self.brokers = Brokers(digest)
        self.topics = Topics(digest)
        self.controllers: dict[
            int, RegisterControllerRecord
        ] = {}  # the newest registration, by node id
        self.next_producer_id: int | None = None  # None: no block was ever allocated
        # Counts replayed records that affect partitions without being partition changes: broker
        # changes and configuration.
        self.surroundings = 0

    def copy(self) -> "Image":
        """A copy to decide from. It has no digest: only committed images are compared."""
        image, digest = Image(), Uncounted()
        image._digest = digest
        image.configs = self.configs.copy(digest)
        image.features = self.features.copy(digest)
        image.brokers = self.brokers.copy(digest)
        image.topics = self.topics.copy(digest)
        image.controllers = dict(self.controllers)
        image.next_producer_id = self.next_producer_id
        return image

    @property
    def digest(self) -> int:
        return self._counted.value

    @property
    def _counted(self) -> Digest:
        assert isinstance(self._digest, Digest), "a copy has no digest"
        return self._digest

    def begin_loading(self) -> None:
        """Records replayed from now on are those of a snapshot."""
        self._counted.begin_loading()
        self.configs.begin_loading()

    def end_loading(self) -> Postponed:
        """The digest of what was replayed since `begin_loading`."""
        loaded = self._counted.end_loading()
        loaded.add(self.configs.end_loading())
        return loaded

    def records(self) -> Iterator[MetadataRecord]:
        """Replayed by an empty image, they make this one."""
        yield from self.features.records()
        yield from self.configs.records()
        yield from self.controllers.values()
        yield from self.brokers.records()
        yield from self.topics.records(self.metadata_version)
        if self.next_producer_id is not None:
            yield ProducerIdsRecord(
                broker_id=_NO_NODE, broker_epoch=-1, next_producer_id=self.next_producer_id
            )

    # --- derived values ---

    @property
    def metadata_version(self) -> int:
        """0 before the first records of a log."""
        return self.features.level(METADATA_VERSION)

    @property
    def has_elr(self) -> bool:
        """Are eligible leader replicas enabled (KIP-966)?"""
        return self.features.level(ELR_VERSION) > 0

    def config(self, resource: Resource) -> dict[str, str]:
        """The configuration of the resource itself."""
        return self.configs.of(resource)

    def topic_config(self, topic: str, key: str) -> str | None:
        """A topic's own value, or the cluster's; None where neither was set."""
        own = self.configs.of((TOPIC, topic)).get(key)
        return self.configs.of(CLUSTER).get(broker_key(key)) if own is None else own

    def feature_level(self, name: str) -> int:
        return self.features.level(name)

    def feature_levels(self) -> dict[str, int]:
        return self.features.levels()

    def controller_endpoints(self) -> dict[NodeId, tuple[Endpoint, ...]]:
        """The registered endpoints of each controller."""
        return {NodeId(node): endpoints_of(record) for node, record in self.controllers.items()}

    # --- replay ---

    def replay(self, record: MetadataRecord | UnknownRecord) -> None:
        """Unknown records are skipped: a node with such an image never decides
        (`node.raft.local_log`)."""
        self.surroundings += isinstance(record, _AROUND_PARTITIONS)
        match record:
            case ConfigRecord():
                self.configs.replay(record)
            case FeatureLevelRecord():
                self.features.replay(record)
            case (
                RegisterBrokerRecord()
                | UnregisterBrokerRecord()
                | FenceBrokerRecord()
                | UnfenceBrokerRecord()
                | BrokerRegistrationChangeRecord()
            ):
                self.brokers.replay(record)
            case TopicRecord():
                self.topics.replay_topic(record)
            case PartitionRecord():
                self.topics.replay_partition(record)
            case PartitionChangeRecord():
                self.topics.replay_change(record)
            case ClearElrRecord():
                self.topics.replay_clear_elr(record)
            case RemoveTopicRecord():
                self.configs.remove((TOPIC, self.topics.remove(record).name))
            case ProducerIdsRecord(next_producer_id=after):
                self._digest.count(
                    _PRODUCER_IDS, "", "", _text(self.next_producer_id), _text(after)
                )
                self.next_producer_id = after
            case RegisterControllerRecord(controller_id=node):
                before = repr(self.controllers[node]) if node in self.controllers else None
                self._digest.count(_CONTROLLER, "", str(node), before, repr(record))
                self.controllers[node] = record
            case BeginTransactionRecord() | EndTransactionRecord() | AbortTransactionRecord():
                # Our transactions lie within one batch, which is atomic: none is left open.
                pass
            case NoOpRecord() | ZkMigrationStateRecord() | UnknownRecord():
                pass
            case _:
                assert_never(record)


_AROUND_PARTITIONS = (
    ConfigRecord,
    FeatureLevelRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    BrokerRegistrationChangeRecord,
    RemoveTopicRecord,
)
_OF_BROKERS = (
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    BrokerRegistrationChangeRecord,
    TopicRecord,
    PartitionRecord,
    PartitionChangeRecord,
    ClearElrRecord,
    RemoveTopicRecord,
)


def endpoints_of(record: RegisterControllerRecord) -> tuple[Endpoint, ...]:
    """The endpoints that the controller registered."""
    return tuple(Endpoint(name=at.name, host=at.host, port=at.port) for at in record.end_points)


def is_of_brokers(record: MetadataRecord | UnknownRecord) -> bool:
    """Does it change brokers, or replicas on them?"""
    return isinstance(record, _OF_BROKERS)


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)
