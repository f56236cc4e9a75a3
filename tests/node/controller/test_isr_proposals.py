"""AlterPartition: what of a leader's proposal is looked at first, and who may not be in an ISR."""

from dataclasses import replace
from uuid import UUID

import pytest

from node.errors import ErrorCode
from node.ids import NodeId
from node.wire.alter_partition import (
    ANY_EPOCH,
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrMember,
    PartitionResult,
)
from tests.support.brokers import Brokers


def three() -> Brokers:
    """t-0 is on 1, 2 and 3; 1 leads, in leader epoch 1 and partition epoch 2; 4 is no replica."""
    brokers = Brokers()
    brokers.come_up(1, 2, 3, 4)
    brokers.create("t", (2, 1, 3), min_insync_replicas="2")
    brokers.fence(2)
    brokers.beat(2)
    brokers.propose(1, 3, 2)
    found = brokers.partition()
    assert (found.leader, found.leader_epoch, found.partition_epoch) == (1, 1, 2)
    return brokers


def refused(brokers: Brokers, *isr: int, by: int = 1, **changes: object) -> ErrorCode:
    before = brokers.partition()
    result = brokers.propose(*isr, by=by, **changes)
    assert brokers.records == []
    assert brokers.partition() == before
    return result.error


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"topic": UUID(int=9)}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"index": 3}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"leader_epoch": 2}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 3}, ErrorCode.NOT_CONTROLLER),
        # Whoever is ahead asks another controller: this one does not know yet (KAFKA-14154).
        ({"leader_epoch": 0, "partition_epoch": 3}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": 0}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader_epoch": 0, "partition_epoch": 1}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"partition_epoch": 1}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"partition_epoch": 1, "recovery": 1}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"recovery": 1}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_the_first_that_is_wrong_is_told(changes: dict[str, object], error: ErrorCode) -> None:
    assert refused(three(), 1, 3, by=1, **changes) == error


@pytest.mark.parametrize(
    ("isr", "by"), [((1, 4), 1), ((1, 1), 1), ((2, 3), 1), ((), 1), ((3, 1), 3)]
)
def test_an_isr_is_of_the_replicas_and_of_its_leader(isr: tuple[int, ...], by: int) -> None:
    assert refused(three(), *isr, by=by) == ErrorCode.INVALID_REQUEST


def test_nobody_recovers_again_who_has_recovered() -> None:
    """RECOVERING is of an unclean election alone (KIP-704)."""
    assert refused(three(), 1, recovery=1) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("how", ["fenced", "shutting down", "unregistered"])
def test_who_is_not_active_is_ineligible(how: str) -> None:
    """KIP-841; and the ISR stays that of before."""
    brokers = three()
    brokers.propose(1, 2)
    if how == "fenced":
        brokers.fence(3)
    elif how == "shutting down":
        brokers.create("u", (3,))  # or it might end at once
        brokers.beat(3, shutdown=True)
        assert not brokers.image.brokers.is_active(3)
    else:
        brokers.unregister(3)
    assert refused(brokers, 1, 2, 3) == ErrorCode.INELIGIBLE_REPLICA


def test_who_was_caught_up_in_another_life_is_ineligible() -> None:
    """KIP-903: what it fetched then, it may have lost since."""
    brokers = three()
    old = brokers.epoch(3)
    brokers.fence(3)
    brokers.come_up(3)
    members = (IsrMember(broker=NodeId(1), epoch=brokers.epoch(1)),)
    late = (*members, IsrMember(broker=NodeId(3), epoch=old))
    assert refused(brokers, isr=late) == ErrorCode.INELIGIBLE_REPLICA
    anew = (*members, IsrMember(broker=NodeId(3), epoch=brokers.epoch(3)))
    assert brokers.propose(isr=anew).error == ErrorCode.NONE
    of_version_2 = tuple(replace(each, epoch=ANY_EPOCH) for each in anew)
    assert brokers.propose(isr=of_version_2).error == ErrorCode.NONE


@pytest.mark.parametrize(
    ("broker", "behind", "error"),
    [(1, 1, ErrorCode.STALE_BROKER_EPOCH), (9, 0, ErrorCode.BROKER_ID_NOT_REGISTERED)],
)
def test_who_does_not_speak_for_a_broker_is_refused_whole(
    broker: int, behind: int, error: ErrorCode
) -> None:
    brokers = three()
    epoch = brokers.epoch(broker) - behind
    answer = brokers.ask(AlterPartitionRequest(broker=NodeId(broker), epoch=epoch, partitions=()))
    assert answer == AlterPartitionResponse(error=error)


def test_what_is_so_already_is_granted_and_writes_nothing() -> None:
    brokers = three()
    result = brokers.propose(1, 3, 2)
    assert isinstance(result, PartitionResult)
    assert (result.error, result.isr) == (ErrorCode.NONE, (1, 3, 2))
    assert brokers.records == []


def test_a_partition_is_altered_once_in_a_request() -> None:
    """Both would be by the state of before, and the second undo the first."""
    brokers = three()
    one = brokers.proposal(1, 3)
    answer = brokers.ask(
        AlterPartitionRequest(
            broker=NodeId(1), epoch=brokers.epoch(1), partitions=(one, brokers.proposal(1))
        )
    )
    assert isinstance(answer, AlterPartitionResponse)
    assert [each.error for each in answer.results] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert brokers.state() == ((1, 3), (), 1)
