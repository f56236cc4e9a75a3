"""What is missing accuses nobody and passes for nothing; what is lost is found.

`python -m tests.damage` does the same a thousand times.
"""

import random
from pathlib import Path

import pytest

from checkers.suite import judge
from checkers.verdict import Verdict
from tests.damage.bases import simulated
from tests.damage.campaign import losses, one_damage
from tests.damage.planted import brokers, nothing

DAMAGES = 80


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return simulated(tmp_path_factory.mktemp("bases"), 3)


@pytest.mark.parametrize("tenth", range(DAMAGES // 10))
def test_no_damage_passes_for_valid_or_accuses_a_node(
    tmp_path: Path, bases: list[Path], tenth: int
) -> None:
    numbers = range(10 * tenth, 10 * tenth + 10)
    outcomes = [one_damage(tmp_path, bases[number % len(bases)], 7, number) for number in numbers]
    assert [outcome for outcome in outcomes if not outcome.is_honest] == []


def test_planted_losses_are_held_against_the_cluster(bases: list[Path]) -> None:
    figures = losses(bases, seed=7, each=2)
    assert figures.wrong == []
    assert figures.count == 12


def test_brokers_that_lost_nothing_are_not_accused() -> None:
    judgement = judge(brokers(nothing, random.Random(1)))
    accused = [row for row in judgement.results if row.verdict is Verdict.INVALID]
    assert accused == []
