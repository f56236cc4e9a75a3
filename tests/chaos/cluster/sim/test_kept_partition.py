"""What brokers keep and show of a partition, judged from inside: who breaks a rule is accused."""

from dataclasses import replace

import pytest

from chaos.cluster.sim.invariants.broker_watch import KeptPartition, Promised, shared
from chaos.cluster.sim.invariants.known_batches import NOTHING, KnownBatch, cut
from chaos.cluster.sim.invariants.rules import Broken
from node.controller.image.topics import RECOVERING, Partition
from node.ids import ZERO_UUID, NodeId, Offset
from node.records.batch import read_header
from tests.support.batches import batch

ONE, TWO, OTHER = (NodeId(node) for node in (1, 2, 3))
STATE = Partition(replicas=(1, 2, 3), isr=(1, 2, 3), leader=1, directories=(ZERO_UUID,) * 3)
PROMISED = Promised(state=STATE, min_isr=2, elr=True)


@pytest.fixture
def kept() -> KeptPartition:
    return KeptPartition("t-0")


def log_of(kept: KeptPartition, *batches: tuple[int, int], log: KnownBatch = NOTHING) -> KnownBatch:
    """Batches of one record by (offset, epoch), behind `log`."""
    for offset, epoch in batches:
        log = kept.batches.append(log, read_header(batch(offset, epoch)))
    return log


def accused(rule: str) -> "pytest.RaisesExc[Broken]":
    return pytest.raises(Broken, match=f"^{rule}-")


def test_an_honest_partition_is_not_accused(kept: KeptPartition) -> None:
    first = log_of(kept, (0, 0), (1, 0), (2, 0))
    kept.lead((ONE, 1), 0, NOTHING, PROMISED)
    kept.show(ONE, 0, first, Offset(2))
    kept.check_isr(first, Offset(2), {TWO: cut(first, Offset(2)), OTHER: first}, PROMISED)
    kept.lead((TWO, 1), 1, cut(first, Offset(2)), PROMISED)
    then = log_of(kept, (2, 1), log=cut(first, Offset(2)))
    kept.show(TWO, 1, then, Offset(3))
    kept.truncate(ONE, first, Offset(2), PROMISED)
    kept.show(ONE, 0, first, Offset(2))  # it hears late that it was deposed


def test_two_lead_in_one_epoch(kept: KeptPartition) -> None:
    kept.lead((ONE, 1), 4, NOTHING, PROMISED)
    kept.lead((ONE, 1), 4, NOTHING, PROMISED)
    with accused("P1"):
        kept.lead((TWO, 1), 4, NOTHING, PROMISED)


def test_a_restarted_leader_leads_on(kept: KeptPartition) -> None:
    kept.lead((ONE, 1), 4, NOTHING, PROMISED)
    with accused("P1"):
        kept.lead((ONE, 2), 4, NOTHING, PROMISED)


def test_a_leader_lacks_what_was_shown(kept: KeptPartition) -> None:
    kept.show(ONE, 0, log_of(kept, (0, 0), (1, 0)), Offset(2))
    kept.lead((OTHER, 1), 2, log_of(kept, (0, 0), (1, 0)), PROMISED)
    kept.lead((TWO, 1), 1, log_of(kept, (0, 0)), PROMISED)  # late: another one led since
    with accused("P10"):
        kept.lead((TWO, 1), 3, log_of(kept, (0, 0)), PROMISED)


@pytest.mark.parametrize(
    "promised",
    [
        replace(PROMISED, elr=False),
        replace(PROMISED, state=replace(STATE, recovery=RECOVERING)),
        replace(PROMISED, min_isr=1),
    ],
)
def test_what_is_not_promised_may_be_forgotten(kept: KeptPartition, promised: Promised) -> None:
    whole, short = log_of(kept, (0, 0), (1, 0)), log_of(kept, (0, 0))
    kept.show(ONE, 0, whole, Offset(2))
    kept.come_back(ONE, whole, short)
    kept.lead((ONE, 2), 1, short, promised)
    kept.show(OTHER, 0, whole, Offset(2))  # of before
    then = log_of(kept, (1, 1), log=short)
    kept.show(ONE, 1, then, Offset(2))
    with accused("P10"):
        kept.lead((TWO, 1), 2, whole, replace(PROMISED, min_isr=2))


def test_who_comes_back_after_loss_was_allowed_may_cut_what_it_took_for_committed(
    kept: KeptPartition,
) -> None:
    """Until a record of the leader that was elected then, or of a later one, is in its log."""
    whole = log_of(kept, (0, 0), (1, 0))
    kept.show(ONE, 0, whole, Offset(2))
    with accused("P16"):
        kept.check_cut(TWO, whole, 0, 2, PROMISED)
    kept.come_back(ONE, whole, NOTHING)
    kept.lead((ONE, 2), 1, NOTHING, replace(PROMISED, state=replace(STATE, recovery=RECOVERING)))
    kept.check_cut(TWO, whole, 0, 2, PROMISED)
    with accused("P16"):
        kept.check_cut(OTHER, log_of(kept, (0, 1), (1, 1)), 0, 2, PROMISED)


def test_who_has_all_again_is_not_counted_as_forgetful(kept: KeptPartition) -> None:
    whole, short = log_of(kept, (0, 0), (1, 0)), log_of(kept, (0, 0))
    kept.show(ONE, 0, whole, Offset(2))
    kept.come_back(TWO, whole, short)
    kept.recover({ONE: whole, TWO: whole, OTHER: whole}, PROMISED)
    kept.come_back(OTHER, whole, short)
    with accused("P10"):
        kept.lead((OTHER, 2), 1, short, PROMISED)


@pytest.mark.parametrize("logs", [{ONE, TWO}, {ONE, TWO, OTHER}])
def test_others_may_have_forgotten_since(kept: KeptPartition, logs: set[NodeId]) -> None:
    """Not all of the ISR have all, or nobody knows of one: nothing is settled."""
    whole, short = log_of(kept, (0, 0), (1, 0)), log_of(kept, (0, 0))
    kept.show(ONE, 0, whole, Offset(2))
    kept.come_back(TWO, whole, short)
    kept.recover({node: short if node == OTHER else whole for node in logs}, PROMISED)
    kept.come_back(OTHER, whole, short)
    kept.lead((OTHER, 2), 1, short, PROMISED)


def test_one_of_the_isr_lacks_what_is_shown(kept: KeptPartition) -> None:
    log = log_of(kept, (0, 0), (1, 0))
    kept.check_isr(log, Offset(1), {TWO: cut(log, Offset(1))}, PROMISED)
    with accused("P7"):
        kept.check_isr(log, Offset(2), {TWO: cut(log, Offset(1))}, PROMISED)


def test_another_log_is_shown(kept: KeptPartition) -> None:
    kept.show(ONE, 0, log_of(kept, (0, 0), (1, 0)), Offset(2))
    with accused("P11"):
        kept.show(TWO, 1, log_of(kept, (0, 0), (1, 1)), Offset(2))


def test_one_epoch_and_offset_with_other_bytes(kept: KeptPartition) -> None:
    log_of(kept, (0, 0))
    with accused("P11"):
        kept.batches.append(NOTHING, read_header(batch(0, 0, size=200)))


def test_a_follower_cuts_off_what_was_shown(kept: KeptPartition) -> None:
    log = log_of(kept, (0, 0), (1, 0), (2, 0))
    kept.show(ONE, 0, log, Offset(2))
    kept.truncate(TWO, log, Offset(2), PROMISED)
    with accused("P16"):
        kept.truncate(TWO, log, Offset(1), PROMISED)
    kept.truncate(TWO, log, Offset(1), replace(PROMISED, elr=False))


def test_a_follower_cuts_its_log_below_its_own_high_watermark(kept: KeptPartition) -> None:
    log = log_of(kept, (0, 0), (1, 0))
    with accused("P16"):
        kept.check_cut(TWO, log, 1, 2, PROMISED)
    kept.check_cut(TWO, log, 1, 2, replace(PROMISED, elr=False))


def test_a_high_watermark_that_is_behind_what_all_have(kept: KeptPartition) -> None:
    kept.check_kept_up(ONE, Offset(2), {ONE: Offset(4), TWO: Offset(2)})
    with accused("P18"):
        kept.check_kept_up(ONE, Offset(1), {ONE: Offset(4), TWO: Offset(2)})


def test_what_two_logs_share(kept: KeptPartition) -> None:
    one, other = log_of(kept, (0, 0), (1, 0), (2, 0)), log_of(kept, (0, 0), (1, 1))
    assert shared(one, other) is log_of(kept, (0, 0))
    assert shared(one, one) is one
    assert shared(one, NOTHING) is NOTHING
