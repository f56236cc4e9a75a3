"""Where epochs end and logs begin: only what is not so is accused."""

import pytest

from chaos.cluster.sim.invariants.broker_watch import Begun
from chaos.cluster.sim.invariants.rules import Broken
from node.errors import ErrorCode
from node.ids import NodeId, Offset
from node.wire.entities import TopicPartition
from node.wire.offsets import (
    DeletedRecords,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    EpochEnd,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    RecordsToDelete,
    SoughtEpoch,
)
from tests.support.answering_broker import KEY, LEADER_EPOCH, ONE, STEP, TWO, AnsweringBroker
from tests.support.batches import batch

AT = TopicPartition(name="orders", index=0)
OLD, OLDER = LEADER_EPOCH - 1, LEADER_EPOCH - 3
Error = ErrorCode


@pytest.fixture
def broker() -> AnsweringBroker:
    """It has two records of an older epoch, one of the epoch before its own, and one of its own;
    three of them are published."""
    answering = AnsweringBroker()
    for base, epoch in enumerate((OLDER, OLDER, OLD)):
        answering.append(batch(base, epoch))
    answering.append(batch(3, LEADER_EPOCH), ONE)
    answering.publish(3)
    for life in answering.lives.values():
        life.log_starts[KEY] = Offset(0)
    return answering


def accused(rule: str) -> "pytest.RaisesExc[Broken]":
    return pytest.raises(Broken, match=f"^{rule}: n1 ")


def ended(
    broker: AnsweringBroker,
    sought: int,
    epoch: int = -1,
    end: int = -1,
    error: Error = Error.NONE,
    *,
    step: int = STEP,
) -> None:
    request = OffsetForLeaderEpochRequest(partitions=(SoughtEpoch(partition=AT, sought=sought),))
    told = EpochEnd(partition=AT, error=error, epoch=epoch, end=end)
    broker.answer(request, OffsetForLeaderEpochResponse(partitions=(told,)), step=step)


@pytest.mark.parametrize(
    ("sought", "epoch", "end"),
    [
        (LEADER_EPOCH, LEADER_EPOCH, 4),
        (OLD, OLD, 3),
        (OLD - 1, OLDER, 2),
        (OLDER, OLDER, 2),
        (OLDER - 1, OLDER - 1, 0),  # before all of the log
        (LEADER_EPOCH + 1, -1, -1),
        (-1, -1, -1),
    ],
)
def test_an_epoch_ends_where_the_next_one_begins(
    broker: AnsweringBroker, sought: int, epoch: int, end: int
) -> None:
    ended(broker, sought, epoch, end)
    assert broker.watch.looked["told-epochs-end-there"] == 1
    for wrong in ((epoch, end + 1), (epoch, end - 1)):
        with accused("told-epochs-end-there"):
            ended(broker, sought, *wrong)


def test_an_epoch_that_a_log_has_is_not_told_as_another(broker: AnsweringBroker) -> None:
    with accused("told-epochs-end-there"):
        ended(broker, OLD, OLDER, 3)
    with accused("told-epochs-end-there"):
        ended(broker, OLD)  # as if nothing were known of it


def test_of_a_log_that_begins_later_its_epochs_do_too(broker: AnsweringBroker) -> None:
    broker.held.log_starts[KEY] = Offset(2)
    ended(broker, OLDER, OLDER, 2)
    with accused("told-epochs-end-there"):
        ended(broker, OLDER, OLDER, 1)


def test_a_leader_of_no_records_has_its_epoch_all_the_same() -> None:
    broker = AnsweringBroker()
    broker.append(batch(0, OLD))
    ended(broker, LEADER_EPOCH, LEADER_EPOCH, 1)
    ended(broker, OLD, OLD, 1)


def test_who_leads_does_not_deny_it_of_epochs(broker: AnsweringBroker) -> None:
    with accused("leaders-do-not-deny-it"):
        ended(broker, OLD, error=Error.NOT_LEADER_OR_FOLLOWER)
    with accused("refused-epochs-are-others"):
        ended(broker, OLD, error=Error.FENCED_LEADER_EPOCH)
    broker.held.begun[KEY] = Begun(step=STEP + 3, epoch=LEADER_EPOCH, leads=True, end=3)
    ended(broker, OLD, OLD, 77)  # it began to lead after it was asked


def deleted(
    broker: AnsweringBroker,
    before: int,
    low: int = -1,
    error: Error = Error.NONE,
    *,
    waited_ms: int = 0,
) -> None:
    request = DeleteRecordsRequest(
        timeout_ms=500, partitions=(RecordsToDelete(partition=AT, offset=before),)
    )
    broker.ask(request)
    broker.now_ms += waited_ms
    told = DeletedRecords(partition=AT, error=error, low_watermark=low)
    broker.say(DeleteRecordsResponse(partitions=(told,)))


def begin_at(broker: AnsweringBroker, start: int, *nodes: NodeId) -> None:
    for node in nodes or broker.lives:
        broker.lives[node].log_starts[KEY] = Offset(start)


def test_what_all_have_deleted_is_deleted(broker: AnsweringBroker) -> None:
    begin_at(broker, 2)
    deleted(broker, 2, 2)
    deleted(broker, 1, 2)  # it was before
    assert broker.watch.looked["acknowledged-deletions-are-done"] == 2


def test_a_deletion_that_one_has_not_done_is_none(broker: AnsweringBroker) -> None:
    begin_at(broker, 2, ONE, TWO)
    with accused("acknowledged-deletions-are-done"):
        deleted(broker, 2, 2)


@pytest.mark.parametrize(("before", "low"), [(2, 1), (4, 4), (2, 3)])
def test_a_low_watermark_is_the_logs(broker: AnsweringBroker, before: int, low: int) -> None:
    begin_at(broker, 2)
    with accused("acknowledged-deletions-are-done"):
        deleted(broker, before, low)


def test_who_is_off_is_not_waited_for(broker: AnsweringBroker) -> None:
    begin_at(broker, 2, ONE, TWO)
    image = broker.watch.changes.image
    gone = image.brokers.find(3)
    assert gone is not None
    image.brokers._put(3, None)
    deleted(broker, 2, 2)


def test_only_what_is_not_committed_is_out_of_range(broker: AnsweringBroker) -> None:
    deleted(broker, 4, error=Error.OFFSET_OUT_OF_RANGE)
    with accused("out-of-range-is-outside"):
        deleted(broker, 3, error=Error.OFFSET_OUT_OF_RANGE)


def test_a_deletion_is_waited_for(broker: AnsweringBroker) -> None:
    deleted(broker, 2, error=Error.REQUEST_TIMED_OUT, waited_ms=500)
    with accused("timed-out-was-waited-for"):
        deleted(broker, 2, error=Error.REQUEST_TIMED_OUT, waited_ms=499)
