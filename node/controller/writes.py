"""Which decision each request is given to, and what is answered where none can be made."""

from typing import assert_never

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
from node.wire.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from node.wire.apis import Response, WriteRequest
from node.wire.assign_directories import AssignDirectoriesRequest, AssignDirectoriesResponse
from node.wire.broker_lifecycle import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from node.wire.configs import AlterConfigsRequest, AlterConfigsResponse
from node.wire.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from node.wire.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    NewPartitionsResult,
)
from node.wire.create_topics import CreateTopicsRequest, CreateTopicsResponse, TopicResult
from node.wire.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeletionResult
from node.wire.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from node.wire.producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from node.wire.reassignments import AlterReassignmentsRequest, AlterReassignmentsResponse
from node.wire.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse


def decide(situation: Situation, request: WriteRequest) -> Decision:
    """What becomes of it. Refused whole, it is answered with that, and nothing is written."""
    try:
        return _decide(situation, request)
    except RefusedError as refusal:
        answer = refused(request, refusal.error, refusal.message or None)
        return Decision(records=(), answer=answer)


def _decide(situation: Situation, request: WriteRequest) -> Decision:
    match request:
        case AlterConfigsRequest():
            records, results = resource_configs.alter_all(situation.image, request.resources)
            return Decision(
                records=records,
                answer=AlterConfigsResponse(results=results),
                only_validated=request.validate_only,
            )
        case ControllerRegistrationRequest():
            return registration.register(situation.image, request)
        case BrokerRegistrationRequest():
            return broker_registration.register(situation, request)
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


def refused(request: WriteRequest, error: ErrorCode, message: str | None) -> Response:
    """Nothing of it is done, for one reason; or nobody knows whether it will be."""
    match request:
        case AlterConfigsRequest(resources=resources):
            results = resource_configs.refuse_alteration(resources, error, message or "")
            return AlterConfigsResponse(results=results)
        case ControllerRegistrationRequest():
            return ControllerRegistrationResponse(error=error, message=message)
        case BrokerRegistrationRequest():
            return BrokerRegistrationResponse(error=error)
        case BrokerHeartbeatRequest():
            return BrokerHeartbeatResponse(error=error)
        case UnregisterBrokerRequest():
            return UnregisterBrokerResponse(error=error, message=message)
        case AlterPartitionRequest():
            return AlterPartitionResponse(error=error)
        case AllocateProducerIdsRequest():
            return AllocateProducerIdsResponse(error=error)
        case CreateTopicsRequest(topics=topics):
            return CreateTopicsResponse(
                results=tuple(
                    TopicResult(name=topic.name, error=error, message=message) for topic in topics
                )
            )
        case CreatePartitionsRequest(topics=wanted):
            return CreatePartitionsResponse(
                results=tuple(
                    NewPartitionsResult(topic=each.topic, error=error, message=message)
                    for each in wanted
                )
            )
        case AlterReassignmentsRequest(may_resize=may_resize):
            return AlterReassignmentsResponse(error=error, message=message, may_resize=may_resize)
        case AssignDirectoriesRequest():
            return AssignDirectoriesResponse(error=error)
        case DeleteTopicsRequest(topics=deleted):
            return DeleteTopicsResponse(
                results=tuple(
                    DeletionResult(name=each.name, id=each.id, error=error, message=message)
                    for each in deleted
                )
            )
        case ElectLeadersRequest():
            return ElectLeadersResponse(error=error)
        case UpdateFeaturesRequest(updates=updates):
            names = tuple(each.name for each in updates)
            return UpdateFeaturesResponse(error=error, message=message, features=names)
        case _:
            assert_never(request)
