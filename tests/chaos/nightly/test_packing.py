"""How many runs go on at a time, on machines of many sizes."""

from random import Random

import pytest

from chaos.nightly.carry_out import Packing
from checkers.evidence.starvation import STARVED, strain

GIB = 1 << 20
PLENTY = 1000 * GIB


def test_it_begins_with_half_of_the_processors_for_containers() -> None:
    four = Packing(4, 4, has_containers=True, free_kib=PLENTY)
    assert (four.contained, four.simulated) == (2, 2)
    one = Packing(1, 1, has_containers=True, free_kib=PLENTY)
    assert (one.contained, one.simulated) == (1, 1)
    virtual = Packing(4, 4, has_containers=False)
    assert (virtual.most_contained, virtual.most_simulated) == (0, 4)


def test_clusters_have_room_in_memory_and_one_is_always_tried() -> None:
    assert Packing(16, 16, has_containers=True, free_kib=7 * GIB).most_contained == 2
    assert Packing(16, 16, has_containers=True, free_kib=1 * GIB).most_contained == 1


def test_near_the_bound_simulated_runs_give_way_first_and_one_of_each_goes_on() -> None:
    packing = Packing(4, 4, has_containers=True, free_kib=PLENTY)
    seen = []
    for _ in range(5):
        packing.learn(1.7)
        seen.append((packing.contained, packing.simulated))
    assert seen == [(2, 1), (1, 1), (1, 1), (1, 1), (1, 1)]


def test_what_was_not_measured_changes_nothing() -> None:
    packing = Packing(4, 4, has_containers=True, free_kib=PLENTY)
    for _ in range(10):
        packing.learn(0.0)
    assert (packing.contained, packing.simulated) == (2, 2)


@pytest.mark.parametrize("seed", range(40))
def test_it_settles_near_what_a_machine_bears_and_not_above_it(seed: int) -> None:
    """A machine on which each run in containers takes a share of the bound, and each simulated one
    less: no more than one run in four is above the bound, and no room is left for long."""
    random = Random(seed)
    processors = random.randint(1, 16)
    of_contained, of_simulated = random.uniform(0.02, 0.6), random.uniform(0.0, 0.2)
    packing = Packing(processors, processors, has_containers=True, free_kib=PLENTY)
    felt = []
    for _ in range(200):
        load = of_contained * packing.contained + of_simulated * packing.simulated
        felt.append(load * random.uniform(0.9, 1.1))
        packing.learn(felt[-1])
        assert 1 <= packing.contained <= packing.most_contained
        assert 1 <= packing.simulated <= packing.most_simulated
    settled = felt[100:]
    assert sum(each >= 1 for each in settled) <= len(settled) // 4
    is_full = packing.contained == processors and packing.simulated == processors
    assert is_full or max(settled) >= 0.45


def test_the_strain_is_the_figure_that_is_nearest_to_its_bound() -> None:
    assert strain({}) == 0
    assert strain({**dict.fromkeys(STARVED, 0.0), "io_share": 0.45, "t_ns": 1e9}) == 0.75
    assert strain(STARVED) == 1
