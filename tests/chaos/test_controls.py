"""Two damages to a valid run, which the judge must see."""

import pytest

from chaos.scenarios.controls import (
    NothingToDropError,
    without_an_acknowledged_write,
    without_its_record,
)
from checkers.evidence.missing import missing
from checkers.history.sealed_run import Run
from checkers.suite import judge
from checkers.verdict import Verdict
from tests.support.histories import make_run, write
from tests.support.sealed_runs import synthetic_run


def accusers(run: Run) -> list[str]:
    return [row.check for row in judge(run).results if row.verdict is Verdict.INVALID]


def test_what_is_counted_fits() -> None:
    """Else the judge knows that evidence is missing, and suspects instead of accusing."""
    run = synthetic_run()
    assert missing(run) == ()
    assert missing(without_an_acknowledged_write(run)) == ()
    assert missing(without_its_record(run)) == ()


def test_a_forgotten_write_is_a_value_out_of_nowhere() -> None:
    run = synthetic_run()
    assert accusers(run) == []
    found = accusers(without_an_acknowledged_write(run))
    assert "linearizable" in found
    assert set(found) <= {"linearizable", "records-explained"}


def test_a_lost_record_is_a_lost_write() -> None:
    found = accusers(without_its_record(synthetic_run()))
    assert "durability" in found
    assert set(found) <= {"durability", "reads-are-committed", "reads-match-the-log"}


def test_a_run_in_which_nobody_read_has_no_victim() -> None:
    with pytest.raises(NothingToDropError, match="no acknowledged write was read"):
        without_its_record(make_run(ops=[write(1, 0, 1)]))
