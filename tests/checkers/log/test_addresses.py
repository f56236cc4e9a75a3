"""Tables of places are made where they are nearly full, and nowhere else."""

import numpy as np

from checkers.log.arrays import NOWHERE, addresses


def test_every_known_pair_has_a_place_of_its_own() -> None:
    group, number = np.array([0, 0, 2, 2]), np.array([5, 6, 0, 2])
    table = addresses(group, number, 3)
    assert table is not None
    assert table.find(group, number).tolist() == [0, 1, 2, 4]
    assert table.find(np.array([1, 2, 3]), np.array([5, 3, 0])).tolist() == 3 * [NOWHERE]


def test_neither_sparse_numbers_nor_sparse_groups_get_a_table() -> None:
    """Values that nobody counted up, as letters read as numbers, would take all memory."""
    most = 1 << 40
    assert addresses(np.array([0, 0]), np.array([0, most]), 1) is None
    assert addresses(np.array([most]), np.array([0]), most + 1) is None
