"""Lies about sound runs are seen, and their legal neighbours are not minded.

`python -m tests.lies` tells them all; here are those of a few runs that are made quickly.
"""

from pathlib import Path

import pytest

from tests.lies.alteration import Alteration, alterations
from tests.lies.bases import recorded
from tests.lies.judging import outcome_of

QUICK = ("partition-leader",)


def _of(base: str) -> list[Alteration]:
    return [each for each in alterations() if each.base == base]


@pytest.mark.parametrize("base", QUICK)
def test_the_judge_sees_lies_and_minds_nothing_else(base: str, tmp_path: Path) -> None:
    recorded(tmp_path / "bases", [base], 1, print)
    outcomes = [outcome_of(each, tmp_path / "bases", 1, tmp_path) for each in _of(base)]
    assert len(outcomes) > 10
    assert [(each.alteration.id, each.wrong) for each in outcomes if each.wrong] == []
