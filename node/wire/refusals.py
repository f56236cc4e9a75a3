"""The responses to requests that are refused as a whole, or whose outcome is unknown: the same
error for every part.
"""

from typing import assert_never

from node.errors import ErrorCode
from node.wire.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AssignDirectoriesRequest,
    AssignDirectoriesResponse,
)
from node.wire.apis import ForwardedRequest, ReadRequest, Response, WriteRequest
from node.wire.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    ReplaceConfigsRequest,
    ResourceDescription,
    ResourceResult,
)
from node.wire.produce import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from node.wire.raft_voters import (
    AddVoterRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RemoveVoterRequest,
    VoterChangeResponse,
)
from node.wire.reassignments import (
    AlterReassignmentsRequest,
    AlterReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListReassignmentsRequest,
    ListReassignmentsResponse,
)
from node.wire.registration import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from node.wire.topic_changes import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeletionResult,
    NewPartitionsResult,
    TopicResult,
)
from node.wire.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse


def refused(
    request: WriteRequest | ReadRequest | ForwardedRequest, error: ErrorCode, message: str | None
) -> Response:
    """Nothing of it is done, for one reason; or its outcome is unknown."""
    match request:
        case AlterConfigsRequest(resources=resources) | ReplaceConfigsRequest(resources=resources):
            return AlterConfigsResponse(
                results=tuple(
                    ResourceResult(
                        type=each.type, name=each.name, error=error, message=message or ""
                    )
                    for each in resources
                )
            )
        case DescribeConfigsRequest(resources=queries):
            return DescribeConfigsResponse(
                results=tuple(
                    ResourceDescription(
                        type=each.type, name=each.name, error=error, message=message
                    )
                    for each in queries
                )
            )
        case ListReassignmentsRequest():
            return ListReassignmentsResponse(error=error, message=message)
        case DescribeQuorumRequest():
            return DescribeQuorumResponse(top_error=error)
        case AddVoterRequest() | RemoveVoterRequest():
            return VoterChangeResponse(error=error, message=message)
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
