"""The rules of unclean recovery (KIP-966, part two): when it is held, which answers count, which
replica is elected. `unclean_recovery` asks the replicas."""

from collections.abc import Iterator, Sequence
from dataclasses import field

from node.config import RecoveryStrategy
from node.controller.decision import DecisionContext, acceptable, recovery_strategy
from node.controller.image import Image, Partition, PartitionKey
from node.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a replica holds, as its broker says in `broker_epoch`. `last_epoch`: of its last record,
    -1 if it has none."""

    broker_epoch: int
    last_epoch: int
    end: int


@dataclass(slots=True, kw_only=True)
class Recovery:
    """Of one partition, in one leader epoch of it."""

    leader_epoch: int
    begun_ns: int
    answers: dict[int, Answer] = field(default_factory=dict)  # by broker
    asked: dict[int, int] = field(default_factory=dict)  # by broker: the number of the request


def may_recover(image: Image, found: Partition, strategy: RecoveryStrategy) -> bool:
    """May replicas be asked now (KIP-966, "Unclean recovery", the order of elections)?"""
    match strategy:
        case RecoveryStrategy.AGGRESSIVE:
            return any(True for _ in active_replicas(image, found))
        case RecoveryStrategy.BALANCED:
            may_lead = acceptable(image, found, image.brokers.is_active)
            is_lost = not (found.isr or found.elr)
            return is_lost and all(map(may_lead, needed_replicas(found)))
        case RecoveryStrategy.NONE:
            return False


def needed_replicas(found: Partition) -> tuple[int, ...]:
    """Those that a Balanced recovery cannot do without."""
    return found.last_known_elr or found.replicas


def active_replicas(image: Image, found: Partition) -> Iterator[int]:
    may_lead = acceptable(image, found, image.brokers.is_active)
    return (each for each in found.replicas if may_lead(each))


def valid_answers(
    context: DecisionContext, found: Partition, recovery: Recovery
) -> dict[int, Answer]:
    """Those of replicas that may lead, and were not restarted since they answered."""
    active = set(active_replicas(context.image, found))
    return {
        broker: each
        for broker, each in recovery.answers.items()
        if broker in active and _epoch(context.image, broker) == each.broker_epoch
    }


def elected(
    image: Image,
    found: Partition,
    strategy: RecoveryStrategy,
    answers: dict[int, Answer],
    *,
    is_late: bool,
) -> int | None:
    """The replica to lead; None while answers are missing. `is_late`: the time-out is over."""
    is_balanced = strategy is RecoveryStrategy.BALANCED
    if is_balanced and not answers.keys() >= set(needed_replicas(found)):
        return None
    is_complete = all(each in answers for each in active_replicas(image, found))
    if not answers or not (is_complete or is_late):
        return None
    return best_of(found.replicas, answers)


def best_of(replicas: Sequence[int], answers: dict[int, Answer]) -> int:
    """The highest leader epoch, then the highest log end offset; then the first in replica
    order, which the KIP does not say."""
    known = [each for each in replicas if each in answers]
    return max(known, key=lambda each: (answers[each].last_epoch, answers[each].end))


def topic_strategy(context: DecisionContext, key: PartitionKey) -> RecoveryStrategy:
    topic = context.image.topics.find(key[0])
    assert topic is not None, f"{key} is of no topic"
    return recovery_strategy(context.image, topic, context.settings)


def partition_at(image: Image, key: PartitionKey) -> Partition:
    found = image.topics.partition(*key)
    assert found is not None, f"{key} is no partition"
    return found


def _epoch(image: Image, broker: int) -> int | None:
    found = image.brokers.find(broker)
    return None if found is None else found.broker_epoch
