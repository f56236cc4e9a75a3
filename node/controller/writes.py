"""Dispatches each write request to the function that decides it; AllocateProducerIds."""

from collections.abc import Sequence
from typing import assert_never

from node import limits
from node.controller import feature_updates, heartbeats, registration, resource_configs
from node.controller.decision import Decision, DecisionContext, RefusedError
from node.controller.partitions import creation as partition_creation
from node.controller.partitions import (
    directory_assignments,
    elections,
    isr_proposals,
    reassignments,
    topics,
)
from node.controller.registration import at_epoch
from node.errors import ErrorCode
from node.records.metadata import MetadataRecord, ProducerIdsRecord, is_too_long, strings
from node.wire.alter_partition import AlterPartitionRequest, AssignDirectoriesRequest
from node.wire.api_versions import UpdateFeaturesRequest
from node.wire.apis import WriteRequest
from node.wire.configs import AlterConfigsRequest, AlterConfigsResponse, ReplaceConfigsRequest
from node.wire.produce import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from node.wire.reassignments import AlterReassignmentsRequest, ElectLeadersRequest
from node.wire.refusals import refused
from node.wire.registration import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ControllerRegistrationRequest,
    UnregisterBrokerRequest,
)
from node.wire.topic_changes import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)

# AllocateProducerIds: each block of producer ids is given away once (KIP-730).


_BLOCK = 1000


def allocate(context: DecisionContext, request: AllocateProducerIdsRequest) -> Decision:
    """Raises RefusedError."""
    at_epoch(context.image, request.broker, request.epoch)
    first = context.image.next_producer_id or 0
    record = ProducerIdsRecord(
        broker_id=request.broker, broker_epoch=request.epoch, next_producer_id=first + _BLOCK
    )
    return Decision(
        records=[record], response=AllocateProducerIdsResponse(first=first, count=_BLOCK)
    )


def decide(context: DecisionContext, request: WriteRequest) -> Decision:
    """The decision. If the whole request is refused, the response is the error, and nothing is
    written."""
    try:
        decision = _decide(context, request)
        _check_strings(decision.records)
        return decision
    except RefusedError as refusal:
        response = refused(request, refusal.error, refusal.message or None)
        return Decision(records=(), response=response)


def _check_strings(records: Sequence[MetadataRecord]) -> None:
    """A longer string could not be returned in older versions, and Apache Kafka could not replay
    it: its generated readers accept none in any version. Raises RefusedError."""
    if any(is_too_long(text) for record in records for text in strings(record)):
        why = f"A text has more than {limits.MAX_STRING_BYTES} bytes."
        raise RefusedError(ErrorCode.INVALID_REQUEST, why)


def _decide(context: DecisionContext, request: WriteRequest) -> Decision:
    match request:
        case AlterConfigsRequest():
            records, results = resource_configs.alter_all(
                context.image, request.resources, context.settings.min_isr
            )
            return Decision(
                records=records,
                response=AlterConfigsResponse(results=results),
                only_validated=request.validate_only,
            )
        case ReplaceConfigsRequest():
            records, results = resource_configs.replace_all(
                context.image, request.resources, context.settings.min_isr
            )
            return Decision(
                records=records,
                response=AlterConfigsResponse(results=results),
                only_validated=request.validate_only,
            )
        case ControllerRegistrationRequest():
            return registration.register_controller(context.image, request)
        case BrokerRegistrationRequest():
            return registration.register_broker(context, request)
        case BrokerHeartbeatRequest():
            return heartbeats.heartbeat(context, request)
        case UnregisterBrokerRequest():
            return registration.unregister(context, request)
        case AlterPartitionRequest():
            return isr_proposals.alter(context, request)
        case AllocateProducerIdsRequest():
            return allocate(context, request)
        case CreateTopicsRequest():
            return topics.create(context, request)
        case CreatePartitionsRequest():
            return partition_creation.create(context, request)
        case AlterReassignmentsRequest():
            return reassignments.alter(context, request)
        case AssignDirectoriesRequest():
            return directory_assignments.assign(context, request)
        case DeleteTopicsRequest():
            return topics.delete(context, request)
        case ElectLeadersRequest():
            return elections.elect(context, request)
        case UpdateFeaturesRequest():
            return feature_updates.update(context, request)
        case _:
            assert_never(request)
