"""Members of a group: who is told what, and when (`GroupCoordinatorTest` of Kafka's)."""

from dataclasses import replace

import pytest

from node.broker.coordinators.commits import checked, why_not_commit
from node.broker.coordinators.group import Group, GroupState, recorded_group
from node.controller.image import Image
from node.errors import ErrorCode
from node.ids import MS, Now
from node.records.group_records import GroupMetadataKey, decode_value, encode_versioned
from node.wire.entities import TopicPartition
from node.wire.group_membership import JoinProtocol
from node.wire.group_offsets import CommitResult, CommittedOffset, OffsetCommitRequest
from tests.support.group_members import DELAY_MS, REBALANCE_MS, SESSION_MS, GroupMembers


def test_the_first_members_are_waited_for_and_begin_a_generation_together() -> None:
    world = GroupMembers()
    first, second = world.new_id(), world.new_id()
    assert first != second
    assert first.startswith("c-")
    joining = [world.join(first)]
    world.run_ms(DELAY_MS - 1)
    joining.append(world.join(second))
    world.run_ms(DELAY_MS)
    assert all(map(world.waits, joining))
    world.run_ms(1)
    leader, other = map(world.joined, joining)
    assert (leader.generation, leader.protocol, leader.leader) == (1, "range", first)
    assert [each.id for each in leader.members] == [first, second]
    assert other == replace(leader, member=second, members=())


def test_a_share_is_told_once_it_is_written_down() -> None:
    world = GroupMembers()
    first, second = world.new_id(), world.new_id()
    world.join(first)
    world.join(second)
    world.run_ms(2 * DELAY_MS)
    syncing = [world.sync(second), world.sync(first, f"{first} {second}")]
    assert all(map(world.waits, syncing))
    assert world.heartbeat(second) is ErrorCode.NONE
    world.write_down()
    assert [world.share(each).assignment.decode() for each in syncing] == [second, first]
    assert world.share(world.sync(second)).assignment.decode() == second
    assert world.group.state is GroupState.STABLE


def test_a_share_that_is_not_written_down_is_told_to_nobody() -> None:
    world = GroupMembers()
    (member,) = [world.new_id()]
    world.join(member)
    world.run_ms(DELAY_MS)
    syncing = world.sync(member, member)
    world.write_down(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert world.share(syncing).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.share(syncing).assignment == b""
    joining = world.join(member)
    assert world.joined(joining).generation == 2


def test_who_comes_later_makes_all_join_again() -> None:
    world = GroupMembers()
    first, second = world.stable(2)
    third = world.new_id()
    joining = [world.join(third)]
    assert world.heartbeat(first) is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.share(world.sync(first)).error is ErrorCode.REBALANCE_IN_PROGRESS
    joining += [world.join(second), world.join(first)]
    assert {world.joined(each).generation for each in joining} == {2}
    assert {world.joined(each).leader for each in joining} == {first}


def test_who_does_not_join_again_is_left_out() -> None:
    world = GroupMembers()
    first, second = world.stable(2)
    joining = world.join(second, protocols=(JoinProtocol(name="range", metadata=b"other"),))
    assert world.heartbeat(first) is ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(REBALANCE_MS // SESSION_MS * 2 - 1):
        world.run_ms(SESSION_MS // 2)
        assert world.heartbeat(first) is ErrorCode.REBALANCE_IN_PROGRESS
        assert world.waits(joining)
    world.run_ms(SESSION_MS // 2)
    assert world.joined(joining).leader == second
    assert world.heartbeat(first) is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_does_not_ask_for_its_share_is_left_out() -> None:
    world = GroupMembers()
    first, second = world.stable(2)
    joining = [world.join(first), world.join(second)]
    assert {world.joined(each).generation for each in joining} == {2}
    syncing = world.sync(second)
    for _ in range(REBALANCE_MS // SESSION_MS * 2):
        world.run_ms(SESSION_MS // 2)
        world.heartbeat(first)
    assert world.share(syncing).error is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.joined(world.join(second)).leader == second
    assert world.heartbeat(first) is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_leaves_or_falls_silent_makes_the_others_join_again() -> None:
    world = GroupMembers()
    first, second, third = world.stable(3)
    assert world.leave(first) is ErrorCode.NONE
    joining = [world.join(second), world.join(third)]
    assert {world.joined(each).leader for each in joining} == {second}
    world.sync(second)
    world.sync(third)
    world.write_down()
    for _ in range(3):
        world.run_ms(SESSION_MS // 2)
        assert world.group.state is GroupState.STABLE or third not in world.group.members
        world.heartbeat(second)
    assert list(world.group.members) == [second]
    assert world.leave(first) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_all_have_left_is_written_down_as_empty() -> None:
    world = GroupMembers()
    (member,) = world.stable(1)
    assert world.leave(member) is ErrorCode.NONE
    assert (world.group.state, world.group.generation) == (GroupState.EMPTY, 2)
    world.write_down()
    record = world.group.record(5)
    assert (record.members, record.protocol, record.leader) == ((), None, None)


def test_an_id_that_nobody_comes_back_with_is_forgotten() -> None:
    world = GroupMembers()
    lost, member = world.new_id(), world.new_id()
    joining = world.join(member)
    world.run_ms(2 * DELAY_MS)
    assert world.joined(joining).generation == 1
    world.run_ms(SESSION_MS)
    assert world.joined(world.join(lost)).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_generation_waits_for_who_was_given_an_id() -> None:
    world = GroupMembers()
    (member,) = world.stable(1)
    world.new_id()
    joining = world.join(member)
    assert world.waits(joining)
    for _ in range(3):
        world.run_ms(SESSION_MS // 2)
    assert world.joined(joining).generation == 2


def test_who_asks_twice_is_told_the_same() -> None:
    world = GroupMembers()
    first, second = world.stable(2)
    again = world.joined(world.join(second))
    assert (again.generation, again.members) == (1, ())
    old = world.join(first)
    new = world.join(first)
    assert world.joined(old).error is ErrorCode.REBALANCE_IN_PROGRESS
    world.join(second)
    assert world.joined(new).generation == 2
    assert world.joined(world.join(second)).generation == 2


def test_the_protocol_is_one_that_all_know_and_most_want() -> None:
    world = GroupMembers()
    wants = ("range roundrobin", "roundrobin sticky range", "roundrobin range")
    joining = []
    for names in wants:
        protocols = tuple(JoinProtocol(name=name, metadata=name.encode()) for name in names.split())
        joining.append(world.join(needs_known_id=False, protocols=protocols))
    world.run_ms(3 * DELAY_MS)
    assert [world.joined(each).protocol for each in joining] == ["roundrobin"] * 3
    assert {each.metadata for each in world.joined(joining[0]).members} == {b"roundrobin"}


REFUSED_JOINS = {
    ErrorCode.INVALID_SESSION_TIMEOUT: {"session_timeout_ms": 5999},
    ErrorCode.UNKNOWN_MEMBER_ID: {"member": "who"},
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: {"protocol_type": "connect"},
    ErrorCode.GROUP_MAX_SIZE_REACHED: {
        "protocols": (JoinProtocol(name="range", metadata=bytes(1000)),)
    },
}


@pytest.mark.parametrize(("error", "changes"), REFUSED_JOINS.items())
def test_who_may_not_join_is_told_why(error: ErrorCode, changes: dict[str, object]) -> None:
    world = GroupMembers()
    world.stable(1)
    refused = world.joined(world.join(**changes))  # type: ignore[arg-type]
    assert refused.error is error
    assert world.group.state is GroupState.STABLE


_LONGEST = 2**15 - 1  # of a string in messages that are not flexible
_ID_BYTES = 37  # what a member's name has behind the client's


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("group", _LONGEST),
        ("protocol_type", _LONGEST),
        ("client_id", _LONGEST - _ID_BYTES),
        ("instance", _LONGEST - _ID_BYTES),
    ],
)
def test_a_name_that_some_answer_has_no_room_for_is_refused(name: str, most: int) -> None:
    """One member's would keep all others of the group from being answered."""
    world = GroupMembers()
    for longest in (
        "n" * most,
        "n" * (most % 2) + "\N{LATIN SMALL LETTER E WITH ACUTE}" * (most // 2),
    ):
        member = world.static(longest) if name == "instance" else world.new_id(**{name: longest})
        assert len(member.encode()) <= _LONGEST
        refused = world.joined(world.join("", **{name: longest + "n"}))
        assert (refused.error, refused.member) == (ErrorCode.INVALID_REQUEST, "")
        assert world.leave(member) is ErrorCode.NONE


def test_until_it_is_shared_out_anew_members_are_told_of_with_their_shares_of_before() -> None:
    world = GroupMembers()
    (member,) = world.stable(1)
    world.join(member)
    assert world.group.state is GroupState.COMPLETING
    assert [each.assignment for each in world.group.described().members] == [member.encode()]


@pytest.mark.parametrize(("size", "is_taken"), [(_LONGEST, True), (_LONGEST + 1, False)])
def test_who_has_an_id_needs_no_room_for_another_one(size: int, is_taken: bool) -> None:
    world = GroupMembers()
    joining = world.join(world.new_id(), client_id="n" * size)
    assert world.waits(joining) is is_taken  # for others; who is not taken is answered at once


@pytest.mark.parametrize(
    ("length", "error"),
    [
        (_LONGEST, ErrorCode.GROUP_MAX_SIZE_REACHED),  # of this group's record
        (_LONGEST + 1, ErrorCode.INVALID_REQUEST),
    ],
)
def test_so_is_the_name_of_a_protocol(length: int, error: ErrorCode) -> None:
    world = GroupMembers()
    told = world.join(protocols=(JoinProtocol(name="n" * length, metadata=b""),))
    assert world.joined(told).error is error


@pytest.mark.parametrize("changes", [{"protocol_type": ""}, {"protocols": ()}])
def test_an_empty_group_takes_any_protocol_but_none(changes: dict[str, object]) -> None:
    world = GroupMembers()
    refused = world.joined(world.join(**changes))  # type: ignore[arg-type]
    assert refused.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_full_group_takes_nobody_else() -> None:
    world = GroupMembers()
    members = world.stable(3)
    assert world.joined(world.join()).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    joining = [world.join(member) for member in members]
    assert {world.joined(each).generation for each in joining} == {2}


def test_who_may_not_have_a_share_is_told_why() -> None:
    world = GroupMembers()
    (member,) = world.stable(1)
    refused = {
        ErrorCode.UNKNOWN_MEMBER_ID: world.sync("who"),
        ErrorCode.ILLEGAL_GENERATION: world.sync(member, generation=7),
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL: world.sync(member, protocol="sticky"),
    }
    assert {world.share(each).error for each in refused.values()} == refused.keys()
    assert all(world.share(each).error is error for error, each in refused.items())
    assert world.heartbeat(member, generation=0) is ErrorCode.ILLEGAL_GENERATION
    assert world.heartbeat("who") is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_waits_when_another_broker_coordinates_is_told_so() -> None:
    world = GroupMembers()
    first, second = world.stable(2)
    joining = world.join(first)
    world.rebalancing.drop(world.group, ErrorCode.NOT_COORDINATOR)
    assert world.joined(joining).error is ErrorCode.NOT_COORDINATOR
    assert second in world.group.members


def test_what_is_written_down_is_the_group_again() -> None:
    world = GroupMembers()
    first, second = world.stable(2)
    written = encode_versioned(world.group.record(77))
    read = decode_value(GroupMetadataKey(group="g"), written)
    assert read == world.group.record(77)
    again = GroupMembers()
    again.group = recorded_group("g", world.group.record(77), 0)
    assert again.heartbeat(second) is ErrorCode.NONE
    assert again.share(again.sync(first)).assignment.decode() == first
    again.run_ms(SESSION_MS)
    assert again.group.members == {}


ONE = CommittedOffset(partition=TopicPartition(name="orders", index=0), offset=1)


@pytest.mark.parametrize(
    ("state", "who", "error"),
    [
        (None, {}, ErrorCode.NONE),
        (None, {"generation": 1}, ErrorCode.ILLEGAL_GENERATION),
        (GroupState.STABLE, {}, ErrorCode.UNKNOWN_MEMBER_ID),
        (GroupState.STABLE, {"member": "m", "generation": 3}, ErrorCode.NONE),
        (GroupState.STABLE, {"member": "m", "generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        (GroupState.PREPARING, {"member": "m", "generation": 3}, ErrorCode.NONE),
        (
            GroupState.COMPLETING,
            {"member": "m", "generation": 3},
            ErrorCode.REBALANCE_IN_PROGRESS,
        ),
    ],
)
def test_who_may_commit(state: GroupState | None, who: dict[str, object], error: ErrorCode) -> None:
    group: Group | None = None
    if state is not None:
        world = GroupMembers()
        (member,) = world.stable(1)
        group = world.group
        group.members = {"m": group.members[member]}
        group.state, group.generation = state, 3
    request = OffsetCommitRequest(group="g", offsets=(ONE,), **who)  # type: ignore[arg-type]
    assert why_not_commit(group, request, Now(0, 5 * MS)) is error


def test_offsets_of_no_topic_are_not_committed() -> None:
    request = OffsetCommitRequest(group="g", offsets=(ONE,))
    unknown = CommitResult(partition=ONE.partition, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert checked(request, Image(), 10) == ([], [unknown])
