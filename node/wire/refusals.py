"""The responses to requests that are refused as a whole, or have an unknown outcome: the same
error for every part.
"""

from typing import assert_never

from node.errors import ErrorCode
from node.wire import (
    alter_partition,
    api_versions,
    configs,
    produce,
    raft_voters,
    reassignments,
    registration,
    topic_changes,
)
from node.wire.apis import ForwardedRequest, ReadRequest, Response, WriteRequest


def refused(
    request: WriteRequest | ReadRequest | ForwardedRequest, error: ErrorCode, message: str | None
) -> Response:
    """Nothing of it is done, for one reason; or its outcome is unknown."""
    match request:
        case (
            configs.AlterConfigsRequest(resources=resources)
            | configs.ReplaceConfigsRequest(resources=resources)
        ):
            return configs.AlterConfigsResponse(
                results=tuple(
                    configs.ResourceResult(
                        type=each.type, name=each.name, error=error, message=message or ""
                    )
                    for each in resources
                )
            )
        case configs.DescribeConfigsRequest(resources=queries):
            return configs.DescribeConfigsResponse(
                results=tuple(
                    configs.ResourceDescription(
                        type=each.type, name=each.name, error=error, message=message
                    )
                    for each in queries
                )
            )
        case reassignments.ListReassignmentsRequest():
            return reassignments.ListReassignmentsResponse(error=error, message=message)
        case raft_voters.DescribeQuorumRequest():
            return raft_voters.DescribeQuorumResponse(top_error=error)
        case raft_voters.AddVoterRequest() | raft_voters.RemoveVoterRequest():
            return raft_voters.VoterChangeResponse(error=error, message=message)
        case registration.ControllerRegistrationRequest():
            return registration.ControllerRegistrationResponse(error=error, message=message)
        case registration.BrokerRegistrationRequest():
            return registration.BrokerRegistrationResponse(error=error)
        case registration.BrokerHeartbeatRequest():
            return registration.BrokerHeartbeatResponse(error=error)
        case registration.UnregisterBrokerRequest():
            return registration.UnregisterBrokerResponse(error=error, message=message)
        case alter_partition.AlterPartitionRequest():
            return alter_partition.AlterPartitionResponse(error=error)
        case produce.AllocateProducerIdsRequest():
            return produce.AllocateProducerIdsResponse(error=error)
        case topic_changes.CreateTopicsRequest(topics=topics):
            return topic_changes.CreateTopicsResponse(
                results=tuple(
                    topic_changes.TopicResult(name=topic.name, error=error, message=message)
                    for topic in topics
                )
            )
        case topic_changes.CreatePartitionsRequest(topics=wanted):
            return topic_changes.CreatePartitionsResponse(
                results=tuple(
                    topic_changes.NewPartitionsResult(
                        topic=each.topic, error=error, message=message
                    )
                    for each in wanted
                )
            )
        case reassignments.AlterReassignmentsRequest(may_resize=may_resize):
            return reassignments.AlterReassignmentsResponse(
                error=error, message=message, may_resize=may_resize
            )
        case alter_partition.AssignDirectoriesRequest():
            return alter_partition.AssignDirectoriesResponse(error=error)
        case topic_changes.DeleteTopicsRequest(topics=deleted):
            return topic_changes.DeleteTopicsResponse(
                results=tuple(
                    topic_changes.DeletionResult(
                        name=each.name, id=each.id, error=error, message=message
                    )
                    for each in deleted
                )
            )
        case reassignments.ElectLeadersRequest():
            return reassignments.ElectLeadersResponse(error=error)
        case api_versions.UpdateFeaturesRequest(updates=updates):
            names = tuple(each.name for each in updates)
            return api_versions.UpdateFeaturesResponse(error=error, message=message, features=names)
        case _:
            assert_never(request)
