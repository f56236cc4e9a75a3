"""The rules of unclean recovery (KIP-966, part two): when it is held, which answers count, which
replica is elected. `unclean_recovery` asks the replicas.

Elections that operators request of unclean recovery (ElectLeaders 3, KIP-966, part two).
"""

from collections.abc import Iterator, Sequence
from dataclasses import field

from node.config import RecoveryStrategy
from node.controller.decision import (
    DecisionContext,
    RefusedError,
    acceptable,
    recovers,
    recovery_strategy,
)
from node.controller.image import Image, Partition, PartitionKey
from node.controller.partitions.elections import (
    every_partition,
    find_leaderless,
    over_limit,
    over_limit_result,
    served_of,
)
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, ConnectionId
from node.lazy_dataclass import dataclass
from node.wire.reassignments import (
    LONGEST_AGGRESSIVE,
    LONGEST_BALANCED,
    MOST_ELECTIONS,
    ElectionResult,
    ElectLeadersRequest,
    ElectLeadersResponse,
    NamedPartition,
)


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


_NO_MANAGER = "unclean.recovery.manager.enabled is false, or eligible leader replicas are off."
_UNAVAILABLE = "Not all replicas are available that a recovery of this kind needs."


@dataclass(slots=True, kw_only=True)
class _Requested:
    """An operator's request. `pending`: its partitions that wait for an election."""

    connection: ConnectionId
    request: ElectLeadersRequest
    strategy: RecoveryStrategy
    deadline_ns: int
    results: dict[NamedPartition, ElectionResult]
    pending: dict[NamedPartition, PartitionKey]
    keys: set[PartitionKey]  # of those

    def response(self) -> ElectLeadersResponse:
        results = tuple(self.results.values())
        if self.request.partitions is not None:
            served = served_of(self.request)
            results = (*(self.results[each] for each in served), *over_limit(self.request))
        return ElectLeadersResponse(results=results)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredElection:
    """The response to an operator, once the elections of this step are committed."""

    connection: ConnectionId
    request: ElectLeadersRequest
    response: ElectLeadersResponse


_STRATEGIES = {
    LONGEST_AGGRESSIVE: RecoveryStrategy.AGGRESSIVE,
    LONGEST_BALANCED: RecoveryStrategy.BALANCED,
}


def asks_for_recovery(request: ElectLeadersRequest) -> bool:
    return request.has_recovery and request.kind in _STRATEGIES


class RequestedRecoveries:
    def __init__(self) -> None:
        self._requested: dict[ConnectionId, _Requested] = {}

    def request(
        self, connection: ConnectionId, request: ElectLeadersRequest, context: DecisionContext
    ) -> None:
        """Answered by `take_answered`."""
        asked = _Requested(
            connection=connection,
            request=request,
            strategy=_STRATEGIES[request.kind],
            deadline_ns=context.now_ns + max(0, request.timeout_ms) * MS,
            results={},
            pending={},
            keys=set(),
        )
        self._requested[connection] = asked
        if request.partitions is None:
            every = every_leaderless(context)
            asked.results = {each: over_limit_result(each) for each in every[MOST_ELECTIONS:]}
            served = every[:MOST_ELECTIONS]
        else:
            served = list(served_of(request))
        for each in served:
            try:
                if not recovers(context.image, context.settings):
                    raise RefusedError(ErrorCode.POLICY_VIOLATION, _NO_MANAGER)
                asked.pending[each] = find_leaderless(context, each)[0]
            except RefusedError as refused:
                asked.results[each] = ElectionResult(
                    partition=each, error=refused.error, message=refused.message
                )
        asked.keys = set(asked.pending.values())

    def take_answered(self, context: DecisionContext) -> list[AnsweredElection]:
        """After `poll`, with its records in the image."""
        answered = []
        for asked in list(self._requested.values()):
            is_late = context.now_ns >= asked.deadline_ns
            for each, key in list(asked.pending.items()):
                result = self._result(context, asked, each, key, is_late=is_late)
                if result is not None:
                    asked.results[each] = result
                    del asked.pending[each]
                    asked.keys.discard(key)
            if not asked.pending:
                del self._requested[asked.connection]
                answered.append(
                    AnsweredElection(
                        connection=asked.connection,
                        request=asked.request,
                        response=asked.response(),
                    )
                )
        return answered

    def _result(
        self,
        context: DecisionContext,
        asked: _Requested,
        partition: NamedPartition,
        key: PartitionKey,
        *,
        is_late: bool,
    ) -> ElectionResult | None:
        """None while it may still be elected."""
        found = context.image.topics.partition(*key)
        if found is None:
            error, why = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic was deleted."
        elif found.has_leader:
            return ElectionResult(partition=partition)
        elif not is_late:
            return None
        elif may_recover(context.image, found, asked.strategy):
            error, why = ErrorCode.REQUEST_TIMED_OUT, "Not all replicas answered in time."
        else:
            error, why = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, _UNAVAILABLE
        return ElectionResult(partition=partition, error=error, message=why)

    def deadline_ns(self) -> int:
        return min((asked.deadline_ns for asked in self._requested.values()), default=NEVER_NS)

    def strategies(self, key: PartitionKey) -> set[RecoveryStrategy]:
        """By which operators ask for the recovery of a partition."""
        return {asked.strategy for asked in self._requested.values() if key in asked.keys}


def every_leaderless(context: DecisionContext) -> list[NamedPartition]:
    """By topic."""
    topics = context.image.topics
    partitions = ((each, topics.named(each.topic)) for each in every_partition(context))
    return [
        each
        for each, topic in partitions
        if topic is not None and not _has_leader(context, (topic.id, each.index))
    ]


def _has_leader(context: DecisionContext, key: PartitionKey) -> bool:
    found = context.image.topics.partition(*key)
    return found is not None and found.has_leader
