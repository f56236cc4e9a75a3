"""What clients say of groups takes so much of a broker's memory, and no more."""

from itertools import count

import pytest

from node import limits
from node.broker.coordinators.group_log import GroupRoom
from node.effects import SendResponse
from node.errors import ErrorCode
from node.ids import ConnectionId
from node.wire.broker_frames import decode_response, encode_request
from node.wire.entities import TopicPartition
from node.wire.group_membership import JoinGroupRequest, JoinGroupResponse, JoinProtocol
from node.wire.group_offsets import CommittedOffset, OffsetCommitRequest, OffsetCommitResponse
from tests.support.stepped_broker import SteppedBroker

_CONNECTIONS = count(10)
AT = TopicPartition(name="topic-0", index=0)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> SteppedBroker:
    monkeypatch.setattr(limits, "MAX_GROUPS_BYTES", 10_000)
    return SteppedBroker(partitions=1)


def room(broker: SteppedBroker) -> GroupRoom:
    return broker.node.core.role.groups._room


def join(
    broker: SteppedBroker, group: str, metadata: bytes = b"m", member: str = ""
) -> JoinGroupResponse | None:
    """None: it waits for others."""
    request = JoinGroupRequest(
        group=group,
        member=member,
        session_timeout_ms=60_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=(JoinProtocol(name="range", metadata=metadata),),
    )
    header, frame = encode_request(request, correlation_id=1, client_id="c")
    done = broker.ask(ConnectionId(next(_CONNECTIONS)), frame)
    if not done:
        return None
    (only,) = done
    assert isinstance(only, SendResponse)
    answer = decode_response(header, only.frame)
    assert isinstance(answer, JoinGroupResponse)
    return answer


def commit(broker: SteppedBroker, group: str, metadata: str = "m") -> ErrorCode:
    offsets = (CommittedOffset(partition=AT, offset=1, metadata=metadata),)
    request = OffsetCommitRequest(group=group, offsets=offsets)
    header, frame = encode_request(request, correlation_id=1, client_id="c")
    done = broker.serve(frame)
    assert isinstance(done, SendResponse)
    answer = decode_response(header, done.frame)
    assert isinstance(answer, OffsetCommitResponse)
    return answer.results[0].error


def test_ids_that_nobody_comes_back_with_take_room_until_they_are_forgotten(
    broker: SteppedBroker,
) -> None:
    given = []
    for number in range(20):
        answer = join(broker, f"g{number}")
        assert answer is not None
        given.append(answer.error)
    full = given.index(ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert 5 < full < 10
    assert set(given[full:]) == {ErrorCode.GROUP_MAX_SIZE_REACHED}
    began_ns = broker.now_ns
    while broker.now_ns < began_ns + 60 * 10**9:
        broker.elapse()
    answer = join(broker, "late")
    assert answer is not None
    assert answer.error is ErrorCode.MEMBER_ID_REQUIRED


def test_a_partition_has_so_many_groups_and_no_more(
    broker: SteppedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are there go on."""
    monkeypatch.setattr(limits, "MAX_GROUPS_PER_PARTITION", 3)
    given = [join(broker, group) for group in ("a", "b", "c", "d", "a")]
    assert [None if each is None else each.error for each in given] == [
        *[ErrorCode.MEMBER_ID_REQUIRED] * 3,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.MEMBER_ID_REQUIRED,
    ]


def test_a_member_may_not_say_more_than_there_is_room_for(broker: SteppedBroker) -> None:
    answer = join(broker, "g")
    assert answer is not None
    assert join(broker, "g", member=answer.member) is None
    again = join(broker, "g", metadata=b"m" * 10_000, member=answer.member)
    assert again is not None
    assert again.error is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_offsets_take_room_once(broker: SteppedBroker) -> None:
    """Who commits again for what is known may go on."""
    errors = [commit(broker, f"g{number}") for number in range(30)]
    full = errors.index(ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
    assert 10 < full < 25
    assert commit(broker, "g0") is ErrorCode.NONE
    assert commit(broker, "g0", "") is ErrorCode.NONE
    assert commit(broker, "g0", "m" * 4000) is ErrorCode.INVALID_COMMIT_OFFSET_SIZE


def test_what_it_does_not_coordinate_any_more_takes_no_room(broker: SteppedBroker) -> None:
    assert commit(broker, "g0") is ErrorCode.NONE
    join(broker, "g1")
    assert not room(broker).has(9_500)
    core = broker.node.core.role
    for led in list(core.groups._led.values()):
        led.drop(broker._now())
    assert room(broker).has(10_000)
