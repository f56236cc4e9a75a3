"""Elections that operators request of unclean recovery (ElectLeaders 3, KIP-966, part two)."""

from node.config import RecoveryStrategy
from node.controller.decision import DecisionContext, RefusedError, recovers
from node.controller.elections import (
    every_partition,
    find_leaderless,
    over_limit,
    over_limit_result,
    served_of,
)
from node.controller.image import PartitionKey
from node.controller.recovery_rules import may_recover
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
