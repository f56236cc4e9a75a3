"""Leader epochs of a replica: who is refused, where logs part, and where they are cut (KIP-101)."""

import pytest

from node.broker.replicas.replica import Replica
from node.errors import ErrorCode
from node.ids import Epoch, LogPosition, Offset
from node.storage.checkpoints import LeaderEpochs
from tests.support.led_partition import LAG, ME, LedPartition

# --- epochs ---


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (-1, ErrorCode.NONE),
        (5, ErrorCode.NONE),
        (4, ErrorCode.FENCED_LEADER_EPOCH),
        (6, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_requests_of_another_epoch_are_refused(epoch: int, error: ErrorCode) -> None:
    assert LedPartition().replica.refusal(epoch) is error


def test_who_does_not_lead_says_so() -> None:
    world = LedPartition()
    world.update(leader=1, leader_epoch=6)
    assert world.replica.refusal(6) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert world.replica.refusal(-1) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_fresh_leader_does_not_know_its_high_watermark() -> None:
    world = LedPartition(end=5)
    assert not world.replica.knows_its_high_watermark
    world.fetch(1, 5)
    world.fetch(2, 5)
    assert world.replica.knows_its_high_watermark


EPOCHS = LeaderEpochs([Epoch(1), Epoch(3), Epoch(6)], [Offset(0), Offset(10), Offset(20)])


def replica_with(epochs: LeaderEpochs, end: int, high_watermark: int = 0) -> Replica:
    copy = LeaderEpochs(list(epochs.epochs), list(epochs.starts))
    return Replica(
        ME,
        end=Offset(end),
        epochs=copy,
        high_watermark=Offset(high_watermark),
        may_join=lambda _broker, _epoch: True,
        lag_ns=LAG,
    )


@pytest.mark.parametrize(
    ("last_epoch", "offset", "expected"),
    [
        (6, 25, None),
        (6, 30, None),
        (6, 31, (6, 30)),
        (3, 15, None),
        (3, 20, None),
        (3, 21, (3, 20)),
        (5, 25, (3, 20)),
        (-1, 25, None),
        (1, 0, None),
        (0, 5, (0, 0)),
    ],
)
def test_where_a_follower_parts(
    last_epoch: int, offset: int, expected: tuple[int, int] | None
) -> None:
    found = replica_with(EPOCHS, 30).divergence(last_epoch, Offset(offset))
    assert found == (
        None if expected is None else LogPosition(Epoch(expected[0]), Offset(expected[1]))
    )


@pytest.mark.parametrize(
    ("epoch", "offset", "expected"),
    [(3, 15, 15), (3, 25, 20), (4, 25, 20), (6, 22, 22), (2, 5, 10), (0, 0, 0)],
)
def test_where_a_follower_cuts(epoch: int, offset: int, expected: int) -> None:
    """The lower of both ends of an epoch that both have, else the end of the one before."""
    assert (
        replica_with(EPOCHS, 30).truncation(LogPosition(Epoch(epoch), Offset(offset))) == expected
    )


def test_a_cut_takes_the_high_watermark_along() -> None:
    replica = replica_with(EPOCHS, 30, high_watermark=25)
    replica.truncated(Offset(15))
    assert replica.high_watermark == 15
    assert replica.position() == LogPosition(Epoch(3), Offset(15))
    replica.told_high_watermark(Offset(40))
    assert replica.high_watermark == 15
    replica.told_high_watermark(Offset(12))
    assert replica.high_watermark == 12
