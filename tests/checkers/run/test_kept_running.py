"""A process that ends by itself is accused, with its last words, unless a fault may end it."""

from dataclasses import replace

import pytest

from checkers.history.sealed_run import Run
from checkers.run.complaints import nodes_kept_running
from checkers.verdict import Verdict
from tests.support.histories import MS, Row, fault, make_run

WORDS = "kraft-node 1: serving on x\nkraft-node 1: an invariant is broken: 3 < 2\n"


def run_with(*faults: Row, at_ms: int, node: int = 1) -> Run:
    end: dict[str, int | str] = {"node": node, "t_ns": at_ms * MS, "exit_code": 1, "words": WORDS}
    run = make_run(faults=list(faults))
    return replace(run, info=replace(run.info, unasked_ends=[end]))


def test_nobody_ended_by_itself() -> None:
    assert nodes_kept_running(make_run()).verdict is Verdict.VALID


def test_it_is_accused_with_its_last_words_although_a_later_fault_started_it_again() -> None:
    result = nodes_kept_running(run_with(fault(1, "kill", 5000, 6000), at_ms=4000))
    assert result.verdict is Verdict.INVALID
    assert result.message == (
        "node 1 ended by itself after 4.0 s, with exit code 1; its last words: "
        "kraft-node 1: an invariant is broken: 3 < 2"
    )
    assert result.witness[-1] == {"what": "its process ended", "t_ns": 4000 * MS, "node": 1}


def test_who_failed_as_it_was_told_to_stop_is_accused_of_that() -> None:
    run = run_with(fault(1, "stop", 1000, 2000), at_ms=1100)
    (end,) = run.info.unasked_ends
    info = replace(run.info, unasked_ends=[{**end, "told_to_stop": True}])
    result = nodes_kept_running(replace(run, info=info))
    assert result.verdict is Verdict.INVALID
    assert result.message.startswith("node 1 was asked to stop, but failed after 1.1 s, with exit")


@pytest.mark.parametrize("kind", ["kill", "stop", "pause", "power-off", "partition", "disk-slow"])
def test_a_fault_that_ends_nobody_by_itself_excuses_nobody(kind: str) -> None:
    """Also one in whose cure the node refuses to start."""
    result = nodes_kept_running(run_with(fault(1, kind, 1000, 2000), at_ms=1999))
    assert result.verdict is Verdict.INVALID
    assert kind in str(result.witness[0]["what"])


@pytest.mark.parametrize("kind", ["disk-error", "disk-full"])
def test_a_disk_that_fails_may_end_its_node_while_it_fails(kind: str) -> None:
    during = nodes_kept_running(run_with(fault(1, kind, 1000, 2000), at_ms=1500))
    assert during.verdict is Verdict.VALID
    assert "1 allowed: node 1 ended by itself" in during.message
    for other in (
        run_with(fault(1, kind, 1000, 2000), at_ms=2500),
        run_with(fault(1, kind, 1000, 2000), at_ms=500),
        run_with(fault(1, kind, 1000, 2000), at_ms=1500, node=2),
    ):
        assert nodes_kept_running(other).verdict is Verdict.INVALID


def test_a_power_cut_that_misfired_may_have_taken_the_disk_from_a_process_that_ran() -> None:
    """Seen in the simulator: `Bad file descriptor`, of a process that was not stopped."""
    misfired = fault(1, "power-off", 1000, 2000, bit=False)
    assert nodes_kept_running(run_with(misfired, at_ms=1500)).verdict is Verdict.VALID
    assert nodes_kept_running(run_with(misfired, at_ms=2500)).verdict is Verdict.INVALID
    killed = fault(1, "kill", 1000, 2000, bit=False)
    assert nodes_kept_running(run_with(killed, at_ms=1500)).verdict is Verdict.INVALID


def test_a_disk_that_lied_may_keep_its_node_from_starting_ever_after() -> None:
    lied = {**fault(1, "power-off", 1000, 2000), "damages_bytes": True}
    assert nodes_kept_running(run_with(lied, at_ms=9000)).verdict is Verdict.VALID
