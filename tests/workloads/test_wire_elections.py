"""ElectLeaders 3 as the harness writes and reads it, by the codec of our own node."""

from node.errors import ErrorCode
from node.wire import broker_frames
from node.wire.apis import HandedOn
from node.wire.frames import RequestHeader
from node.wire.reassignments import (
    ElectionResult,
    ElectLeadersRequest,
    ElectLeadersResponse,
    NamedPartition,
)
from workloads.wire.header import Api, read_header, request_frame
from workloads.wire.topic_requests import (
    DESIGNATED,
    LONGEST_BALANCED,
    designate_leaders,
    elect_every_leader,
    read_elected,
)


def read(body: bytes) -> tuple[RequestHeader, ElectLeadersRequest]:
    header, request = broker_frames.decode_request(request_frame(Api.ELECT_LEADERS, 7, body)[4:])
    assert isinstance(request, HandedOn)
    assert isinstance(request.request, ElectLeadersRequest)
    return header, request.request


def test_all_partitions_are_asked_for_by_naming_none() -> None:
    header, request = read(elect_every_leader(LONGEST_BALANCED, timeout_ms=20_000))
    assert (header.api_version, request.has_recovery) == (3, True)
    assert (request.kind, request.partitions, request.timeout_ms) == (3, None, 20_000)


def test_designated_leaders_belong_to_their_partitions() -> None:
    leaders = {("a", 0): 2, ("a", 1): 3, ("b", 70_000): 1}
    _, request = read(designate_leaders(leaders, timeout_ms=1))
    assert request.kind == DESIGNATED
    assert request.partitions == tuple(
        NamedPartition(topic=topic, index=index) for topic, index in leaders
    )
    assert request.desired == (2, 3, 1)


def test_each_partition_has_its_error_and_so_has_the_whole() -> None:
    header = RequestHeader(api_key=43, api_version=3, correlation_id=7, client_id="p")
    why = "Broker 3 is not available."
    refused = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    results = (
        ElectionResult(partition=NamedPartition(topic="a", index=0)),
        ElectionResult(partition=NamedPartition(topic="a", index=1), error=refused, message=why),
    )
    for error in (ErrorCode.NONE, ErrorCode.NOT_CONTROLLER):
        answer = ElectLeadersResponse(error=error, results=results)
        frame = broker_frames.encode_response(header, answer)
        _, at = read_header(frame)
        assert read_elected(frame[at:]) == {"": error, "a-0": 0, "a-1": refused}
