"""Members that bring the name of an instance (KIP-345): they may come back without a rebalance."""

import pytest

from node.broker.coordinators.commits import why_not_commit
from node.broker.coordinators.group import GroupState, recorded_group
from node.errors import ErrorCode
from node.ids import Now
from node.wire.entities import TopicPartition
from node.wire.group_membership import JoinProtocol
from node.wire.group_offsets import CommittedOffset, OffsetCommitRequest
from tests.support.group_members import DELAY_MS, REBALANCE_MS, SESSION_MS, GroupMembers

FENCED = ErrorCode.FENCED_INSTANCE_ID


def stable(world: GroupMembers, *instances: str) -> list[str]:
    """Their members, in a generation that is shared out; the first one leads."""
    joining = [world.join(instance=each) for each in instances]
    world.run_ms(len(instances) * DELAY_MS)
    members = [world.joined(each).member for each in joining]
    syncing = [world.sync(each) for each in members[1:]]
    syncing.append(world.sync(members[0], " ".join(members)))
    world.write_down()
    assert [world.share(each).error for each in syncing] == [ErrorCode.NONE] * len(instances)
    return members


def test_it_is_given_an_id_at_once() -> None:
    world = GroupMembers()
    (member,) = stable(world, "a")
    assert member.startswith("a-")
    assert world.group.members[member].instance == "a"


def test_whoever_takes_its_place_has_its_share_and_nobody_joins_again() -> None:
    world = GroupMembers()
    leader, old = stable(world, "a", "b")
    joining = world.join(instance="b")
    assert world.waits(joining)  # until it is written down
    world.write_down()
    told = world.joined(joining)
    assert (told.error, told.generation, told.leader) == (ErrorCode.NONE, 1, leader)
    assert (told.members, told.is_shared_out) == ((), False)
    assert told.member not in (old, leader)
    assert world.share(world.sync(told.member)).assignment.decode() == old
    assert world.heartbeat(leader) is ErrorCode.NONE
    assert world.heartbeat(told.member, instance="b") is ErrorCode.NONE
    assert world.group.state is GroupState.STABLE


def test_who_was_there_before_is_fenced() -> None:
    world = GroupMembers()
    _, old = stable(world, "a", "b")
    world.join(instance="b")
    world.write_down()
    assert world.heartbeat(old, instance="b") is FENCED
    assert world.heartbeat(old) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.share(world.sync(old, instance="b")).error is FENCED
    assert world.joined(world.join(old, instance="b")).error is FENCED
    assert world.leave(old, instance="b") is FENCED
    commit = OffsetCommitRequest(
        group="g",
        generation=1,
        member=old,
        instance="b",
        offsets=(CommittedOffset(partition=TopicPartition(name="orders", index=0), offset=1),),
    )
    assert why_not_commit(world.group, commit, Now(0, 0)) is FENCED
    assert world.group.state is GroupState.STABLE


@pytest.mark.parametrize("may_lead", [True, False])
def test_a_leader_that_comes_back_does_not_share_out_anew(may_lead: bool) -> None:
    """From version 9 on it is told that it leads, and that all is shared out (KIP-814); before, a
    leader that is no more."""
    world = GroupMembers()
    old, other = stable(world, "a", "b")
    joining = world.join(instance="a", may_lead=may_lead)
    world.write_down()
    told = world.joined(joining)
    assert told.leader == (told.member if may_lead else old)
    assert told.is_shared_out is may_lead
    assert [each.instance for each in told.members] == (["b", "a"] if may_lead else [])
    assert world.group.leader == told.member
    assert world.heartbeat(other) is ErrorCode.NONE


def test_what_is_not_written_down_did_not_happen() -> None:
    world = GroupMembers()
    leader, _ = stable(world, "a", "b")
    joining = world.join(instance="a")
    world.write_down(ErrorCode.NOT_COORDINATOR)
    assert world.joined(joining).error is ErrorCode.NOT_COORDINATOR
    assert world.joined(joining).member == ""
    assert world.heartbeat(leader, instance="a") is ErrorCode.NONE
    assert world.group.leader == leader


def test_two_that_come_by_the_same_name_fence_each_other_in_turn() -> None:
    world = GroupMembers()
    stable(world, "a")
    first, second = world.join(instance="a"), world.join(instance="a")
    assert world.joined(first).error is FENCED
    world.write_down()
    assert world.joined(second).error is ErrorCode.NONE
    assert list(world.group.members) == [world.joined(second).member]


def test_another_protocol_makes_all_join_again() -> None:
    world = GroupMembers()
    stable(world, "a")
    joining = world.join(instance="a", protocols=(JoinProtocol(name="sticky", metadata=b""),))
    told = world.joined(joining)  # at once: nobody else is waited for
    assert (told.generation, told.protocol) == (2, "sticky")


def test_who_comes_while_shares_are_awaited_makes_all_join_again() -> None:
    """The leader would share out to who is fenced."""
    world = GroupMembers()
    joining = [world.join(instance=each) for each in "ab"]
    world.run_ms(2 * DELAY_MS)
    leader, old = (world.joined(each).member for each in joining)
    syncing = world.sync(old)
    again = world.join(instance="b")
    assert world.share(syncing).error is FENCED
    assert world.waits(again)
    assert world.joined(world.join(leader, instance="a")).generation == 2
    assert world.joined(again).generation == 2


def test_one_that_is_away_belongs_to_the_next_generation_too() -> None:
    """It keeps its place until its session ends, and is asked for its share like all."""
    world = GroupMembers()
    _, away = stable(world, "a", "b")
    joining = world.join(instance="c", rebalance_timeout_ms=1000)
    assert world.waits(joining)
    leader = next(iter(world.group.members))
    world.join(leader, instance="a", rebalance_timeout_ms=1000)
    world.group.members[away].rebalance_ms = 1000
    world.group.joined_until_ns = world.now_ms * 1_000_000 + 1_000_000_000
    world.run_ms(1000)
    told = world.joined(joining)
    assert told.generation == 2
    assert away in world.group.members


def test_of_those_alone_who_may_be_gone_no_generation_begins() -> None:
    world = GroupMembers()
    first, second = stable(world, "a", "b")
    dynamic = world.new_id()
    world.join(dynamic)
    assert world.leave(dynamic) is ErrorCode.NONE
    for _ in range(REBALANCE_MS // SESSION_MS * 2 + 1):
        world.heartbeat(first, instance="a")
        world.heartbeat(second, instance="b")
        world.run_ms(SESSION_MS // 2)
    assert (world.group.state, world.group.generation) == (GroupState.PREPARING, 1)
    joining = world.join(first, instance="a")
    world.join(second, instance="b")
    assert world.joined(joining).generation == 2


def test_its_session_ends_like_any() -> None:
    world = GroupMembers()
    stable(world, "a")
    world.run_ms(SESSION_MS)
    assert world.group.state is GroupState.EMPTY


def test_an_operator_removes_it_by_its_instance() -> None:
    world = GroupMembers()
    stable(world, "a", "b")
    assert world.leave(instance="who") is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.leave(instance="b") is ErrorCode.NONE
    assert [each.instance for each in world.group.members.values()] == ["a"]
    assert world.leave() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_full_group_takes_who_comes_back() -> None:
    world = GroupMembers()
    stable(world, "a", "b", "c")
    assert world.joined(world.join(instance="d")).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    joining = world.join(instance="c")
    world.write_down()
    assert world.joined(joining).error is ErrorCode.NONE


def test_another_coordinator_knows_it() -> None:
    world = GroupMembers()
    (member,) = stable(world, "a")
    again = GroupMembers()
    again.new_id()  # so that chance gives others
    again.group = recorded_group("g", world.group.record(77), 0)
    joining = again.join(instance="a")
    again.write_down()
    told = again.joined(joining)
    assert (told.error, told.generation) == (ErrorCode.NONE, 1)
    assert again.heartbeat(member, instance="a") is FENCED
