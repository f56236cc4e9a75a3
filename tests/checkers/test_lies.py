"""Lies about sound runs are seen, and their legal neighbours are not minded.

`python -m tests.lies` tells them all; here are those of a few runs that are made quickly.
"""

from pathlib import Path

import pytest

from tests.lies.alteration import alterations
from tests.lies.bases import recorded
from tests.lies.judging import outcome_of

QUICK = ("partition-leader", "last-replica-standing")
THE_OTHERS = sorted({each.base for each in alterations()} - set(QUICK))


@pytest.mark.parametrize(
    "base", [*QUICK, *(pytest.param(each, marks=pytest.mark.night) for each in THE_OTHERS)]
)
def test_the_judge_sees_lies_and_minds_nothing_else(base: str, tmp_path: Path) -> None:
    recorded(tmp_path / "bases", [base], 1, print)
    told = [each for each in alterations() if each.base == base]
    outcomes = [outcome_of(each, tmp_path / "bases", 1, tmp_path) for each in told]
    assert outcomes
    assert [(each.alteration.id, each.wrong) for each in outcomes if each.wrong] == []
