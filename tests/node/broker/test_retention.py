"""Which segments are kept: against the rule told once more, and on whole brokers."""

from dataclasses import dataclass, replace
from random import Random

import pytest

from node.broker.replicas.retention import CUT_AT_ONCE, first_kept
from node.effects import AppendBatches, RaiseLogStarts
from node.ids import MS, Offset
from node.storage.log import perform
from tests.support.batches import batch
from tests.support.broker_world import BROKER_ROLE
from tests.support.orders import IDS, Orders
from tests.support.stepped_broker import SteppedBroker


@dataclass
class Kept:
    base: Offset
    size: int
    newest_ms: int


def segments(*rows: tuple[int, int, int]) -> list[Kept]:
    return [Kept(Offset(base), size, newest_ms) for base, size, newest_ms in rows]


FOUR = segments((0, 100, 10), (5, 100, 20), (9, 100, 30), (12, 50, 40))


@pytest.mark.parametrize(
    ("wall_ms", "age_ms", "size", "high_watermark", "first"),
    [
        (100, -1, -1, 15, 0),  # no limit
        (100, 85, -1, 15, 5),  # what is older than 15
        (100, 80, -1, 15, 5),  # 20 is just as old as may be
        (100, 79, -1, 15, 9),
        (100, 10, -1, 15, 15),  # all of it
        (100, 10, -1, 14, 12),  # the last one is not all committed
        (100, 10, -1, 8, 5),
        (100, -1, 350, 15, 0),
        (100, -1, 250, 15, 5),  # 250 are left
        (100, -1, 249, 15, 5),  # another one would make it too little
        (100, -1, 0, 15, 12),  # the last one stays
        (100, 79, 150, 15, 9),
    ],
)
def test_what_is_kept(
    wall_ms: int, age_ms: int, size: int, high_watermark: int, first: int
) -> None:
    assert first == first_kept(
        FOUR,
        end=Offset(15),
        high_watermark=Offset(high_watermark),
        wall_ms=wall_ms,
        retention_ms=age_ms,
        retention_bytes=size,
    )


def test_a_segment_without_a_time_is_of_no_age() -> None:
    assert (
        first_kept(
            segments((0, 10, -1), (5, 10, 3)),
            end=Offset(9),
            high_watermark=Offset(9),
            wall_ms=1000,
            retention_ms=1,
            retention_bytes=-1,
        )
        == 0
    )


@pytest.mark.parametrize("seed", range(200))
def test_nothing_goes_that_is_to_stay_and_nothing_stays_that_is_to_go(seed: int) -> None:
    """By the first segment that stays: it is young, and what is left without it is too little."""
    rng = Random(seed)
    count = rng.randrange(1, 8)
    bases = sorted(rng.sample(range(1, 100), count - 1))
    found = [Kept(Offset(base), rng.randrange(1, 50), rng.randrange(100)) for base in (0, *bases)]
    age, limit = rng.choice([-1, rng.randrange(100)]), rng.choice([-1, rng.randrange(200)])
    mark = Offset(rng.randrange(120))
    first = first_kept(
        found,
        end=Offset(120),
        high_watermark=mark,
        wall_ms=100,
        retention_ms=age,
        retention_bytes=limit,
    )
    ends = [*bases, 120]
    assert first in (0, *ends)
    kept = [each for each in found if each.base >= first]
    gone = [each for each in found if each.base < first]
    assert first <= max(mark, 0)
    for position, each in enumerate(gone):
        left = sum(one.size for one in found[position + 1 :])
        is_old = age != -1 and each.newest_ms < 100 - age
        assert is_old or (limit != -1 and left >= limit and each is not found[-1])
    if kept and ends[len(gone)] <= mark:
        assert age == -1 or kept[0].newest_ms >= 100 - age
        assert limit == -1 or len(kept) == 1 or sum(one.size for one in kept[1:]) < limit


def test_old_segments_go_on_all_brokers() -> None:
    """Records are of the first milliseconds of 1970, and the world's clock is a second on."""
    role = replace(BROKER_ROLE, segment_bytes=200, retention_ms=500, retention_check_ms=1000)
    orders = Orders(role=replace(role, retention_delay_ms=10_000))
    orders.produced(20)
    assert {len(orders.log(broker).segments) for broker in IDS} != {1}
    orders.world.run_ms(15_000)
    assert [orders.log(broker).start for broker in IDS] == [20, 20, 20]
    assert [len(orders.log(broker).segments) for broker in IDS] == [1, 1, 1]
    orders.produced(1)
    assert orders.read(20) == [20]


def test_large_logs_keep_their_last_segments() -> None:
    role = replace(BROKER_ROLE, segment_bytes=200, retention_bytes=450, retention_ms=-1)
    orders = Orders(role=replace(role, retention_delay_ms=1000, retention_check_ms=1000))
    orders.produced(20)
    orders.world.run_ms(5000)
    sizes = [sum(each.size for each in orders.log(broker).segments) for broker in IDS]
    assert all(450 <= size < 450 + 200 for size in sizes)
    first = orders.log(IDS[0]).start
    assert orders.read(first)[0] == first
    assert orders.log(IDS[0]).next_offset == 20


def test_some_logs_are_cut_in_one_step() -> None:
    """Each of them is some flushes, and others wait meanwhile."""
    first = SteppedBroker(partitions=3)
    for name, log in first.replicas.items():
        perform(AppendBatches(log=name, data=batch(0, epoch=0, timestamp_ms=0)), log)
    broker = SteppedBroker(partitions=3, disk=first.disk)
    broker.now_ns = 8 * 24 * 3_600_000 * MS
    cut: list[int] = []
    for _ in range(10):
        broker.elapse()
        cut += [len(each.starts) for each in broker.effects if isinstance(each, RaiseLogStarts)]
    assert cut == [CUT_AT_ONCE] * 3 + [1]
    assert {log.start for log in broker.replicas.values()} == {1}
