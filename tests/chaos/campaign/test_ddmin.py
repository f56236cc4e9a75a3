"""What is left fails, and nothing of it can go."""

import random

import pytest

from chaos.campaign.shrinker import ddmin, least


@pytest.mark.parametrize("needed", [(), (0,), (7,), (3, 4), (0, 15), (1, 6, 11), tuple(range(16))])
def test_what_is_needed_is_what_is_left(needed: tuple[int, ...]) -> None:
    asked: list[tuple[int, ...]] = []

    def fails(items: tuple[int, ...]) -> bool:
        asked.append(items)
        return set(needed) <= set(items)

    assert ddmin(tuple(range(16)), fails) == needed
    assert tuple(range(16)) not in asked, "that the whole fails is known"


def test_nothing_more_can_be_left_out_of_what_is_left() -> None:
    """Also of what is no simple matter of some items: here two of some three, in any number."""
    rng = random.Random(5)
    for _ in range(200):
        chosen = set(rng.sample(range(20), 3))

        def fails(items: tuple[int, ...], chosen: set[int] = chosen) -> bool:
            return len(chosen & set(items)) >= 2

        found = ddmin(tuple(range(20)), fails)
        assert len(found) == 2
        assert fails(found)


def test_of_nothing_nothing_is_left_out() -> None:
    assert ddmin((), lambda _: pytest.fail("nothing to ask about")) == ()


@pytest.mark.parametrize("threshold", [1, 2, 29, 30, 1000])
def test_the_least_number_that_fails(threshold: int) -> None:
    assert least(1000, 1, lambda n: n >= threshold) == threshold


def test_a_number_is_one_that_was_seen_to_fail() -> None:
    """Also where more is not worse."""
    for bad in ({15, 12, 40}, {64}, {3, 64}, {31}):
        assert least(64, 1, bad.__contains__) in bad | {64}


def test_small_numbers_are_asked_about_first() -> None:
    asked: list[int] = []

    def fails(n: int) -> bool:
        asked.append(n)
        return n >= 5

    assert least(4000, 1, fails) == 5
    assert max(asked) < 10
