"""A fault without effect must not look like one."""

from dataclasses import replace
from itertools import count

import pytest

from chaos.cluster.docker.node_processes import is_paused
from chaos.cluster.fault_evidence import (
    CutMeasured,
    Passage,
    PowerCutMeasured,
    Probe,
    of_cut,
    of_kill,
    of_pause,
    of_power_cut,
    of_wipe,
)
from chaos.cluster.interface import Link, NodeId, PowerCutMode

SIZE = 31
SWALLOWED = Probe(size=SIZE, passage=Passage(SIZE, 0))
PASSED = Probe(size=SIZE, passage=Passage(SIZE, SIZE))
ANSWERED = replace(PASSED, answered=14)
REQUESTS, ANSWERS = "requests", "answers"

ONE_WAY = CutMeasured(
    link=Link(NodeId(1), NodeId(2)),
    swallowed=500,
    while_probing=45,
    gaps=(),
    probes=(SWALLOWED,),
    opposite_cut=False,
    opposite=Passage(received=90, sent=90),
    opposite_stops=(),
    opposite_probes=(PASSED,),
)
CLEAN = replace(
    ONE_WAY,
    opposite_cut=True,
    opposite=Passage(90, 0),
    opposite_stops=(REQUESTS, ANSWERS),
    opposite_probes=(),
)
POWER = PowerCutMeasured(
    mode=PowerCutMode.LOSE_ALL,
    threads_stopped=3,
    threads_moving=0,
    overwritten=True,
    exit_code=137,
    canary="old",
)
STOPPED = replace(POWER, threads_stopped=0, exit_code=143, stopped=True)


@pytest.mark.parametrize("seen", [ONE_WAY, CLEAN])
def test_a_cut_bit(seen: CutMeasured) -> None:
    evidence = of_cut(seen)
    assert evidence.bit
    assert evidence.facts["swallowed_bytes"] == 500
    assert evidence.facts["idle_but_for_the_probe"] is False


def test_an_idle_link_is_told_by_the_probe() -> None:
    evidence = of_cut(replace(ONE_WAY, swallowed=45))
    assert evidence.bit
    assert evidence.facts["idle_but_for_the_probe"] is True


def test_counters_that_lost_a_connection_do_not_unmake_a_cut() -> None:
    """What the heal closed at a bad moment may be counted as passed on, and never as taken in."""
    evidence = of_cut(replace(ONE_WAY, swallowed=-4000))
    assert evidence.bit
    assert evidence.facts["swallowed_bytes"] == 45


def test_a_connection_that_broke_the_other_way_does_not_unmake_a_cut() -> None:
    """All that it ever passed on is left out when its last write fails."""
    assert of_cut(replace(ONE_WAY, opposite=Passage(100_000, 90))).bit


def test_other_connections_that_close_beside_the_probes_are_no_evidence() -> None:
    busy = Passage(SIZE + 70_000, 70_000)
    assert of_cut(replace(ONE_WAY, probes=(replace(SWALLOWED, passage=busy),))).bit
    leaky = Passage(SIZE + 70_000, SIZE + 70_000)
    assert not of_cut(replace(ONE_WAY, probes=(replace(SWALLOWED, passage=leaky),))).bit
    assert of_cut(replace(ONE_WAY, opposite_probes=(replace(PASSED, passage=leaky),))).bit
    assert not of_cut(replace(ONE_WAY, opposite_probes=(replace(PASSED, passage=busy),))).bit


def test_every_port_of_a_link_has_to_be_cut_and_no_port_of_its_opposite() -> None:
    both = replace(ONE_WAY, probes=(SWALLOWED, SWALLOWED), opposite_probes=(PASSED, PASSED))
    assert of_cut(both).bit
    for probes in ((SWALLOWED, PASSED), (PASSED, SWALLOWED)):
        assert not of_cut(replace(both, probes=probes)).bit
        assert not of_cut(replace(both, opposite_probes=probes)).bit


def test_without_probes_traffic_must_tell() -> None:
    """A node that is off cannot be probed, nor any where no agent is."""
    assert of_cut(replace(ONE_WAY, probes=(), opposite_probes=())).bit
    assert of_cut(replace(CLEAN, probes=())).bit


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        # Nothing was set.
        (replace(ONE_WAY, probes=(ANSWERED,), gaps=(REQUESTS, ANSWERS)), "1->2 was not swallowed"),
        (replace(CLEAN, probes=(ANSWERED,), gaps=(REQUESTS, ANSWERS)), "1->2 was not swallowed"),
        (replace(CLEAN, probes=(PASSED,), gaps=(REQUESTS,)), "1->2 was not swallowed"),
        (replace(ONE_WAY, probes=(replace(SWALLOWED, answered=14),)), "1->2 was answered"),
        # Requests are stopped and answers are not, and the reverse.
        (
            replace(ONE_WAY, opposite_probes=(ANSWERED,), gaps=(ANSWERS,)),
            "an answer passed along 1->2",
        ),
        (replace(ONE_WAY, gaps=(ANSWERS,)), "did not stop answers along 1->2"),
        (replace(CLEAN, gaps=(ANSWERS,)), "did not stop answers along 1->2"),
        (replace(CLEAN, gaps=(REQUESTS, ANSWERS)), "did not stop requests and answers along 1->2"),
        # The opposite is stopped too.
        (replace(ONE_WAY, opposite_probes=(SWALLOWED,)), "against 1->2 did not pass"),
        (replace(ONE_WAY, opposite_stops=(ANSWERS,)), "stopped answers against 1->2 as well"),
        # Nobody could be probed.
        (replace(ONE_WAY, probes=(), swallowed=0), "nothing was swallowed"),
        (replace(CLEAN, probes=(), swallowed=-9), "nothing was swallowed"),
        (replace(ONE_WAY, opposite_probes=(), opposite=Passage()), "nothing passed against"),
    ],
)
def test_a_cut_without_effect_or_with_another_one_did_not_bite(seen: CutMeasured, why: str) -> None:
    evidence = of_cut(seen)
    assert not evidence.bit
    assert why in evidence.what


@pytest.mark.parametrize(
    ("ran", "runs", "code", "bit", "what"),
    [
        (True, False, 137, True, "gone by SIGKILL"),
        (True, True, 0, False, "runs on"),  # the kill was skipped
        (True, True, 137, False, "runs on"),  # the same, of a node that was killed before
        (False, False, 137, False, "no process ran"),
        (False, True, 137, False, "no process ran"),
        (True, False, 1, False, "by itself, with exit code 1"),
        (True, False, 0, False, "by itself, with exit code 0"),
    ],
)
def test_a_kill_bit_when_a_running_process_is_gone_by_it(
    ran: bool, runs: bool, code: int, bit: bool, what: str
) -> None:
    evidence = of_kill(ran, runs, code)
    assert evidence.bit is bit
    assert what in evidence.what


@pytest.mark.parametrize(
    ("before", "after", "emptied", "what"),
    [
        ("one", "two", True, ""),
        ("", "two", True, ""),  # what was on it could not be read: that is what a wipe is for
        ("one", "one", True, "as before"),
        ("one", "two", False, "still on the disk"),
        ("one", "", True, "no format"),
    ],
)
def test_a_wipe_bit_when_the_directory_id_is_another(
    before: str, after: str, emptied: bool, what: str
) -> None:
    evidence = of_wipe(before, after, emptied=emptied)
    assert evidence.bit is (not what)
    assert what in evidence.what


@pytest.mark.parametrize(
    ("states", "bit", "what"),
    [
        ("TTt", True, "3 threads stopped"),
        ("TDT", True, "3 threads stopped"),
        ("D", True, "1 thread stopped"),
        ("TS", False, "1 of 2 threads go on"),
        ("RTT", False, "1 of 3 threads go on"),
        ("", False, "it has no process any more"),
    ],
)
def test_a_pause_bit_when_every_thread_stands_still(states: str, bit: bool, what: str) -> None:
    evidence = of_pause(states)
    assert (evidence.bit, evidence.what) == (bit, what)


@pytest.mark.parametrize("mode", list(PowerCutMode))
def test_a_power_cut_bit_when_the_canary_is_old(mode: PowerCutMode) -> None:
    assert of_power_cut(replace(POWER, mode=mode)).bit


@pytest.mark.parametrize("synced", [False, True])
@pytest.mark.parametrize("exit_code", [0, 143])
def test_a_power_cut_behind_a_stop_bit_when_the_process_had_ended_as_told(
    exit_code: int, synced: bool
) -> None:
    evidence = of_power_cut(replace(STOPPED, exit_code=exit_code, synced=synced))
    assert evidence.bit
    assert evidence.facts["synced"] is synced


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (replace(POWER, canary=""), "not been looked at"),
        (replace(POWER, canary="unsynced overwriting on node 1"), "survived"),  # flag 0, no ioctl
        (replace(POWER, canary="other"), "survived"),
        (replace(POWER, overwritten=False), "not overwritten"),
        (replace(POWER, threads_moving=2), "2 threads ran on"),
        (replace(POWER, threads_stopped=0), "no process any more"),
        (replace(POWER, exit_code=0), "exit code 0"),
        (replace(POWER, exit_code=-1), "exit code -1"),
        (replace(STOPPED, canary="overwriting"), "survived"),
        (replace(STOPPED, overwritten=False), "not overwritten"),
        (replace(STOPPED, exit_code=137), "exit code 137, not in good order"),
        (replace(STOPPED, exit_code=1), "exit code 1, not in good order"),
    ],
)
def test_a_power_cut_without_effect_did_not_bite(seen: PowerCutMeasured, why: str) -> None:
    evidence = of_power_cut(seen)
    assert not evidence.bit
    assert why in evidence.what


@pytest.mark.parametrize(
    ("seen", "paused"),
    [
        (["T"], True),
        (["TD"], True),
        (["S"], False),
        (["D", "D", "S"], False),
        (["D", "T"], True),
        (["D"] * 100, True),
        ([""], False),
    ],
)
def test_a_node_in_the_middle_of_an_fsync_is_not_paused(seen: list[str], paused: bool) -> None:
    looks, times = iter(seen), count(step=0.01)
    assert is_paused(lambda: next(looks), lambda: float(next(times))) is paused
