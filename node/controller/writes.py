"""Which decision each request is given to."""

from collections.abc import Sequence
from typing import assert_never

from node import limits
from node.controller import (
    broker_registration,
    directory_assignments,
    feature_updates,
    heartbeats,
    isr_proposals,
    leader_elections,
    partition_creation,
    producer_id_blocks,
    reassigning,
    registration,
    resource_configs,
    topic_creation,
)
from node.controller.decision import Decision, RefusedError, Situation
from node.errors import ErrorCode
from node.records.metadata import MetadataRecord
from node.records.strings import is_too_long, strings
from node.wire.alter_partition import AlterPartitionRequest
from node.wire.apis import WriteRequest
from node.wire.assign_directories import AssignDirectoriesRequest
from node.wire.broker_lifecycle import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    UnregisterBrokerRequest,
)
from node.wire.configs import AlterConfigsRequest, AlterConfigsResponse, ReplaceConfigsRequest
from node.wire.controller_registration import (
    ControllerRegistrationRequest,
)
from node.wire.create_partitions import (
    CreatePartitionsRequest,
)
from node.wire.create_topics import CreateTopicsRequest
from node.wire.delete_topics import DeleteTopicsRequest
from node.wire.elect_leaders import ElectLeadersRequest
from node.wire.producer_ids import AllocateProducerIdsRequest
from node.wire.reassignments import AlterReassignmentsRequest
from node.wire.refusals import refused
from node.wire.update_features import UpdateFeaturesRequest


def decide(situation: Situation, request: WriteRequest) -> Decision:
    """What becomes of it. Refused whole, it is answered with that, and nothing is written."""
    try:
        decision = _decide(situation, request)
        _check_strings(decision.records)
        return decision
    except RefusedError as refusal:
        response = refused(request, refusal.error, refusal.message or None)
        return Decision(records=(), response=response)


def _check_strings(records: Sequence[MetadataRecord]) -> None:
    """Nobody could be told of a longer one in older versions, and Apache Kafka could not replay it:
    its generated readers take none in any version. Raises RefusedError."""
    if any(is_too_long(text) for record in records for text in strings(record)):
        why = f"A text has more than {limits.MAX_STRING_BYTES} bytes."
        raise RefusedError(ErrorCode.INVALID_REQUEST, why)


def _decide(situation: Situation, request: WriteRequest) -> Decision:
    match request:
        case AlterConfigsRequest():
            records, results = resource_configs.alter_all(
                situation.image, request.resources, situation.settings.min_isr
            )
            return Decision(
                records=records,
                response=AlterConfigsResponse(results=results),
                only_validated=request.validate_only,
            )
        case ReplaceConfigsRequest():
            records, results = resource_configs.replace_all(
                situation.image, request.resources, situation.settings.min_isr
            )
            return Decision(
                records=records,
                response=AlterConfigsResponse(results=results),
                only_validated=request.validate_only,
            )
        case ControllerRegistrationRequest():
            return registration.register_controller(situation.image, request)
        case BrokerRegistrationRequest():
            return broker_registration.register_broker(situation, request)
        case BrokerHeartbeatRequest():
            return heartbeats.heartbeat(situation, request)
        case UnregisterBrokerRequest():
            return broker_registration.unregister(situation, request)
        case AlterPartitionRequest():
            return isr_proposals.alter(situation, request)
        case AllocateProducerIdsRequest():
            return producer_id_blocks.allocate(situation, request)
        case CreateTopicsRequest():
            return topic_creation.create(situation, request)
        case CreatePartitionsRequest():
            return partition_creation.create(situation, request)
        case AlterReassignmentsRequest():
            return reassigning.alter(situation, request)
        case AssignDirectoriesRequest():
            return directory_assignments.assign(situation, request)
        case DeleteTopicsRequest():
            return topic_creation.delete(situation, request)
        case ElectLeadersRequest():
            return leader_elections.elect(situation, request)
        case UpdateFeaturesRequest():
            return feature_updates.update(situation, request)
        case _:
            assert_never(request)
