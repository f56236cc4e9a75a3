"""A broker says on which of its disks its replicas are (KIP-858), and what a lost disk means."""

from dataclasses import replace
from uuid import UUID

import pytest

from node.errors import ErrorCode
from node.ids import NodeId
from node.wire.alter_partition import (
    AssignDirectoriesRequest,
    AssignDirectoriesResponse,
    AssignedReplica,
)
from node.wire.registration import BrokerHeartbeatRequest
from tests.support.brokers import Brokers

ONE, OTHER, LOST = (UUID(int=(1 << 92) + n) for n in range(3))


def with_two_disks(*, level: int = 30) -> Brokers:
    """Broker 1 has two disks; t-0 is on 1, 2 and 3, min ISR 2."""
    brokers = Brokers(level=level, elr=level == 30)
    brokers.register(1, directories=(ONE, OTHER))
    brokers.beat(1)
    brokers.come_up(2, 3)
    brokers.create("t", (1, 2, 3), min_insync_replicas="2")
    return brokers


def replica(brokers: Brokers, directory: UUID, index: int = 0) -> AssignedReplica:
    topic = brokers.image.topics.named("t")
    assert topic is not None
    return AssignedReplica(directory=directory, topic=topic.id, index=index)


def assigned(
    brokers: Brokers, *replicas: AssignedReplica, broker: int = 1, epoch: int | None = None
) -> tuple[ErrorCode, list[ErrorCode]]:
    answer = brokers.ask(
        AssignDirectoriesRequest(
            broker=NodeId(broker),
            epoch=brokers.epoch(broker) if epoch is None else epoch,
            replicas=replicas,
        )
    )
    assert isinstance(answer, AssignDirectoriesResponse)
    return answer.error, [each.error for each in answer.results]


def test_the_directory_alone_changes() -> None:
    brokers = with_two_disks()
    before = brokers.partition()
    assert assigned(brokers, replica(brokers, OTHER)) == (ErrorCode.NONE, [ErrorCode.NONE])
    assert brokers.partition() == replace(
        before,
        directories=(OTHER, *before.directories[1:]),
        partition_epoch=before.partition_epoch + 1,
    )
    assert assigned(brokers, replica(brokers, OTHER)) == (ErrorCode.NONE, [ErrorCode.NONE])
    assert brokers.records == [], "it is there already"


def test_who_is_eligible_stays_so() -> None:
    """E3; what Apache Kafka 4.3 forgets (`PR 20716`)."""
    brokers = with_two_disks()
    brokers.propose(1, 2)
    brokers.propose(1)
    assert brokers.state() == ((1,), (2,), 1)
    assigned(brokers, replica(brokers, OTHER))
    assert brokers.state() == ((1,), (2,), 1)


def test_a_disk_that_the_broker_does_not_have_holds_nobody_in_sync() -> None:
    brokers = with_two_disks()
    assigned(brokers, replica(brokers, LOST))
    assert brokers.state() == ((2, 3), (), 2)
    assert brokers.partition().directories[0] == LOST


def test_a_replica_that_is_found_again_may_lead() -> None:
    brokers = with_two_disks()
    brokers.propose(1)
    assigned(brokers, replica(brokers, LOST))
    assert brokers.partition().leader == 2, "1 left the ISR, and 2 was eligible"
    for broker in (2, 3):
        brokers.fence(broker)
    brokers.register(2)
    brokers.register(3)
    assert brokers.partition().leader == -1
    assigned(brokers, replica(brokers, ONE))
    assert brokers.state() == ((1,), (), 1)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"topic": UUID(int=5)}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"index": 4}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_what_is_not_there_is_not_assigned(changes: dict[str, object], error: ErrorCode) -> None:
    brokers = with_two_disks()
    wrong = replace(replica(brokers, ONE), **changes)  # type: ignore[arg-type]
    assert assigned(brokers, wrong, replica(brokers, ONE)) == (
        ErrorCode.NONE,
        [error, ErrorCode.NONE],
    )


def test_who_is_no_replica_assigns_none() -> None:
    brokers = with_two_disks()
    brokers.come_up(4)
    _, errors = assigned(brokers, replica(brokers, ONE), broker=4)
    assert errors == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_a_replica_is_assigned_once_in_a_request() -> None:
    brokers = with_two_disks()
    _, errors = assigned(brokers, replica(brokers, ONE), replica(brokers, OTHER))
    assert errors == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]


def test_who_speaks_in_another_epoch_or_too_early_is_refused_whole() -> None:
    brokers = with_two_disks()
    wrong = assigned(brokers, replica(brokers, ONE), epoch=brokers.epoch(1) - 1)
    assert wrong == (ErrorCode.STALE_BROKER_EPOCH, [])
    older = with_two_disks(level=16)
    assert assigned(older, replica(older, ONE)) == (ErrorCode.UNSUPPORTED_VERSION, [])


def test_who_is_unfenced_without_a_disk_leads_nothing_on_it() -> None:
    """The disk failed while the broker was fenced: it is told with what asks to be unfenced."""
    brokers = with_two_disks()
    assigned(brokers, replica(brokers, OTHER))
    for broker in (2, 3, 1):
        brokers.fence(broker)
    brokers.register(2)
    brokers.register(3)
    assert brokers.state() == ((), (1,), -1)
    brokers.ask(
        BrokerHeartbeatRequest(
            broker=NodeId(1),
            epoch=brokers.epoch(1),
            metadata_offset=brokers.offset,
            want_fence=False,
            want_shutdown=False,
            offline=(OTHER,),
        )
    )
    assert brokers.image.brokers.is_active(1)
    assert brokers.state() == ((), (1,), -1)


def test_who_is_fenced_as_its_disk_fails_changes_each_partition_once() -> None:
    brokers = with_two_disks()
    assigned(brokers, replica(brokers, OTHER))
    before = brokers.partition()
    brokers.ask(
        BrokerHeartbeatRequest(
            broker=NodeId(1),
            epoch=brokers.epoch(1),
            metadata_offset=brokers.offset,
            want_fence=True,
            want_shutdown=False,
            offline=(OTHER,),
        )
    )
    after = brokers.partition()
    assert (after.isr, after.leader) == ((2, 3), 2)
    assert after.leader_epoch == before.leader_epoch + 1
    assert after.partition_epoch == before.partition_epoch + 1


@pytest.mark.parametrize(("left", "elr"), [((ONE, OTHER), (1,)), ((ONE,), ()), ((OTHER,), (1,))])
def test_a_clean_shutdown_does_not_vouch_for_a_directory_that_is_missing(
    left: tuple[UUID, ...], elr: tuple[int, ...]
) -> None:
    """Else an empty log that is made in another directory would be eligible."""
    brokers = with_two_disks()
    assigned(brokers, replica(brokers, OTHER))
    brokers.fence(3)
    brokers.fence(1)
    assert brokers.state() == ((2,), (1,), 2)
    brokers.register(1, clean=True, directories=left)
    assert brokers.state() == ((2,), elr, 2)


@pytest.mark.parametrize(("left", "elr"), [((ONE, OTHER), (1,)), ((OTHER,), ())])
def test_nor_for_a_replica_that_may_have_been_in_it(
    left: tuple[UUID, ...], elr: tuple[int, ...]
) -> None:
    """Its broker had not said yet where it is."""
    brokers = with_two_disks()
    brokers.fence(3)
    brokers.fence(1)
    brokers.register(1, clean=True, directories=left)
    assert brokers.state() == ((2,), elr, 2)
