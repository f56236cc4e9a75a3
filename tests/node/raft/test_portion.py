"""A follower that is far behind decodes a bounded number of records in a step, and catches up."""

import pytest

from node.effects import AppendBatches
from node.limits import MAX_RECORDS_PER_STEP
from node.outbox import Output
from node.raft.fetch_follower import portion
from node.records.batch import Batch, split_batches
from tests.bench.behind import RECORDS, SIZES, catch_up, config, leaders_log
from tests.support.rig import QUIET, Rig, batch


@pytest.mark.parametrize("size", SIZES)
def test_no_step_takes_or_replays_more(size: int) -> None:
    taken: list[int] = []

    def watch(output: Output) -> None:
        if isinstance(output, AppendBatches):
            taken.append(sum(each.header.record_count for each in split_batches(output.data)))

    leader = leaders_log(config, size)
    rig = Rig(timeouts=QUIET, watch=watch)
    catch_up(rig, leader)
    assert rig.log.batches == leader.batches
    assert max(taken) <= MAX_RECORDS_PER_STEP
    assert sum(taken) == rig.core.role.controller.applied == RECORDS
    last = rig.core.role.controller.image.config((16, f"r{RECORDS - 1}"))
    assert last == {"interval.ms": "1000"}


@pytest.mark.parametrize(
    ("counts", "taken"),
    [
        ((MAX_RECORDS_PER_STEP - 5,), 1),
        ((MAX_RECORDS_PER_STEP - 11, 1), 2),
        ((MAX_RECORDS_PER_STEP - 10, 1), 1),
        ((MAX_RECORDS_PER_STEP + 1, 1), 1),
        ((1, MAX_RECORDS_PER_STEP), 1),
        ((1,) * MAX_RECORDS_PER_STEP, MAX_RECORDS_PER_STEP // 6),
        ((), 0),
    ],
)
def test_a_portion_is_one_batch_at_least(counts: tuple[int, ...], taken: int) -> None:
    batches: list[Batch] = []
    base = 0
    for count in counts:
        batches += split_batches(batch(base, 1, count=count))
        base += count
    assert list(portion(batches)) == batches[:taken]
