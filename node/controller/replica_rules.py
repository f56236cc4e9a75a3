"""What the image says of a replica: may it lead, is its disk there, which disk is it to be on."""

from collections.abc import Callable, Collection
from uuid import UUID

from node.controller.image import Image, Partition, Topic
from node.ids import ZERO_UUID
from node.records.metadata_versions import DIRECTORIES

# Directory ids that stand for no directory (`DirectoryId`).
MIGRATING, UNASSIGNED, LOST = ZERO_UUID, UUID(int=1), UUID(int=2)
RESERVED = 100  # ids below

MIN_ISR = "min.insync.replicas"
UNCLEAN_ELECTION = "unclean.leader.election.enable"

Acceptable = Callable[[int], bool]


def acceptable(image: Image, partition: Partition, active: Acceptable) -> Acceptable:
    """Which replicas of it may lead: those that are active, on a disk that is there."""

    def accepts(broker: int) -> bool:
        return active(broker) and _is_online(image, partition, broker)

    return accepts


def _is_online(image: Image, partition: Partition, broker: int) -> bool:
    registration = image.brokers.find(broker)
    directory = partition.directory(broker) if broker in partition.replicas else UNASSIGNED
    return registration is None or is_there(registration.log_dirs, directory)


def is_there(known: Collection[UUID], directory: UUID) -> bool:
    """Is it a disk that the broker has, as far as anybody knows? `known`: those that it registered
    with; none, if that was before metadata.version knew them."""
    if directory in (MIGRATING, UNASSIGNED):
        return True
    return directory != LOST and (not known or directory in known)


def first_directory(image: Image, broker: int) -> UUID:
    """Where a new replica is to be: its broker says, where it has several."""
    if image.metadata_version < DIRECTORIES:
        return MIGRATING
    registration = image.brokers.find(broker)
    known = () if registration is None else registration.log_dirs
    return known[0] if len(known) == 1 else UNASSIGNED


def min_isr(image: Image, topic: Topic, replicas: int, default: int) -> int:
    """The effective one: no more than there are replicas (KIP-966). `default` is what this node is
    configured with."""
    text = image.topic_config(topic.name, MIN_ISR)
    return min(default if text is None else int(text), replicas)


def elects_uncleanly(image: Image, topic: Topic, default: bool) -> bool:
    """`default` is what this node is configured with."""
    text = image.topic_config(topic.name, UNCLEAN_ELECTION)
    return default if text is None else text.strip().lower() == "true"
