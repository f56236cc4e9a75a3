"""ElectLeaders: an operator wants the preferred leader back, or any leader at all."""

from collections.abc import Iterable, Iterator

from node.controller.decision import Decision, RefusedError, Situation
from node.controller.image import Partition, PartitionKey
from node.controller.isr_updates import rules_for
from node.controller.partition_changes import Election, change
from node.errors import ErrorCode
from node.records.metadata import PartitionChangeRecord
from node.wire.elect_leaders import (
    PREFERRED,
    UNCLEAN,
    ElectionResult,
    ElectLeadersRequest,
    ElectLeadersResponse,
    NamedPartition,
)

# A record, or why there is none.
_Outcome = PartitionChangeRecord | RefusedError


def elect(situation: Situation, request: ElectLeadersRequest) -> Decision:
    """Of all partitions, those that need none are not told of. One that is named twice is answered
    both times."""
    if request.kind not in (PREFERRED, UNCLEAN):
        return Decision(records=(), response=_refused(request))
    if request.partitions is None:
        return _elect_all(situation, request.kind)
    outcomes = {each: _outcome(situation, each, request.kind) for each in request.partitions}
    results = tuple(_result(each, outcomes[each]) for each in request.partitions)
    return Decision(
        records=_records(outcomes.values()), response=ElectLeadersResponse(results=results)
    )


def _elect_all(situation: Situation, kind: int) -> Decision:
    outcomes = {each: _outcome(situation, each, kind) for each in _every(situation)}
    results = (_result(each, outcome) for each, outcome in outcomes.items())
    response = ElectLeadersResponse(
        results=tuple(each for each in results if each.error is not ErrorCode.ELECTION_NOT_NEEDED),
        topics=tuple(topic.name for topic in situation.image.topics.all()),
    )
    return Decision(records=_records(outcomes.values()), response=response)


def _outcome(situation: Situation, requested: NamedPartition, kind: int) -> _Outcome:
    try:
        return _elect_one(situation, requested, kind)
    except RefusedError as refused:
        return refused


def _result(requested: NamedPartition, outcome: _Outcome) -> ElectionResult:
    if isinstance(outcome, RefusedError):
        return ElectionResult(partition=requested, error=outcome.error, message=outcome.message)
    return ElectionResult(partition=requested)


def _records(outcomes: Iterable[_Outcome]) -> tuple[PartitionChangeRecord, ...]:
    return tuple(each for each in outcomes if isinstance(each, PartitionChangeRecord))


def _refused(request: ElectLeadersRequest) -> ElectLeadersResponse:
    """All that was asked for, and each partition that was named."""
    error, why = ErrorCode.INVALID_REQUEST, f"Unknown election type {request.kind}"
    results = (
        ElectionResult(partition=each, error=error, message=why)
        for each in request.partitions or ()
    )
    return ElectLeadersResponse(error=error, results=tuple(results))


def _every(situation: Situation) -> Iterator[NamedPartition]:
    for topic in situation.image.topics.all():
        for index in range(topic.partitions):
            yield NamedPartition(topic=topic.name, index=index)


def _elect_one(situation: Situation, requested: NamedPartition, kind: int) -> PartitionChangeRecord:
    key, found = _found(situation, requested)
    is_led = found.leader == found.replicas[0] if kind == PREFERRED else found.has_leader
    if is_led:
        raise RefusedError(ErrorCode.ELECTION_NOT_NEEDED)
    election = Election.PREFERRED if kind == PREFERRED else Election.UNCLEAN
    record = change(key, found, found, rules_for(situation, key, found, election=election))
    if record is None and kind == PREFERRED:
        raise RefusedError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
    if record is None:
        raise RefusedError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
    return record


def _found(situation: Situation, requested: NamedPartition) -> tuple[PartitionKey, Partition]:
    topics = situation.image.topics
    topic = topics.named(requested.topic)
    found = None if topic is None else topics.partition(topic.id, requested.index)
    if topic is None or found is None:
        raise RefusedError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"No such partition as {requested.topic}-{requested.index}",
        )
    return (topic.id, requested.index), found
