"""The whole image: all parts, one digest, one `replay`."""

from collections.abc import Iterator
from typing import assert_never

from node.controller.image.brokers import Brokers, Features
from node.controller.image.configurations import CLUSTER, TOPIC, Configs, Resource, broker_key
from node.controller.image.digest import Digest, Postponed, Uncounted
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
