"""A healed cluster that does nothing: whose fault that is."""

import pytest

from checkers.evidence.starvation import STARVED
from checkers.run.recovery import recovers_when_healed
from checkers.verdict import Verdict
from tests.support.histories import make_run

STUCK = "the quorum had not recovered 30 s after the last heal"
QUIET = {"longest_late_ms": 12.0, "late_share": 0.0, "cpu_share": 0.4, "io_share": 0.01}


def test_on_a_machine_that_had_time_a_node_is_to_blame() -> None:
    words = {"1": ["node 1: waiting for a leader"], "2": []}
    run = make_run(stuck=STUCK, finished=False, pressure=QUIET, last_words=words)
    found = recovers_when_healed(run)
    assert found.verdict is Verdict.INVALID
    assert found.message.startswith(STUCK)
    assert "12 ms late" in found.message
    assert [row["what"] for row in found.witness] == [
        "node 1 said last: node 1: waiting for a leader",
        "node 2 said last: it said nothing",
    ]


@pytest.mark.parametrize("figure", list(STARVED))
def test_a_starved_machine_is_named_and_no_node_accused(figure: str) -> None:
    pressure = {**QUIET, figure: STARVED[figure] * 1.01}
    found = recovers_when_healed(make_run(stuck=STUCK, finished=False, pressure=pressure))
    assert (found.verdict, found.count) == (Verdict.ERROR, 0)
    assert "the machine was starved" in found.message


def test_nobody_can_tell_where_nobody_measured() -> None:
    found = recovers_when_healed(make_run(stuck=STUCK, finished=False, pressure={}))
    assert found.verdict is Verdict.UNKNOWN
    assert "it was not measured" in found.message


def test_no_machine_excuses_what_is_sure() -> None:
    found = recovers_when_healed(make_run(stuck="node 2 ended", stuck_for_sure=True))
    assert (found.verdict, found.message) == (Verdict.INVALID, "node 2 ended")


def test_a_run_that_ended_well_says_so_in_both_runtimes() -> None:
    for runtime in ("sim", "docker"):
        assert recovers_when_healed(make_run(runtime=runtime)).verdict is Verdict.VALID
    assert recovers_when_healed(make_run(finished=False)).verdict is Verdict.UNKNOWN
