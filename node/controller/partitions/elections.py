"""ElectLeaders: an operator requests elections: of preferred leaders, unclean ones, or of leaders
that the operator names (KIP-966, part two). Also periodic elections. Those of the replica with the
longest log take time, and are held by `unclean_recovery`."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from node.config import BrokerSettings
from node.controller.decision import (
    Decision,
    DecisionContext,
    RefusedError,
    elects_uncleanly,
    recovers,
)
from node.controller.image import Partition, PartitionKey
from node.controller.partitions.changes import Election, change, rules_for
from node.errors import ErrorCode
from node.ids import MS
from node.lazy_dataclass import dataclass
from node.records.metadata import PartitionChangeRecord
from node.wire.reassignments import (
    DESIGNATED,
    MOST_ELECTIONS,
    PREFERRED,
    UNCLEAN,
    ElectionResult,
    ElectLeadersRequest,
    ElectLeadersResponse,
    NamedPartition,
)

# A record, or why there is none.
_Outcome = PartitionChangeRecord | RefusedError


def elect(context: DecisionContext, request: ElectLeadersRequest) -> Decision:
    """If all partitions are requested, those that need no election are left out of the response. A
    partition that is named twice is answered both times."""
    is_designated = request.kind == DESIGNATED and request.has_recovery
    if not (request.kind in (PREFERRED, UNCLEAN) or is_designated):
        why = f"Unknown election type {request.kind}"
        return Decision(records=(), response=_refused(request, why))
    if request.partitions is None:
        if is_designated:
            why = "Partitions must be named, each with the leader that it is to have."
            return Decision(records=(), response=_refused(request, why))
        return _elect_all(context, request.kind)
    served = served_of(request)
    desired = dict(zip(served, request.desired, strict=False))
    if is_designated:
        outcomes = {each: _designated(context, each, desired.get(each)) for each in served}
    else:
        outcomes = {each: _outcome(context, each, request.kind) for each in served}
    results = (
        *(_result(each, outcomes[each]) for each in served),
        *over_limit(request),
    )
    return Decision(
        records=_records(outcomes.values()), response=ElectLeadersResponse(results=results)
    )


def served_of(request: ElectLeadersRequest) -> tuple[NamedPartition, ...]:
    """The partitions of a request that are served: the first thousand, in versions that have that
    limit."""
    named = request.partitions or ()
    return named[:MOST_ELECTIONS] if request.has_recovery else named


def over_limit(request: ElectLeadersRequest) -> tuple[ElectionResult, ...]:
    """The results of the others."""
    return tuple(map(over_limit_result, (request.partitions or ())[len(served_of(request)) :]))


def over_limit_result(partition: NamedPartition) -> ElectionResult:
    why = f"Only the first {MOST_ELECTIONS} partitions of a request are served."
    return ElectionResult(partition=partition, error=ErrorCode.REQUEST_LIMIT_REACHED, message=why)


def _designated(
    context: DecisionContext, requested: NamedPartition, desired: int | None
) -> _Outcome:
    try:
        return _designate(context, requested, desired)
    except RefusedError as refused:
        return refused


def _designate(
    context: DecisionContext, requested: NamedPartition, desired: int | None
) -> PartitionChangeRecord:
    """The operator names the leader of a partition that has none."""
    key, found = find_leaderless(context, requested)
    if desired is None:
        raise RefusedError(
            ErrorCode.INVALID_REQUEST, "The desired leaders do not match the partitions."
        )
    if desired not in found.replicas:
        why = f"Broker {desired} has no replica of {requested.topic}-{requested.index}."
        raise RefusedError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    rules = rules_for(context, key, found, winner=desired)
    if not rules.may_lead(desired):
        why = f"Broker {desired} is not available."
        raise RefusedError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, why)
    record = change(key, found, found, rules)
    assert record is not None, f"{requested} had no leader, and {desired} does not change it"
    return record


def find_leaderless(
    context: DecisionContext, requested: NamedPartition
) -> tuple[PartitionKey, Partition]:
    """Raises RefusedError if there is no such partition, or it has a leader."""
    key, found = _found(context, requested)
    if found.has_leader:
        raise RefusedError(ErrorCode.ELECTION_NOT_NEEDED)
    return key, found


def _elect_all(context: DecisionContext, kind: int) -> Decision:
    outcomes = {each: _outcome(context, each, kind) for each in every_partition(context)}
    results = (_result(each, outcome) for each, outcome in outcomes.items())
    response = ElectLeadersResponse(
        results=tuple(each for each in results if each.error is not ErrorCode.ELECTION_NOT_NEEDED),
        topics=tuple(topic.name for topic in context.image.topics.all()),
    )
    return Decision(records=_records(outcomes.values()), response=response)


def _outcome(context: DecisionContext, requested: NamedPartition, kind: int) -> _Outcome:
    try:
        return _elect_one(context, requested, kind)
    except RefusedError as refused:
        return refused


def _result(requested: NamedPartition, outcome: _Outcome) -> ElectionResult:
    if isinstance(outcome, RefusedError):
        return ElectionResult(partition=requested, error=outcome.error, message=outcome.message)
    return ElectionResult(partition=requested)


def _records(outcomes: Iterable[_Outcome]) -> tuple[PartitionChangeRecord, ...]:
    return tuple(each for each in outcomes if isinstance(each, PartitionChangeRecord))


def _refused(request: ElectLeadersRequest, why: str) -> ElectLeadersResponse:
    """Every partition that was named, with the error of the whole request."""
    error = ErrorCode.INVALID_REQUEST
    results = (
        ElectionResult(partition=each, error=error, message=why)
        for each in request.partitions or ()
    )
    return ElectLeadersResponse(error=error, results=tuple(results))


def every_partition(context: DecisionContext) -> Iterator[NamedPartition]:
    for topic in context.image.topics.all():
        for index in range(topic.partitions):
            yield NamedPartition(topic=topic.name, index=index)


def _elect_one(
    context: DecisionContext, requested: NamedPartition, kind: int
) -> PartitionChangeRecord:
    key, found = _found(context, requested)
    is_led = found.leader == found.replicas[0] if kind == PREFERRED else found.has_leader
    if is_led:
        raise RefusedError(ErrorCode.ELECTION_NOT_NEEDED)
    election = Election.PREFERRED if kind == PREFERRED else Election.UNCLEAN
    record = change(key, found, found, rules_for(context, key, found, election=election))
    if record is None and kind == PREFERRED:
        raise RefusedError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
    if record is None:
        raise RefusedError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
    return record


def _found(context: DecisionContext, requested: NamedPartition) -> tuple[PartitionKey, Partition]:
    topics = context.image.topics
    topic = topics.named(requested.topic)
    found = None if topic is None else topics.partition(topic.id, requested.index)
    if topic is None or found is None:
        raise RefusedError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"No such partition as {requested.topic}-{requested.index}",
        )
    return (topic.id, requested.index), found


# Periodic elections, without a request (`electUnclean` and `electPreferred` of `QuorumController`).
#
# The replicas that may lead can change without any broker coming or going: unclean elections are
# enabled for a leaderless partition, a preferred leader is in the ISR again. So partitions are
# checked periodically.


_AT_ONCE = 1000  # partitions per step; the rest follow at once (MAX_ELECTIONS_PER_IMBALANCE)


def unclean(context: DecisionContext) -> Iterator[PartitionChangeRecord]:
    """For leaderless partitions that allow unclean elections, without a recovery manager."""
    return _elections(context, Election.UNCLEAN, lambda found: not found.has_leader)


def preferred(context: DecisionContext) -> Iterator[PartitionChangeRecord]:
    """For partitions with another leader than the first replica."""
    return _elections(
        context,
        Election.PREFERRED,
        lambda found: found.has_leader and found.leader != found.replicas[0],
    )


def _elections(
    context: DecisionContext, election: Election, wants: Callable[[Partition], bool]
) -> Iterator[PartitionChangeRecord]:
    image = context.image
    for key, found in image.topics.partitions():
        topic = image.topics.find(key[0])
        assert topic is not None, f"{key} is of no topic"
        may = election is not Election.UNCLEAN or (
            elects_uncleanly(image, topic, context.settings.unclean)
            and not recovers(image, context.settings)
        )
        if not (may and wants(found)):
            continue
        record = change(key, found, found, rules_for(context, key, found, election=election))
        if record is not None:
            yield record


@dataclass(slots=True)
class _Task:
    records: Callable[[DecisionContext], Iterator[PartitionChangeRecord]]
    interval_ns: int
    due_ns: int

    def take(self, context: DecisionContext) -> list[PartitionChangeRecord]:
        if context.now_ns < self.due_ns:
            return []
        taken = list(islice(self.records(context), _AT_ONCE))
        self.due_ns = context.now_ns + (0 if len(taken) == _AT_ONCE else self.interval_ns)
        return taken


class PeriodicElections:
    """The schedule of one active controller."""

    def __init__(self, settings: BrokerSettings, now_ns: int) -> None:
        each = (unclean, settings.unclean_retry_ms), (preferred, settings.preferred_check_s * 1000)
        self._tasks = [_Task(records, ms * MS, now_ns + ms * MS) for records, ms in each]
        self._due_ns = min(task.due_ns for task in self._tasks)

    def due(self, context: DecisionContext) -> list[PartitionChangeRecord]:
        """The records of one election that is due, if any; others follow in steps of their own."""
        taken = next((records for task in self._tasks if (records := task.take(context))), [])
        self._due_ns = min(task.due_ns for task in self._tasks)
        return taken

    def deadline_ns(self) -> int:
        return self._due_ns
