"""Lies about sound runs are seen, and their legal neighbours are not minded.

`python -m tests.lies` tells them all, and so does the night; here are some of two runs.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.lies.alteration import Alteration, alterations
from tests.lies.bases import recorded
from tests.lies.coverage import uncovered
from tests.lies.judging import outcome_of

QUICK = ("partition-leader", "last-replica-standing")
EVERY = 4  # so many of them are told in the test command
BASES = sorted({each.base for each in alterations()})


def test_lies_and_legal_neighbours_are_told_about_every_check() -> None:
    assert list(uncovered(alterations())) == []


def test_a_check_without_lies_is_found() -> None:
    of_one = [each for each in alterations() if "linearizable" in each.checks]
    assert "durability: 0 lies, 2 at least" in list(uncovered(of_one))
    assert [line for line in uncovered(of_one) if line.startswith("linearizable")] == []


@pytest.mark.parametrize("base", QUICK)
def test_the_judge_sees_lies_and_minds_nothing_else(base: str, tmp_path: Path) -> None:
    assert _wrong(_about(base)[::EVERY], tmp_path) == []


@pytest.mark.night
@pytest.mark.parametrize("base", BASES)
def test_the_judge_sees_all_lies_and_minds_nothing_else(base: str, tmp_path: Path) -> None:
    assert _wrong(_about(base), tmp_path) == []


def _about(base: str) -> list[Alteration]:
    return [each for each in alterations() if each.base == base]


def _wrong(told: Sequence[Alteration], place: Path) -> list[tuple[str, str]]:
    assert told
    recorded(place / "bases", [told[0].base], 1, print)
    outcomes = [outcome_of(each, place / "bases", 1, place) for each in told]
    return [(each.alteration.id, each.wrong) for each in outcomes if each.wrong]
