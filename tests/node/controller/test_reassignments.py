"""Replicas move to other brokers (KIP-455), as safely as KIP-966 asks for."""

from dataclasses import replace

import pytest

from node.controller.partitions import reassignments
from node.errors import ErrorCode
from node.ids import NodeId
from node.records.metadata import PartitionChangeRecord
from node.wire.reassignments import (
    AlterReassignmentsRequest,
    AlterReassignmentsResponse,
    ListReassignmentsRequest,
    NamedPartition,
    OngoingReassignment,
    Reassignment,
)
from tests.support.brokers import Brokers

T0 = NamedPartition(topic="t", index=0)


def five_with_three() -> Brokers:
    """t-0 is on 1, 2 and 3, min ISR 2."""
    brokers = Brokers()
    brokers.come_up(1, 2, 3, 4, 5)
    brokers.create("t", (1, 2, 3), min_insync_replicas="2")
    return brokers


def reassigned(
    brokers: Brokers,
    *replicas: int,
    cancel: bool = False,
    may_resize: bool = True,
    partition: NamedPartition = T0,
) -> ErrorCode:
    asked = Reassignment(
        partition=partition, replicas=None if cancel else tuple(map(NodeId, replicas))
    )
    answer = brokers.ask(AlterReassignmentsRequest(reassignments=(asked,), may_resize=may_resize))
    assert isinstance(answer, AlterReassignmentsResponse)
    return answer.results[0].error


def placed(brokers: Brokers) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    found = brokers.partition()
    return found.replicas, found.adding, found.removing


def test_it_is_done_once_all_targets_are_in_sync() -> None:
    brokers = five_with_three()
    assert reassigned(brokers, 4, 5, 2) == ErrorCode.NONE
    assert placed(brokers) == ((4, 5, 2, 1, 3), (4, 5), (1, 3))
    assert brokers.state() == ((1, 2, 3), (), 1)
    brokers.propose(1, 2, 3, 4)
    assert placed(brokers) == ((4, 5, 2, 1, 3), (4, 5), (1, 3))
    before = brokers.partition()
    result = brokers.propose(1, 2, 3, 4, 5)
    assert result.error == ErrorCode.NEW_LEADER_ELECTED
    assert placed(brokers) == ((4, 5, 2), (), ())
    assert brokers.state() == ((2, 4, 5), (), 4)
    assert brokers.partition().leader_epoch == before.leader_epoch + 1


def test_replicas_in_another_order_are_so_at_once_and_keep_leader_and_disks() -> None:
    brokers = five_with_three()
    before = brokers.partition()
    assert reassigned(brokers, 3, 2, 1) == ErrorCode.NONE
    after = brokers.partition()
    assert after == replace(
        before,
        replicas=(3, 2, 1),
        directories=before.directories[::-1],
        partition_epoch=before.partition_epoch + 1,
    )


def test_it_is_not_done_while_the_isr_is_below_the_minimum() -> None:
    """KIP-966, other behaviors 4a: one target is in the ISR, and two have to be."""
    brokers = five_with_three()
    reassigned(brokers, 4, 5)
    brokers.propose(1, 4)
    brokers.fence(1)
    assert brokers.state() == ((4,), (1,), 4)
    assert placed(brokers) == ((4, 5, 1, 2, 3), (4, 5), (1, 2, 3))
    brokers.propose(4, 5)
    assert brokers.state() == ((4, 5), (), 4)
    assert placed(brokers) == ((4, 5), (), ())


def test_the_elr_is_of_the_final_replicas_once_it_is_done() -> None:
    """KIP-966, other behaviors 4."""
    brokers = five_with_three()
    brokers.propose(1, 2)
    brokers.propose(1)
    assert brokers.state() == ((1,), (2,), 1)
    reassigned(brokers, 1, 3, 4)
    assert brokers.partition().elr == (2,), "nothing is dropped before"
    brokers.propose(1, 3, 4)
    assert placed(brokers) == ((1, 3, 4), (), ())
    assert brokers.state() == ((1, 3, 4), (), 1)


def test_another_target_keeps_what_there_was_at_first() -> None:
    brokers = five_with_three()
    reassigned(brokers, 1, 2, 4)
    reassigned(brokers, 1, 2, 5)
    assert placed(brokers) == ((1, 2, 5, 3, 4), (4, 5), (3, 4))
    assert reassigned(brokers, cancel=True) == ErrorCode.NONE
    assert placed(brokers) == ((1, 2, 3), (), ())


def test_going_back_to_the_first_replicas_is_done_at_once() -> None:
    brokers = five_with_three()
    reassigned(brokers, 1, 2, 4)
    reassigned(brokers, 1, 2, 3)
    assert placed(brokers) == ((1, 2, 3), (), ())


def test_more_replicas_can_be_asked_for_while_one_is_removed() -> None:
    """Nobody is removed who is a target again."""
    brokers = five_with_three()
    reassigned(brokers, 1, 2, 4)
    reassigned(brokers, 1, 2, 3, 4)
    assert placed(brokers) == ((1, 2, 3, 4), (4,), ())
    brokers.propose(1, 2, 3, 4)
    assert placed(brokers) == ((1, 2, 3, 4), (), ())


def test_what_is_cancelled_leaves_no_added_replica_in_isr_or_elr() -> None:
    brokers = five_with_three()
    reassigned(brokers, 4, 5)
    brokers.propose(1, 2, 3, 4)
    assert reassigned(brokers, cancel=True) == ErrorCode.NONE
    assert brokers.state() == ((1, 2, 3), (), 1)
    assert placed(brokers) == ((1, 2, 3), (), ())
    assert reassigned(brokers, cancel=True) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_it_cannot_be_cancelled_where_fewer_than_the_minimum_are_left() -> None:
    """KIP-966, other behaviors 4b; in the ELR that would be left nobody had all."""
    brokers = five_with_three()
    reassigned(brokers, 4, 5)
    brokers.propose(1, 4)
    assert reassigned(brokers, cancel=True) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert brokers.state() == ((1, 4), (), 1)
    brokers.propose(1, 2, 4)
    assert reassigned(brokers, cancel=True) == ErrorCode.NONE
    assert brokers.state() == ((1, 2), (), 1)


def test_who_is_added_is_not_elected_for_that() -> None:
    """Though anybody may be where nobody is eligible: it holds nothing."""
    brokers = Brokers()
    brokers.come_up(1, 2)
    brokers.create("t", (1,), unclean_leader_election_enable="true")
    brokers.fence(1)
    reassigned(brokers, 2)
    assert brokers.state() == ((), (1,), -1)


@pytest.mark.parametrize(
    ("replicas", "error"),
    [
        ((), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((1, 1), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((1, 9), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((1, 2), ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_what_cannot_be_is_refused(replicas: tuple[int, ...], error: ErrorCode) -> None:
    brokers = five_with_three()
    assert reassigned(brokers, *replicas, may_resize=False) == error
    assert brokers.records == []


def test_the_number_of_replicas_is_that_of_the_targets() -> None:
    brokers = five_with_three()
    reassigned(brokers, 4, 5)
    assert reassigned(brokers, 4, 3, 2, may_resize=False) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert reassigned(brokers, 4, 3, may_resize=False) == ErrorCode.NONE


@pytest.mark.parametrize("partition", [replace(T0, index=7), replace(T0, topic="u")])
def test_what_is_not_there_is_not_reassigned(partition: NamedPartition) -> None:
    error = reassigned(five_with_three(), 4, 5, partition=partition)
    assert error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_one_partition_is_reassigned_once_in_a_request_as_it_is_said_last() -> None:
    brokers = five_with_three()
    first, last = (
        Reassignment(partition=T0, replicas=(NodeId(one), NodeId(other)))
        for one, other in ((4, 5), (5, 4))
    )
    answer = brokers.ask(AlterReassignmentsRequest(reassignments=(first, last)))
    assert isinstance(answer, AlterReassignmentsResponse)
    assert [each.error for each in answer.results] == [ErrorCode.NONE] * 2
    (record,) = brokers.records
    assert isinstance(record, PartitionChangeRecord)
    assert (record.replicas or ())[:2] == (5, 4)


@pytest.mark.parametrize("asked", [None, (T0, replace(T0, index=1), replace(T0, index=9))])
def test_what_is_reassigned_is_listed(asked: tuple[NamedPartition, ...] | None) -> None:
    brokers = Brokers()
    brokers.come_up(1, 2, 3, 4)
    brokers.create("t", (1, 2), (2, 3))
    reassigned(brokers, 4, 1)
    answer = reassignments.ongoing(brokers.image, ListReassignmentsRequest(partitions=asked))
    assert answer.ongoing == (
        OngoingReassignment(partition=T0, replicas=(4, 1, 2), adding=(4,), removing=(2,)),
    )
