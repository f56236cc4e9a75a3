"""FindCoordinator: who leads the partition to which a group belongs."""

from collections.abc import Mapping

from node.broker.coordinators.offsets_topic import OffsetsTopic
from node.controller.image import Image
from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import NodeId
from node.wire.find_coordinator import GROUP, TRANSACTION, Coordinator, FindCoordinatorRequest


def coordinators(
    request: FindCoordinatorRequest,
    topic: OffsetsTopic,
    image: Image,
    brokers: Mapping[NodeId, Endpoint],
) -> tuple[Coordinator, ...]:
    """One for each key, of the brokers that are up. Where there is no topic, it is asked for."""
    refusal = _why_not(request.key_type)
    found = []
    for key in request.keys:
        if refusal is not ErrorCode.NONE:
            found.append(Coordinator(key=key, error=refusal))
        else:
            found.append(_coordinator(key, topic, image, brokers))
    return tuple(found)


def _why_not(key_type: int) -> ErrorCode:
    """There are no transactions here: an older broker would say the same, and a client that is told
    so does not ask again."""
    if key_type == GROUP:
        return ErrorCode.NONE
    is_transaction = key_type == TRANSACTION
    return ErrorCode.UNSUPPORTED_VERSION if is_transaction else ErrorCode.INVALID_REQUEST


def _coordinator(
    group: str, topic: OffsetsTopic, image: Image, brokers: Mapping[NodeId, Endpoint]
) -> Coordinator:
    leader = topic.leader_of(group, image)
    if leader is None:
        topic.make()
        return Coordinator(key=group, error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    at = brokers.get(leader)
    if at is None:
        return Coordinator(key=group, error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return Coordinator(key=group, node=leader, host=at.host, port=at.port)
