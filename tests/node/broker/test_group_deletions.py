"""Groups that somebody deletes, and offsets of theirs: they are gone for every coordinator."""

import pytest

from node.broker.coordinators.expiry import topics_read
from node.broker.coordinators.group import GroupState
from node.errors import ErrorCode
from node.wire.entities import TopicPartition
from node.wire.group_descriptions import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from node.wire.group_membership import (
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
)
from tests.node.broker.test_group_world import ORDERS, Consumers
from tests.support.group_members import DELAY_MS, GroupMembers

NONE = ErrorCode.NONE


def deleted(consumers: Consumers, *groups: str) -> list[ErrorCode]:
    answer = consumers.world.ask(consumers.coordinator(), DeleteGroupsRequest(groups=groups))
    assert isinstance(answer, DeleteGroupsResponse)
    assert [each.id for each in answer.results] == list(dict.fromkeys(groups))
    return [each.error for each in answer.results]


def forgotten(consumers: Consumers, *partitions: TopicPartition) -> OffsetDeleteResponse:
    request = OffsetDeleteRequest(group="g", partitions=partitions)
    answer = consumers.world.ask(consumers.coordinator(), request)
    assert isinstance(answer, OffsetDeleteResponse)
    return answer


def leave(consumers: Consumers, joined: JoinGroupResponse) -> None:
    members = (LeavingMember(id=joined.member),)
    answer = consumers.world.ask(
        consumers.coordinator(), LeaveGroupRequest(group="g", members=members)
    )
    assert isinstance(answer, LeaveGroupResponse)
    assert [each.error for each in answer.members] == [NONE]


def test_a_group_that_nobody_is_in_goes_with_its_offsets_for_good() -> None:
    consumers = Consumers()
    joined = consumers.member()
    assert consumers.commit(5, member=joined.member, generation=joined.generation) is NONE
    assert deleted(consumers, "g") == [ErrorCode.NON_EMPTY_GROUP]
    leave(consumers, joined)
    assert deleted(consumers, "g", "who", "g") == [NONE, ErrorCode.GROUP_ID_NOT_FOUND]
    assert (consumers.committed(), consumers.state()) == (-1, "Dead")
    consumers.whole()
    consumers.world.kill(consumers.coordinator())
    assert (consumers.committed(), consumers.state()) == (-1, "Dead")
    assert deleted(consumers, "g") == [ErrorCode.GROUP_ID_NOT_FOUND]


def test_whoever_comes_after_begins_another_group() -> None:
    consumers = Consumers()
    leave(consumers, consumers.member())
    assert deleted(consumers, "g") == [NONE]
    joined = consumers.member()
    assert joined.generation == 1
    assert consumers.commit(7, member=joined.member, generation=joined.generation) is NONE
    consumers.whole()
    consumers.world.kill(consumers.coordinator())
    assert consumers.committed() == 7


def test_offsets_of_topics_that_members_read_stay() -> None:
    consumers = Consumers()
    assert forgotten(consumers, ORDERS).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert consumers.commit(5) is NONE
    other = TopicPartition(name="bills", index=0)
    told = forgotten(consumers, ORDERS, other)
    assert [each.error for each in told.results] == [NONE, NONE]
    assert consumers.committed() == -1
    joined = consumers.join(consumers.join().member)
    assert joined.error is NONE
    # What this member says of itself is no subscription: it may read anything.
    told = forgotten(consumers, ORDERS)
    assert [each.error for each in told.results] == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC]


def subscription(*topics: str) -> bytes:
    names = b"".join(len(each).to_bytes(2, "big") + each.encode() for each in topics)
    return b"\0\1" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (subscription("orders", "bills"), {"orders", "bills"}),
        (subscription(), set()),
        (subscription("orders")[:9], None),
        (b"\0\1\0\0\0\1", None),
        (b"\0\1\xff\xff\xff\xff", None),
        (b"\0\1\0\0\0\1\0\1\xff", None),
        (b"", None),
    ],
)
def test_what_members_read_they_say(said: bytes, read: set[str] | None) -> None:
    world = GroupMembers()
    world.join(instance="a", protocols=(JoinProtocol(name="range", metadata=said),))
    world.run_ms(DELAY_MS)
    assert world.group.state is GroupState.COMPLETING
    assert topics_read(world.group) == read


def test_a_group_without_members_reads_nothing() -> None:
    assert topics_read(GroupMembers().group) == set()
