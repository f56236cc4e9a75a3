"""One replica of a partition: KIP-841, KIP-966, and what Kafka does where they are silent."""

from dataclasses import replace
from uuid import UUID

import pytest

from node.errors import ErrorCode
from node.ids import Epoch, Offset
from node.wire.alter_partition import IsrMember, PartitionResult
from tests.support.led_partition import LAG, ME, TWO, LedPartition

# --- the high watermark ---


def test_it_is_the_end_that_all_of_the_isr_have() -> None:
    world = LedPartition()
    world.append(10)
    world.fetch(1, 10)
    assert world.hwm == 0, "2 has not fetched"
    world.fetch(2, 7)
    assert world.hwm == 7
    world.fetch(2, 9)
    world.fetch(1, 3)
    assert world.hwm == 9, "it never goes down"


def test_below_min_isr_it_stays_whatever_was_asked_of_the_records() -> None:
    """KIP-966, "Additional High Watermark advancement requirement": for acks 0 and 1 as well."""
    world = LedPartition(isr=(0,), min_isr=2)
    world.append(5)
    assert world.hwm == 0
    assert not world.replica.may_append_for_all()
    assert world.replica.acknowledgement(Offset(5)) is None


def test_min_isr_above_the_replication_factor_is_that() -> None:
    """KIP-966: the effective one is min(min.insync.replicas, replication factor)."""
    world = LedPartition(isr=(0, 1), min_isr=3, replicas=2)
    world.append(4)
    world.fetch(1, 4)
    assert world.hwm == 4
    assert world.replica.may_append_for_all()


def test_a_larger_maximal_isr_does_not_stand_in_for_the_committed_one() -> None:
    """KIP-966: ISR [0], ELR [1], maximal ISR [0, 2]. The ELR has nothing above."""
    world = LedPartition(isr=(0,), min_isr=2)
    world.append(3)
    proposal = world.fetch(2, 3)
    assert proposal is not None
    assert proposal.brokers == (0, 2)
    assert world.maximal == {0, 2}
    assert world.hwm == 0, "on two brokers, and the controller knows of one"
    world.answer(proposal)
    assert world.hwm == 0, "the min ISR that the controller went by stands in the metadata log"
    world.update(isr=(0, 2))
    assert world.hwm == 3, "as soon as the ISR is committed (KAFKA-13091)"


def test_what_is_committed_waits_for_the_maximal_isr() -> None:
    """KIP-966: "the message should be replicated to the maximal ISR"."""
    world = LedPartition(isr=(0, 1), min_isr=2)
    world.append(3)
    world.fetch(1, 3)
    assert world.hwm == 3
    proposal = world.fetch(2, 3)
    assert proposal is not None
    world.append()
    world.fetch(1, 4)
    assert world.hwm == 3
    world.fetch(2, 4)
    assert world.hwm == 4


def test_who_has_caught_up_is_waited_for_before_it_is_proposed() -> None:
    world = LedPartition(isr=(0, 1), min_isr=1)
    world.append(2)
    world.fetch(1, 2)
    world.inactive.add(2)
    world.fetch(2, 2)  # caught up, and fenced: not counted on
    world.append(1)
    world.fetch(1, 3)
    assert world.hwm == 3
    world.inactive.clear()
    world.append(1)
    world.fetch(1, 4)
    assert world.hwm == 3, "2 had caught up a moment ago"
    world.now += LAG + 1
    world.fetch(1, 4)
    assert world.hwm == 4


def test_alone_with_min_isr_1_it_is_the_log_end() -> None:
    world = LedPartition(isr=(0,), min_isr=1, end=4)
    assert world.hwm == 4
    world.append()
    assert world.hwm == 5


# --- acks ---


def test_acks_all_is_answered_once_the_isr_has_it() -> None:
    world = LedPartition()
    world.append(2)
    assert world.replica.acknowledgement(Offset(2)) is None
    world.fetch(1, 2)
    world.fetch(2, 2)
    assert world.replica.acknowledgement(Offset(2)) is ErrorCode.NONE


def test_acks_all_fails_if_the_isr_shrank_meanwhile() -> None:
    world = LedPartition()
    world.append(2)
    world.fetch(1, 2)
    world.fetch(2, 2)
    world.update(isr=(0,))
    assert world.replica.acknowledgement(Offset(2)) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


# --- the ISR ---


def test_a_follower_joins_with_the_epoch_in_which_it_fetched() -> None:
    """KIP-903."""
    world = LedPartition(isr=(0, 1))
    proposal = world.fetch(2, 0)
    assert proposal is not None
    assert IsrMember(broker=TWO, epoch=102) in proposal.isr


def test_a_follower_below_the_high_watermark_or_the_epochs_start_does_not_join() -> None:
    world = LedPartition(isr=(0, 1), end=5)
    assert world.fetch(2, 4) is None, "the leader began with 5"
    world.append(3)
    world.fetch(1, 8)
    assert world.hwm == 8
    assert world.fetch(2, 7) is None
    assert world.fetch(2, 8) is not None


@pytest.mark.parametrize("epoch", [102, 103])
def test_an_inactive_or_restarted_follower_is_not_proposed(epoch: int) -> None:
    """KIP-841: the leader only considers active replicas; KIP-903: of that broker epoch."""
    world = LedPartition(isr=(0, 1))
    if epoch == 102:
        world.inactive.add(2)
    world.epochs[2] = 102
    assert world.replica.fetched_by(TWO, Offset(0), epoch, world.now) is None
    world.inactive.clear()
    assert world.fetch(2, 0) is not None


def test_one_proposal_at_a_time() -> None:
    world = LedPartition(isr=(0,), min_isr=1)
    assert world.fetch(1, 0) is not None
    assert world.fetch(2, 0) is None
    assert world.replica.shrinking(world.now + LAG + 2) is None


def test_who_does_not_fetch_is_shrunk_from_the_isr_and_counted_on_until_then() -> None:
    world = LedPartition()
    world.append(2)
    world.fetch(1, 2)
    world.now += LAG + 1
    world.fetch(1, 2)
    proposal = world.replica.shrinking(world.now)
    assert proposal is not None
    assert proposal.brokers == (0, 1)
    assert world.maximal == {0, 1, 2}
    assert world.hwm == 0
    world.answer(proposal)
    assert world.hwm == 0
    world.update(isr=(0, 1))
    assert world.hwm == 2


def test_an_isr_of_all_replicas_is_in_force_when_it_is_answered() -> None:
    """No min ISR is larger."""
    world = LedPartition(isr=(0, 1), min_isr=3)
    world.append(2)
    world.fetch(1, 2)
    proposal = world.fetch(2, 2)
    assert proposal is not None
    assert world.hwm == 0
    world.answer(proposal)
    assert world.hwm == 2
    assert world.replica.leading is not None
    assert world.replica.leading.isr.pending is None


def test_an_isr_that_was_in_force_is_told_by_no_record() -> None:
    """The controller had it already: the leader may propose another."""
    world = LedPartition(isr=(0, 1), min_isr=1)
    world.append(2)
    world.now += LAG + 1
    proposal = world.replica.shrinking(world.now)
    assert proposal is not None
    known = PartitionResult(
        topic=UUID(int=9),
        index=0,
        leader=ME,
        leader_epoch=proposal.leader_epoch,
        partition_epoch=proposal.partition_epoch,
        isr=(0, 1),
    )
    assert not world.replica.on_response(proposal, known, world.now)
    assert world.maximal == {0, 1}
    assert world.replica.shrinking(world.now) is not None


def test_a_follower_at_the_end_is_in_sync_however_long_it_is_silent() -> None:
    world = LedPartition(isr=(0, 1))
    world.append(2)
    world.fetch(1, 2)
    assert world.replica.shrinking(world.now + 10 * LAG) is None


def test_under_load_who_has_what_there_was_at_its_last_fetch_has_caught_up() -> None:
    world = LedPartition(isr=(0, 1))
    for _ in range(20):
        world.append(1)
        end = world.replica.end
        world.now += LAG // 2
        world.append(1)
        world.fetch(1, end)
        assert world.replica.shrinking(world.now) is None


@pytest.mark.parametrize(
    "error", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.UNKNOWN_TOPIC_ID], ids=lambda e: e.name
)
def test_what_the_controller_refused_is_taken_back(error: ErrorCode) -> None:
    """KIP-841: "revert back its state to the last committed state"."""
    world = LedPartition(isr=(0, 1))
    world.append(3)
    world.fetch(1, 3)
    proposal = world.fetch(2, 3)
    assert proposal is not None
    assert not world.answer(proposal, error)
    assert world.maximal == {0, 1}
    assert world.fetch(2, 3) is not None, "a later Fetch tries again"


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
    ],
    ids=lambda e: e.name,
)
def test_where_it_may_have_taken_effect_the_metadata_log_is_awaited(error: ErrorCode) -> None:
    """Were it taken back, records could be shown that a new member of the ISR does not have."""
    world = LedPartition(isr=(0, 1))
    world.append(3)
    world.fetch(1, 3)
    proposal = world.fetch(2, 3)
    assert proposal is not None
    assert not world.answer(proposal, error)
    world.append(1)
    world.fetch(1, 4)
    assert world.maximal == {0, 1, 2}
    assert world.hwm == 3
    world.update(isr=(0, 1))
    assert world.maximal == {0, 1}


def test_other_errors_are_asked_again_with_the_same_proposal() -> None:
    world = LedPartition(isr=(0, 1))
    proposal = world.fetch(2, 0)
    assert proposal is not None
    assert world.answer(proposal, ErrorCode.NOT_CONTROLLER)
    assert world.maximal == {0, 1, 2}


def test_an_answer_that_the_metadata_log_has_overtaken_changes_nothing() -> None:
    world = LedPartition(isr=(0, 1))
    proposal = world.fetch(2, 0)
    assert proposal is not None
    world.update(isr=(0,))
    world.answer(proposal)
    assert world.maximal == {0}
    assert world.state.isr == (0,)


def test_an_older_state_is_ignored() -> None:
    world = LedPartition()
    newer = replace(world.state, partition_epoch=20, isr=(0,))
    world.replica.update(newer, 2, world.now)
    world.replica.update(world.state, 2, world.now)
    assert world.maximal == {0}


def test_a_new_leader_epoch_begins_anew() -> None:
    """Ends that were told to this leader in an older epoch say nothing: logs were cut since."""
    world = LedPartition()
    world.append(3)
    world.fetch(1, 3)
    world.fetch(2, 3)
    world.update(leader_epoch=6)
    assert world.replica.leading is not None
    assert world.replica.leading.epoch_start == 3
    world.replica.appended(Epoch(6), Offset(3), Offset(4), world.now)
    world.fetch(1, 4)
    assert world.hwm == 3
    world.fetch(2, 4)
    assert world.hwm == 4


def test_who_has_lagged_for_too_long_is_not_waited_for() -> None:
    """It is outside the ISR; nobody fetches and nobody appends."""
    led = LedPartition(isr=(0,), min_isr=1, replicas=2)
    proposal = led.fetch(1, 0)
    assert proposal is not None
    led.append()
    led.answer(proposal, ErrorCode.INELIGIBLE_REPLICA)
    assert not led.replica.look_again(led.now + LAG)
    assert led.hwm == 0
    assert led.replica.look_again(led.now + LAG + 1)
    assert led.hwm == 1
