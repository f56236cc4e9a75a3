"""What members of a group are answered: what is so is not accused, what is not so is."""

from uuid import UUID

import pytest

from chaos.cluster.sim.invariants.broker_watch import Begun, partition_of
from chaos.cluster.sim.invariants.rules import Broken
from node.broker.coordinators.offsets_topic import java_hash
from node.errors import ErrorCode
from node.ids import ConnectionId, Epoch, NodeId, Offset
from node.records.batch import encode_batch
from node.records.group_records import OffsetCommitKey, OffsetCommitValue, encode_versioned
from node.wire.entities import TopicPartition
from node.wire.group_descriptions import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from node.wire.group_membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    SyncGroupRequest,
    SyncGroupResponse,
)
from node.wire.group_offsets import (
    CommitResult,
    CommittedOffset,
    FetchedOffset,
    FetchedOffsets,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SoughtOffsets,
)
from tests.support.answering_broker import (
    GROUPS,
    LEADER_EPOCH,
    ONE,
    ORDERS,
    STEP,
    TWO,
    AnsweringBroker,
)

AT = TopicPartition(name="orders", index=0)
SESSION_MS, REBALANCE_MS = 3_000, 2_000
Error = ErrorCode


@pytest.fixture
def broker() -> AnsweringBroker:
    return AnsweringBroker()


def accused(rule: str) -> "pytest.RaisesExc[Broken]":
    return pytest.raises(Broken, match=f"^{rule}: n1 ")


def join(broker: AnsweringBroker, generation: int, *, member: str = "m", leader: str = "m") -> None:
    request = JoinGroupRequest(
        group="g",
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        member=member,
        protocol_type="consumer",
        protocols=(),
    )
    told = JoinGroupResponse(generation=generation, leader=leader, member=member)
    broker.answer(request, told)


def sync(
    broker: AnsweringBroker, generation: int, error: Error = Error.NONE, *, step: int = STEP
) -> None:
    request = SyncGroupRequest(group="g", generation=generation, member="m")
    broker.answer(request, SyncGroupResponse(error=error), step=step)


def heartbeat(
    broker: AnsweringBroker, generation: int, error: Error = Error.NONE, *, step: int = STEP + 1
) -> None:
    request = HeartbeatRequest(group="g", generation=generation, member="m")
    broker.answer(request, HeartbeatResponse(error=error), step=step)


def write(broker: AnsweringBroker, base: int, offset: int, *nodes: NodeId) -> None:
    key = OffsetCommitKey(group="g", topic="orders", partition=0)
    value = OffsetCommitValue(offset=offset, metadata="", commit_timestamp=0, topic_id=ORDERS)
    data = encode_batch(
        [(encode_versioned(key), encode_versioned(value))],
        base_offset=Offset(base),
        leader_epoch=Epoch(LEADER_EPOCH),
        timestamp_ms=0,
    )
    broker.append(data, *nodes, key=GROUPS)


def commit(broker: AnsweringBroker, offset: int, error: Error = Error.NONE) -> None:
    sent = CommittedOffset(partition=AT, offset=offset)
    request = OffsetCommitRequest(group="g", offsets=(sent,))
    result = CommitResult(partition=AT, error=error)
    broker.answer(request, OffsetCommitResponse(results=(result,)))


def look_up(broker: AnsweringBroker, offset: int, error: Error = Error.NONE) -> None:
    request = OffsetFetchRequest(groups=(SoughtOffsets(group="g", partitions=(AT,)),))
    found = FetchedOffset(partition=AT, offset=offset)
    told = FetchedOffsets(group="g", error=error, offsets=(found,))
    broker.answer(request, OffsetFetchResponse(groups=(told,)))


@pytest.mark.parametrize("group", ["", "g", "append-committed", "größe", "\U0001d4a2", "a" * 300])
def test_a_group_belongs_to_the_partition_that_the_node_takes(group: str) -> None:
    for partitions in (1, 3, 50):
        assert partition_of(group, partitions) == java_hash(group) % partitions


# --- members ---


def test_who_is_a_member_is_told_so(broker: AnsweringBroker) -> None:
    join(broker, 1)
    sync(broker, 1)
    broker.now_ms = REBALANCE_MS - 1
    heartbeat(broker, 1)
    heartbeat(broker, 7, Error.ILLEGAL_GENERATION)
    join(broker, 2)
    heartbeat(broker, 1, Error.ILLEGAL_GENERATION)


@pytest.mark.parametrize("error", [Error.ILLEGAL_GENERATION, Error.UNKNOWN_MEMBER_ID])
def test_a_member_that_was_heard_of_is_not_disowned(broker: AnsweringBroker, error: Error) -> None:
    join(broker, 1)
    sync(broker, 1)
    broker.now_ms = REBALANCE_MS - 1
    with accused("members-are-not-disowned"):
        heartbeat(broker, 1, error)
    broker.now_ms = REBALANCE_MS
    heartbeat(broker, 1, error)


def test_who_has_left_is_no_member(broker: AnsweringBroker) -> None:
    join(broker, 1)
    sync(broker, 1)
    leaving = LeaveGroupRequest(group="g", members=(LeavingMember(id="m"),))
    broker.answer(leaving, LeaveGroupResponse())
    heartbeat(broker, 1, Error.UNKNOWN_MEMBER_ID)


def test_who_has_no_share_yet_may_be_left_out(broker: AnsweringBroker) -> None:
    join(broker, 1)
    heartbeat(broker, 1, Error.UNKNOWN_MEMBER_ID)


def test_there_is_one_generation_at_a_time(broker: AnsweringBroker) -> None:
    join(broker, 1)
    join(broker, 2)
    heartbeat(broker, 1, step=STEP)  # it was asked before
    with accused("one-generation-answers"):
        heartbeat(broker, 1)


def test_generations_rise_and_have_one_leader(broker: AnsweringBroker) -> None:
    join(broker, 2)
    join(broker, 2, member="other")
    with accused("one-generation-answers"):
        join(broker, 2, member="other", leader="other")
    with accused("one-generation-answers"):
        join(broker, 1)


def test_another_reign_knows_nothing_of_this_one(broker: AnsweringBroker) -> None:
    join(broker, 2)
    sync(broker, 2)
    begun = broker.held.begun[GROUPS]
    broker.held.begun[GROUPS] = begun._replace(step=STEP - 2)
    heartbeat(broker, 2, Error.UNKNOWN_MEMBER_ID)
    join(broker, 1)


# --- coordinators ---


@pytest.mark.parametrize(("node", "is_so"), [(ONE, True), (TWO, False)])
def test_who_is_named_coordinates(broker: AnsweringBroker, node: NodeId, is_so: bool) -> None:
    request = FindCoordinatorRequest(keys=("g",))
    told = FindCoordinatorResponse(coordinators=(Coordinator(key="g", node=node),))
    if is_so:
        broker.answer(request, told)
        return
    with accused("told-coordinators-lead"):
        broker.answer(request, told)


def test_who_coordinates_does_not_deny_it(broker: AnsweringBroker) -> None:
    with accused("coordinators-do-not-deny-it"):
        look_up(broker, -1, Error.NOT_COORDINATOR)


def test_what_was_loaded_stays_so(broker: AnsweringBroker) -> None:
    look_up(broker, -1, Error.COORDINATOR_LOAD_IN_PROGRESS)
    look_up(broker, -1)
    with accused("coordinators-do-not-deny-it"):
        look_up(broker, -1, Error.COORDINATOR_LOAD_IN_PROGRESS)


@pytest.mark.parametrize(
    "begun",
    [
        Begun(step=STEP - 1, epoch=LEADER_EPOCH, leads=False, end=0),
        Begun(step=STEP, epoch=LEADER_EPOCH, leads=True, end=0),
        Begun(step=STEP - 1, epoch=LEADER_EPOCH - 1, leads=True, end=0),
    ],
)
def test_who_has_not_begun_to_coordinate_says_so(broker: AnsweringBroker, begun: Begun) -> None:
    broker.held.begun[GROUPS] = begun
    look_up(broker, -1, Error.NOT_COORDINATOR)


def test_a_log_that_is_damaged_is_not_read(broker: AnsweringBroker) -> None:
    broker.held.is_damaged = True
    look_up(broker, -1, Error.NOT_COORDINATOR)


# --- commits ---


def test_what_is_committed_is_told(broker: AnsweringBroker) -> None:
    look_up(broker, -1)
    write(broker, 0, 10)
    look_up(broker, -1)  # it is not replayed
    broker.publish(1, GROUPS)
    commit(broker, 10)
    look_up(broker, 10)
    write(broker, 1, 20)
    commit(broker, 20, Error.COORDINATOR_NOT_AVAILABLE)
    broker.publish(2, GROUPS)
    look_up(broker, 10)
    look_up(broker, 20)
    commit(broker, 20)
    with accused("told-commits-were-committed"):
        look_up(broker, 10)
    with accused("told-commits-were-committed"):
        look_up(broker, -1)


def test_what_is_not_published_is_not_told(broker: AnsweringBroker) -> None:
    write(broker, 0, 10, ONE)
    with accused("told-commits-were-committed"):
        commit(broker, 10)
    with accused("told-commits-were-committed"):
        look_up(broker, 10)


def test_what_nobody_committed_is_not_told(broker: AnsweringBroker) -> None:
    write(broker, 0, 10)
    broker.publish(1, GROUPS)
    with accused("told-commits-were-committed"):
        look_up(broker, 11)


def test_what_was_committed_of_another_topic_of_that_name_is_not_told(
    broker: AnsweringBroker,
) -> None:
    write(broker, 0, 10)
    broker.publish(1, GROUPS)
    commit(broker, 10)
    (written,) = broker.watch.commits.newest_first(("g", "orders", 0))  # type: ignore[arg-type]
    written.topic_id = UUID(int=1)
    look_up(broker, -1)


# --- rebalances ---

CAUSE = "rebalances-have-a-cause"
REBALANCE = Error.REBALANCE_IN_PROGRESS


@pytest.fixture
def resting(broker: AnsweringBroker) -> AnsweringBroker:
    """Of its group of one member nobody came or went since it was told its share."""
    join(broker, 1)
    broker.now_ms = REBALANCE_MS - 1  # it waited for others
    sync(broker, 1, step=STEP + 1)
    return broker


def test_a_rebalance_that_nobody_asked_for_is_seen(resting: AnsweringBroker) -> None:
    heartbeat(resting, 1, step=STEP + 2)
    resting.now_ms += REBALANCE_MS - 1
    with accused(CAUSE):
        heartbeat(resting, 1, REBALANCE, step=STEP + 3)


def test_who_comes_is_a_cause(resting: AnsweringBroker) -> None:
    heartbeat(resting, 1, step=STEP + 2)
    request = JoinGroupRequest(
        group="g",
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        member="new",
        protocol_type="consumer",
        protocols=(),
    )
    resting.ask(request, step=STEP + 3)
    heartbeat(resting, 1, REBALANCE, step=STEP + 4)


def test_who_goes_is_a_cause(resting: AnsweringBroker) -> None:
    heartbeat(resting, 1, step=STEP + 2)
    request = LeaveGroupRequest(group="g", members=(LeavingMember(id="other"),))
    resting.answer(request, LeaveGroupResponse(), step=STEP + 3)
    heartbeat(resting, 1, REBALANCE, step=STEP + 4)


def test_a_member_that_is_silent_is_a_cause(broker: AnsweringBroker) -> None:
    join(broker, 1)
    join(broker, 1, member="silent")
    sync(broker, 1, step=STEP + 1)
    for now_ms in (REBALANCE_MS // 2, REBALANCE_MS - 1):
        broker.now_ms = now_ms
        heartbeat(broker, 1, step=STEP + 2)
    with accused(CAUSE):
        heartbeat(broker, 1, REBALANCE, step=STEP + 3)
    broker.now_ms = REBALANCE_MS
    heartbeat(broker, 1, REBALANCE, step=STEP + 4)


def test_one_that_waits_no_more_may_have_been_let_in(resting: AnsweringBroker) -> None:
    heartbeat(resting, 1, step=STEP + 2)
    request = JoinGroupRequest(
        group="g",
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        member="new",
        protocol_type="consumer",
        protocols=(),
    )
    resting.ask(request, step=STEP - 1)
    resting.answers.forget(ConnectionId(1))
    heartbeat(resting, 1, REBALANCE, step=STEP + 3)


def test_who_is_only_on_its_way_into_a_generation_is_not_judged(broker: AnsweringBroker) -> None:
    join(broker, 1)
    heartbeat(broker, 1, REBALANCE)
    assert broker.watch.looked[CAUSE] == 0
