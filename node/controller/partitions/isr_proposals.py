"""AlterPartition: a leader proposes an ISR (KIP-497, KIP-841, KIP-903, KIP-966).

The leader knows which replicas are caught up; the controller knows which may be in an ISR: those on
brokers that are registered, unfenced, not in controlled shutdown, and of the broker epoch in which
they were seen to be caught up. A proposal from outdated state is refused, with a different error
for each kind.
"""

from collections.abc import Sequence
from dataclasses import replace

from node.controller.decision import Decision, DecisionContext, RefusedError
from node.controller.image import Image, Partition, PartitionKey
from node.controller.image.topics import RECOVERING
from node.controller.partitions.changes import change, rules_for
from node.controller.registration import at_epoch
from node.errors import ErrorCode
from node.ids import NodeId
from node.records.metadata import PartitionChangeRecord
from node.records.schemas import NO_LEADER_CHANGE
from node.wire.alter_partition import (
    ANY_EPOCH,
    AlteredPartition,
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrMember,
    PartitionResult,
)


def alter(context: DecisionContext, request: AlterPartitionRequest) -> Decision:
    """Raises RefusedError if the broker epoch is wrong."""
    at_epoch(context.image, request.broker, request.epoch)
    records: list[PartitionChangeRecord] = []
    results: list[PartitionResult] = []
    seen: set[PartitionKey] = set()
    for proposal in request.partitions:
        try:
            if (proposal.topic, proposal.index) in seen:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "Duplicate partition.")
            seen.add((proposal.topic, proposal.index))
            record, result = _alter_one(context, request.broker, proposal)
        except RefusedError as refused:
            results.append(
                PartitionResult(topic=proposal.topic, index=proposal.index, error=refused.error)
            )
            continue
        records += [] if record is None else [record]
        results.append(result)
    return Decision(records=records, response=AlterPartitionResponse(results=tuple(results)))


def _alter_one(
    context: DecisionContext, broker: int, proposal: AlteredPartition
) -> tuple[PartitionChangeRecord | None, PartitionResult]:
    before = _checked(context.image, broker, proposal)
    key = (proposal.topic, proposal.index)
    isr = tuple(int(member.broker) for member in proposal.isr)
    proposed = replace(before, isr=isr, recovery=proposal.recovery)
    record = change(key, before, proposed, rules_for(context, key, before))
    after = before if record is None else before.changed(record)
    if record is not None and record.leader not in (NO_LEADER_CHANGE, broker):
        # It completed a reassignment that leaves this leader out.
        return record, PartitionResult(
            topic=key[0], index=key[1], error=ErrorCode.NEW_LEADER_ELECTED
        )
    return record, PartitionResult(
        topic=key[0],
        index=key[1],
        leader=NodeId(after.leader),
        leader_epoch=after.leader_epoch,
        partition_epoch=after.partition_epoch,
        isr=after.isr,
        recovery=after.recovery,
    )


def _checked(image: Image, broker: int, proposal: AlteredPartition) -> Partition:
    """The partition that the proposal may alter. Raises RefusedError with the first fault."""
    if image.topics.find(proposal.topic) is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_ID)
    found = image.topics.partition(proposal.topic, proposal.index)
    if found is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    isr = [int(member.broker) for member in proposal.isr]
    is_ahead = (
        proposal.leader_epoch > found.leader_epoch
        or proposal.partition_epoch > found.partition_epoch
    )
    wrong = (
        (is_ahead, ErrorCode.NOT_CONTROLLER),
        (proposal.leader_epoch < found.leader_epoch, ErrorCode.FENCED_LEADER_EPOCH),
        (broker != found.leader, ErrorCode.INVALID_REQUEST),
        (proposal.partition_epoch < found.partition_epoch, ErrorCode.INVALID_UPDATE_VERSION),
        (not _is_isr(isr, found), ErrorCode.INVALID_REQUEST),
        (proposal.recovery == RECOVERING and len(isr) > 1, ErrorCode.INVALID_REQUEST),
        (proposal.recovery > found.recovery, ErrorCode.INVALID_REQUEST),
        (not _are_eligible(image, proposal.isr), ErrorCode.INELIGIBLE_REPLICA),
    )
    for is_wrong, error in wrong:
        if is_wrong:
            raise RefusedError(error)
    return found


def _is_isr(isr: Sequence[int], partition: Partition) -> bool:
    return (
        len(set(isr)) == len(isr)
        and set(isr) <= set(partition.replicas)
        and partition.leader in isr
    )


def _are_eligible(image: Image, isr: Sequence[IsrMember]) -> bool:
    """KIP-841, and KIP-903 for the epochs."""
    for member in isr:
        found = image.brokers.find(member.broker)
        if found is None or not image.brokers.is_active(member.broker):
            return False
        if member.epoch not in (ANY_EPOCH, found.broker_epoch):
            return False
    return True
