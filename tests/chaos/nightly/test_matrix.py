"""Every pair of values that can be combined is in the matrix, in far fewer rows than there are."""

import random
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.nightly.plan import pairs_of, pairwise


@pytest.mark.parametrize(("factors", "most"), [((3, 3, 3, 3), 15), ((2,) * 10, 14), ((4, 5), 20)])
def test_a_matrix_is_small_and_has_every_pair(factors: tuple[int, ...], most: int) -> None:
    """Nine rows, and six to eight, are the least for the first two."""
    rows = list(product(*(map(str, range(count)) for count in factors)))
    chosen = pairwise(rows)
    assert len(chosen) <= most
    assert _pairs([rows[place] for place in chosen]) == _pairs(rows)


@given(st.integers(0, 10**6), st.floats(0.05, 1.0))
def test_what_cannot_be_combined_is_neither_chosen_nor_missed(seed: int, share: float) -> None:
    rng = random.Random(seed)
    every = [tuple(map(str, row)) for row in product(range(3), range(2), range(4))]
    rows = [row for row in every if rng.random() < share]
    chosen = pairwise(rows)
    assert _pairs([rows[place] for place in chosen]) == _pairs(rows)
    assert len(set(chosen)) == len(chosen)


def test_what_covers_most_comes_first() -> None:
    rows = list(product("abcd", "xyz", "12"))
    covered: set[object] = set()
    gains = []
    for place in pairwise(rows):
        gains.append(len(pairs_of(rows[place]) - covered))
        covered |= pairs_of(rows[place])
    assert gains == sorted(gains, reverse=True)
    assert gains[-1] > 0


def _pairs(rows: list[tuple[str, ...]]) -> set[object]:
    return {pair for row in rows for pair in combinations(enumerate(row), 2)}
