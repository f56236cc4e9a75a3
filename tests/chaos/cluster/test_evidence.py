"""A fault without effect must not look like one."""

from dataclasses import replace

import pytest

from chaos.cluster.docker.evidence import (
    CutMeasured,
    PowerCutMeasured,
    of_cut,
    of_kill,
    of_pause,
    of_power_cut,
)
from chaos.cluster.docker.metrics import Passage
from chaos.cluster.interface import Link, NodeId, PowerCutMode

ONE_WAY = CutMeasured(
    link=Link(NodeId(1), NodeId(2)),
    swallowed=500,
    probe=Passage(received=31, sent=0),
    probe_answered=0,
    opposite_cut=False,
    opposite=Passage(received=90, sent=90),
)
POWER = PowerCutMeasured(
    mode=PowerCutMode.LOSE_ALL, threads_stopped=3, overwritten=True, exit_code=137, canary="old"
)


def test_a_one_way_cut_bit() -> None:
    evidence = of_cut(ONE_WAY)
    assert evidence.bit
    assert evidence.facts["swallowed_bytes"] == 500
    assert evidence.facts["idle_but_for_the_probe"] is False


def test_a_clean_cut_bit_whatever_the_opposite_swallowed() -> None:
    assert of_cut(replace(ONE_WAY, opposite_cut=True, opposite=Passage(90, 0))).bit


def test_an_idle_link_is_told_by_the_probe() -> None:
    evidence = of_cut(replace(ONE_WAY, swallowed=31))
    assert evidence.bit
    assert evidence.facts["idle_but_for_the_probe"] is True


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (replace(ONE_WAY, swallowed=0, probe=Passage()), "nothing was swallowed"),
        (replace(ONE_WAY, probe_answered=14), "was answered"),
        (replace(ONE_WAY, opposite=Passage(90, 80)), "10 bytes against"),
        (replace(ONE_WAY, opposite=Passage()), "nothing passed against"),
    ],
)
def test_a_cut_without_effect_or_with_another_one_did_not_bite(seen: CutMeasured, why: str) -> None:
    evidence = of_cut(seen)
    assert not evidence.bit
    assert why in evidence.what


@pytest.mark.parametrize(
    ("ran", "runs", "code", "bit"),
    [
        (True, False, 137, True),
        (True, True, 0, False),  # the kill was skipped
        (False, False, 137, False),  # it was dead already
        (True, False, 1, False),  # it died by itself
    ],
)
def test_a_kill_bit_when_a_running_process_is_gone_by_it(
    ran: bool, runs: bool, code: int, bit: bool
) -> None:
    assert of_kill(ran, runs, code).bit is bit


@pytest.mark.parametrize(
    ("states", "bit"), [("TTt", True), ("TDT", True), ("TS", False), ("", False)]
)
def test_a_pause_bit_when_every_thread_stands_still(states: str, bit: bool) -> None:
    assert of_pause(states).bit is bit


def test_a_power_cut_bit_when_the_canary_is_old() -> None:
    assert of_power_cut(POWER).bit


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (replace(POWER, canary=""), "not been looked at"),
        (replace(POWER, canary="unsynced overwriting on node 1"), "survived"),  # flag 0, no ioctl
        (replace(POWER, overwritten=False), "not overwritten"),
        (replace(POWER, exit_code=0), "exit code 0"),
    ],
)
def test_a_power_cut_without_effect_did_not_bite(seen: PowerCutMeasured, why: str) -> None:
    evidence = of_power_cut(seen)
    assert not evidence.bit
    assert why in evidence.what
