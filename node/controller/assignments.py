"""Replicas that somebody names: who may be among them, and the partition that they begin with."""

from collections.abc import Iterator, Sequence

from node import limits
from node.controller import replica_rules
from node.controller.decision import RefusedError
from node.controller.image import Image, Partition, PartitionKey
from node.errors import ErrorCode
from node.records.metadata import PartitionRecord

Places = Sequence[tuple[int, ...]]


def check_assignment(image: Image, replicas: tuple[int, ...], count: int | None = None) -> None:
    """Raises RefusedError. `count`: how many there have to be, as of other partitions."""
    wrong = (
        (not replicas, "it has no replicas"),
        (len(replicas) > limits.MAX_REPLICATION, f"more than {limits.MAX_REPLICATION} replicas"),
        (len(set(replicas)) != len(replicas), "a broker is assigned twice"),
        (any(image.brokers.find(each) is None for each in replicas), "a broker is not registered"),
        (count not in (None, len(replicas)), "replication factors differ"),
    )
    for is_wrong, why in wrong:
        if is_wrong:
            raise RefusedError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment: {why}"
            )


def require_active(image: Image, places: Places, error: ErrorCode) -> None:
    """Somebody can lead each (KIP-841)."""
    if not all(any(map(image.brokers.is_active, replicas)) for replicas in places):
        raise RefusedError(
            error, "All brokers of a partition are currently fenced or in controlled shutdown."
        )


def room_for_partitions(image: Image) -> int:
    """How many partitions a request may add."""
    places = limits.MAX_PLACES // max(len(image.brokers.all()), 1)
    left = limits.MAX_PARTITIONS - image.topics.partition_count()
    return min(limits.MAX_NEW_PARTITIONS, places, left)


def check_room(partitions: int, room: int) -> None:
    """Raises RefusedError."""
    if partitions > room:
        why = f"Too many partitions: there is room for {max(room, 0)} more at once."
        raise RefusedError(ErrorCode.INVALID_PARTITIONS, why)


def new_partitions(
    image: Image, keys: Sequence[PartitionKey], places: Places
) -> Iterator[PartitionRecord]:
    """One at each of the places. Active replicas alone are in its first ISR (KIP-841)."""
    brokers = {broker for replicas in places for broker in replicas}
    active = {broker for broker in brokers if image.brokers.is_active(broker)}
    directories = {broker: replica_rules.first_directory(image, broker) for broker in brokers}
    level = image.metadata_version
    for key, replicas in zip(keys, places, strict=True):
        isr = tuple(broker for broker in replicas if broker in active)
        partition = Partition(
            replicas=replicas,
            isr=isr,
            leader=isr[0],
            directories=tuple(directories[broker] for broker in replicas),
        )
        yield partition.record(key, level)
