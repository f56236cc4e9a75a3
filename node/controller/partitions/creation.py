"""CreatePartitions, and the placement and checks of the replicas of new partitions."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field

from node import limits
from node.controller import decision
from node.controller.decision import Decision, DecisionContext, RefusedError
from node.controller.image import Image, Partition, PartitionKey, Topic
from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.records.metadata import PartitionRecord, RegisterBrokerRecord
from node.wire.topic_changes import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    NewPartitionsResult,
    WantedPartitions,
)

# Placement of the replicas of new partitions (Kafka's `StripedReplicaPlacer`).
#
# Racks take turns, and within a rack its brokers: the next partition begins one rack and one broker
# further. A fenced broker is used only if its rack has no other left, and never first: the first
# replica is to lead. A broker in controlled shutdown is not used at all.


@dataclass(slots=True)
class _Round:
    """Brokers in turn, each once per round."""

    brokers: list[int]
    offset: int = 0
    round: int = 0
    taken: int = 0

    def next(self, round_: int) -> int | None:
        if self.round != round_:
            self.round, self.taken = round_, 0
            self.offset = (self.offset + 1) % max(len(self.brokers), 1)
        if self.taken >= len(self.brokers):
            return None
        self.taken += 1
        return self.brokers[(self.taken - 1 + self.offset) % len(self.brokers)]


@dataclass(slots=True)
class _Rack:
    unfenced: _Round = field(default_factory=lambda: _Round([]))
    fenced: _Round = field(default_factory=lambda: _Round([]))

    def next(self, round_: int) -> int | None:
        found = self.unfenced.next(round_)
        return self.fenced.next(round_) if found is None else found


def place(
    brokers: Sequence[RegisterBrokerRecord], partitions: int, replication: int, rng: random.Random
) -> list[tuple[int, ...]]:
    """The replicas of each partition, the preferred leader first. Raises RefusedError."""
    usable = [each for each in brokers if not each.in_controlled_shutdown]
    _check(usable, replication)
    placer = _Placer(usable, rng)
    return [placer.place(replication) for _ in range(partitions)]


def _check(usable: Sequence[RegisterBrokerRecord], replication: int) -> None:
    most = limits.MAX_REPLICATION
    reached = "the target replication factor of {} cannot be reached because only {} broker(s) are"
    if replication > most:
        why = f"{most} is the most here."
    elif replication > len(usable):
        why = f"{reached.format(replication, len(usable))} registered."
    elif all(each.fenced for each in usable):
        why = "All brokers are currently fenced."
    else:
        return
    raise RefusedError(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        f"Unable to replicate the partition {replication} time(s): {why}",
    )


class _Placer:
    def __init__(self, usable: Sequence[RegisterBrokerRecord], rng: random.Random) -> None:
        self._rng = rng
        self._racks: dict[str, _Rack] = {}
        for each in usable:
            rack = self._racks.setdefault(each.rack or "", _Rack())
            (rack.fenced if each.fenced else rack.unfenced).brokers.append(each.broker_id)
        for round_ in self._rounds():
            round_.brokers.sort()
            round_.offset = rng.randrange(len(round_.brokers))
        self._names = sorted(self._racks)
        self._unfenced = sum(not each.fenced for each in usable)
        self._offset = rng.randrange(len(self._names))
        self._round = 0

    def place(self, replication: int) -> tuple[int, ...]:
        """One partition."""
        if self._round == self._unfenced and self._unfenced > 1:
            self._shuffle()
        racks = [self._racks[name] for name in self._names]
        start = self._offset % len(racks)
        order = racks[start:] + racks[:start]
        first = next(rack for rack in order if rack.unfenced.brokers)
        leader = first.unfenced.next(self._round)
        assert leader is not None, "a round begins with all of its brokers"
        found = [leader]
        # The leader's rack had its turn, and the others come before it again.
        skipped = first
        while len(found) < replication:
            for rack in order:
                broker = None if rack is skipped else rack.next(self._round)
                skipped = _NO_RACK if rack is skipped else skipped
                if broker is not None and len(found) < replication:
                    found.append(broker)
        self._round += 1
        self._offset = start + 1
        return tuple(found)

    def _shuffle(self) -> None:
        """All assignments were used: shuffle so that they do not repeat."""
        self._rng.shuffle(self._names)
        for round_ in self._rounds():
            self._rng.shuffle(round_.brokers)
        self._round = 0

    def _rounds(self) -> list[_Round]:
        """One round per rack that has brokers."""
        every = [each for rack in self._racks.values() for each in (rack.unfenced, rack.fenced)]
        return [each for each in every if each.brokers]


_NO_RACK = _Rack()


# Checks of replica assignments that a client names, and the partitions that result.


Places = Sequence[tuple[int, ...]]


def check_assignment(image: Image, replicas: tuple[int, ...], count: int | None = None) -> None:
    """Raises RefusedError. `count`: the required number, as of other partitions."""
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
    """Each has a replica that can lead (KIP-841)."""
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
    """One at each of the places. The first ISR contains only active replicas (KIP-841)."""
    brokers = {broker for replicas in places for broker in replicas}
    active = {broker for broker in brokers if image.brokers.is_active(broker)}
    directories = {broker: decision.first_directory(image, broker) for broker in brokers}
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


def create(context: DecisionContext, request: CreatePartitionsRequest) -> Decision:
    """Per topic all or none; a refused topic does not affect others. A repeated topic is refused
    once."""
    records: list[PartitionRecord] = []
    results: list[NewPartitionsResult] = []
    room = room_for_partitions(context.image)
    requested = Counter(each.topic for each in request.topics)
    named = {each.topic: each for each in request.topics}  # in the order of the request
    for wanted in named.values():
        try:
            if requested[wanted.topic] > 1:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            records += _create(context, wanted, room - len(records))
            results.append(NewPartitionsResult(topic=wanted.topic))
        except RefusedError as refused:
            results.append(
                NewPartitionsResult(
                    topic=wanted.topic, error=refused.error, message=refused.message
                )
            )
    response = CreatePartitionsResponse(results=tuple(results))
    return Decision(records=records, response=response, only_validated=request.validate_only)


def _create(context: DecisionContext, wanted: WantedPartitions, room: int) -> list[PartitionRecord]:
    """Raises RefusedError."""
    image = context.image
    topic = image.topics.named(wanted.topic)
    if topic is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    added = wanted.count - topic.partitions
    if added <= 0:
        why = f"The topic has {topic.partitions} partition(s); {wanted.count} is not an increase."
        raise RefusedError(ErrorCode.INVALID_PARTITIONS, why)
    check_room(added, room)
    replication = _replication(image, topic)
    if wanted.assignments is not None:
        places = _assigned(image, wanted.assignments, added, replication)
    else:
        places = place(image.brokers.all(), added, replication, context.rng)
        require_active(image, places, ErrorCode.INVALID_REPLICATION_FACTOR)
    keys = [(topic.id, index) for index in range(topic.partitions, wanted.count)]
    return list(new_partitions(image, keys, places))


def _replication(image: Image, topic: Topic) -> int:
    """That of its first partition."""
    first = image.topics.partition(topic.id, 0)
    assert first is not None, f"{topic} has no partitions"
    return len(first.replicas)


def _assigned(
    image: Image, assignments: tuple[tuple[int, ...], ...], added: int, replication: int
) -> Places:
    if len(assignments) != added:
        why = f"{added} partition(s) are added, and {len(assignments)} are assigned."
        raise RefusedError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    for replicas in assignments:
        check_assignment(image, replicas, replication)
    require_active(image, assignments, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    return assignments
