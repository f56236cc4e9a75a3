"""Of very many groups or offsets a piece a step is gathered, and others are answered between."""

from itertools import count

from node.broker.coordinators.group_log import PIECE
from node.effects import SendResponse
from node.errors import ErrorCode
from node.ids import ConnectionId
from node.wire.api_versions import ApiVersionsRequest
from node.wire.apis import BrokerRequest
from node.wire.broker_frames import decode_response, encode_request
from node.wire.entities import TopicPartition
from node.wire.frames import RequestHeader
from node.wire.group_descriptions import ListGroupsRequest
from node.wire.group_membership import JoinGroupRequest, JoinProtocol
from node.wire.group_offsets import (
    CommittedOffset,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SoughtOffsets,
)
from tests.support.stepped_broker import TOPICS, SteppedBroker

MANY = 2 * PIECE + TOPICS  # three pieces, of which the step that takes the request does two
OF_A_TOPIC = MANY // TOPICS
AT = tuple(
    TopicPartition(name=f"topic-{topic}", index=index)
    for topic in range(TOPICS)
    for index in range(OF_A_TOPIC)
)
_CONNECTIONS = count(10)


def in_steps(broker: SteppedBroker, request: BrokerRequest) -> tuple[RequestHeader, bytes, int]:
    """The answer's frame, and how many others were answered before it, each in its own step."""
    asking, other = ConnectionId(next(_CONNECTIONS)), ConnectionId(next(_CONNECTIONS))
    header, frame = encode_request(request, correlation_id=1, client_id="c")
    _, beside = encode_request(ApiVersionsRequest(), correlation_id=1, client_id="c")
    done, others = broker.ask(asking, frame), 0
    while not done:
        answered = broker.ask(other, beside)
        others += sum(each.connection == other for each in answered)
        done = [each for each in answered if each.connection == asking]
    (only,) = done
    assert isinstance(only, SendResponse)
    return header, only.frame, others


def test_all_offsets_of_a_group() -> None:
    broker = SteppedBroker(partitions=OF_A_TOPIC)
    offsets = tuple(CommittedOffset(partition=each, offset=1) for each in AT)
    commits = OffsetCommitRequest(group="g", offsets=offsets)
    committed = decode_response(*in_steps(broker, commits)[:2])
    assert isinstance(committed, OffsetCommitResponse)
    assert {each.error for each in committed.results} == {ErrorCode.NONE}
    for sought in (None, AT):
        groups = (SoughtOffsets(group="g", partitions=sought),)
        header, frame, others = in_steps(broker, OffsetFetchRequest(groups=groups))
        told = decode_response(header, frame)
        assert isinstance(told, OffsetFetchResponse)
        assert [each.offset for each in told.groups[0].offsets] == [1] * MANY
        assert others >= 1


def test_all_groups() -> None:
    broker = SteppedBroker(partitions=1)
    for number in range(MANY):
        joins = JoinGroupRequest(
            group=f"g{number}",
            member="",
            session_timeout_ms=60_000,
            rebalance_timeout_ms=60_000,
            protocol_type="consumer",
            protocols=(JoinProtocol(name="range", metadata=b"m"),),
        )
        in_steps(broker, joins)
    _, frame, others = in_steps(broker, ListGroupsRequest())
    assert frame.count(b"Empty") == MANY, "more than a node itself would read"
    assert others >= 1
