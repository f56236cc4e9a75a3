"""The inputs and the result of a decision: records, and the response once they are committed.

Also the questions about replicas that several decisions share: eligibility, disks, minimum ISR.
"""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol
from uuid import UUID

from node import limits
from node.config import BrokerSettings, Own, RecoveryStrategy
from node.controller.image import Image, Partition, Topic
from node.controller.image.configurations import CLUSTER, TOPIC
from node.errors import ErrorCode
from node.ids import ZERO_UUID, NodeId
from node.lazy_dataclass import dataclass
from node.records.metadata import DIRECTORIES, MetadataRecord
from node.wire.apis import Response


class RefusedError(Exception):
    """A request, or a part of it, cannot be done as asked; becomes its result."""

    def __init__(self, error: ErrorCode, message: str = "") -> None:
        super().__init__(message)
        self.error = error
        self.message = message[: limits.MAX_MESSAGE_CHARACTERS]


class Sessions(Protocol):
    """The brokers' heartbeats, known to the active controller only."""

    def is_live(self, broker: int, now_ns: int) -> bool:
        """Is it unfenced, and did it send a heartbeat within its session?"""

    def metadata_offsets(self) -> Mapping[int, int]:
        """The metadata offsets that brokers reported."""

    def shutdown_offset(self, broker: int) -> int | None:
        """The offset that other brokers must reach before its controlled shutdown may end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionContext:
    """`next_offset` is greater than that of every record that is in the image, or is yet to be
    appended."""

    image: Image
    settings: BrokerSettings
    own: Own  # the node that decides
    cluster_id: str
    sessions: Sessions
    next_offset: int
    now_ns: int
    rng: random.Random  # for topic ids and replica placement
    # Voters that did not report support for a kraft.version; None where voters do not report it.
    voters_without: Callable[[int], Sequence[NodeId] | None]

    def after(self, records: Sequence[MetadataRecord]) -> "DecisionContext":
        """The context for the rest of the same request, after these records."""
        image = self.image.copy()
        for record in records:
            image.replay(record)
        return replace(self, image=image)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`only_validated`: the response is as if it were done, and nothing is written."""

    records: Sequence[MetadataRecord]
    response: Response
    only_validated: bool = False


# Facts about a replica in the image: may it lead, is its disk there, which disk is assigned.


# Directory ids that stand for no directory (`DirectoryId`).
MIGRATING, UNASSIGNED, LOST = ZERO_UUID, UUID(int=1), UUID(int=2)
RESERVED = 100  # ids below are reserved

MIN_ISR = "min.insync.replicas"
UNCLEAN_ELECTION = "unclean.leader.election.enable"
RECOVERY_STRATEGY = "unclean.recovery.strategy"

Acceptable = Callable[[int], bool]


def acceptable(image: Image, partition: Partition, active: Acceptable) -> Acceptable:
    """The replicas that may lead: those that are active, on a disk that is there."""

    def accepts(broker: int) -> bool:
        return active(broker) and _is_online(image, partition, broker)

    return accepts


def _is_online(image: Image, partition: Partition, broker: int) -> bool:
    registration = image.brokers.find(broker)
    directory = partition.directory(broker) if broker in partition.replicas else UNASSIGNED
    return registration is None or is_there(registration.log_dirs, directory)


def is_there(known: Collection[UUID], directory: UUID) -> bool:
    """Is it a disk that the broker has, as far as known? `known`: those that it registered with;
    none if metadata.version did not know directories then."""
    if directory in (MIGRATING, UNASSIGNED):
        return True
    return directory != LOST and (not known or directory in known)


def first_directory(image: Image, broker: int) -> UUID:
    """The directory of a new replica: the broker assigns it, if it has several."""
    if image.metadata_version < DIRECTORIES:
        return MIGRATING
    registration = image.brokers.find(broker)
    known = () if registration is None else registration.log_dirs
    return known[0] if len(known) == 1 else UNASSIGNED


def min_isr(image: Image, topic: Topic, replicas: int, default: int) -> int:
    """The effective min.insync.replicas: at most the number of replicas (KIP-966). `default` is
    this node's configuration."""
    text = image.topic_config(topic.name, MIN_ISR)
    return min(default if text is None else int(text), replicas)


def elects_uncleanly(image: Image, topic: Topic, default: bool) -> bool:
    """`default` is this node's configuration."""
    text = image.topic_config(topic.name, UNCLEAN_ELECTION)
    return default if text is None else text.strip().lower() == "true"


# Unclean recovery (KIP-966): whether there is any, and what a topic asks of it.


def recovers(image: Image, settings: BrokerSettings) -> bool:
    """Is the unclean recovery manager in charge of partitions that have lost all eligible leaders?
    It needs what only the ELR feature records."""
    return settings.recovery_manager and image.has_elr


def recovery_strategy(image: Image, topic: Topic, settings: BrokerSettings) -> RecoveryStrategy:
    """The topic's, else the cluster's, else this node's. On each level a deprecated
    unclean.leader.election.enable stands for a strategy where none is set."""
    for resource in ((TOPIC, topic.name), CLUSTER):
        entries = image.config(resource)
        if RECOVERY_STRATEGY in entries:
            return strategy_named(entries[RECOVERY_STRATEGY])
        if UNCLEAN_ELECTION in entries:
            return _mapped(is_unclean=entries[UNCLEAN_ELECTION].strip().lower() == "true")
    return settings.recovery_strategy or _mapped(is_unclean=settings.unclean)


def strategy_named(text: str) -> RecoveryStrategy:
    """In letters of any case. Raises ValueError."""
    return RecoveryStrategy(text.strip().capitalize())


def _mapped(*, is_unclean: bool) -> RecoveryStrategy:
    """KIP-966, "Compatibility, Deprecation, and Migration Plan"."""
    return RecoveryStrategy.AGGRESSIVE if is_unclean else RecoveryStrategy.BALANCED
