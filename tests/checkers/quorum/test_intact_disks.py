"""Disks that cannot be as their nodes left them, by hand: whose they are, elections, damage."""

import pytest

from checkers.check import Check
from checkers.history.sealed_run import Run
from checkers.quorum.disks import (
    disks_name_their_nodes,
    metadata_disks_are_intact,
    quorum_state_is_kept,
)
from checkers.verdict import Verdict
from tests.support.histories import MS, NodeTrace, Row, batch, disk, fault, make_run

VALID, INVALID = Verdict.VALID, Verdict.INVALID
STOPPED = {"1": "stopped", "2": "stopped"}
OFF = {"1": "off", "2": "stopped"}
NULS = "00000000000000000000.log: no batch at position 120: 80 NUL bytes up to the end"
HALF = "00000000000000000000.log: the batch at position 120 (offset 7) has 30 of 90 bytes"
ROT = "00000000000000000000.log position 120 (offset 7): wrong CRC"


def run(
    problem: str | None, *faults: Row, endings: dict[str, str] = STOPPED, of: Row | None = None
) -> Run:
    disks = [disk(1, problem=problem) | (of or {}), disk(2)]
    return make_run(disks=disks, batches=[batch(1, 0, 0, 1)], faults=faults, endings=endings)


def lying(node: int = 1) -> Row:
    return fault(0, "power-off", 10, 20) | {"nodes": [node], "damages_bytes": True}


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        (disks_name_their_nodes, "no meta.properties"),
        (disks_name_their_nodes, "meta.properties names node 7"),
        (disks_name_their_nodes, "meta.properties: no node.id"),
        (quorum_state_is_kept, "quorum-state: JSONDecodeError Expecting value"),
        (metadata_disks_are_intact, ROT),
        (metadata_disks_are_intact, NULS),
        (metadata_disks_are_intact, HALF),
        (metadata_disks_are_intact, "leader-epoch-checkpoint: epoch 3 starts at 2, the log says 0"),
        (metadata_disks_are_intact, "00000000000000000009-0000000002.checkpoint: wrong CRC"),
    ],
)
def test_only_what_damages_synced_bytes_leaves_that_to_one_that_stopped(
    check: Check, problem: str
) -> None:
    cut = fault(0, "power-off", 10, 20)
    assert check(run(None)).verdict is VALID
    assert check(run(problem)).verdict is INVALID
    assert check(run(problem, cut)).verdict is INVALID
    assert check(run(problem, lying())).verdict is VALID
    assert check(run(problem, lying(2))).verdict is INVALID


@pytest.mark.parametrize(
    ("problem", "endings", "is_cut", "verdict"),
    [
        (NULS, OFF, True, VALID),
        (NULS, OFF, False, INVALID),
        (HALF, OFF, False, VALID),
        (HALF, {"1": "runs"}, False, VALID),  # copied while it wrote
        (ROT, {"1": "runs"}, False, INVALID),
        (ROT, {"1": "runs"}, True, INVALID),  # it came back, and cut that off
        (ROT, {"1": "killed"}, True, VALID),
    ],
)
def test_what_a_power_cut_leaves_is_there_until_the_next_process(
    problem: str, endings: dict[str, str], *, is_cut: bool, verdict: Verdict
) -> None:
    faults = [fault(0, "power-off", 10, 20)] if is_cut else []
    assert metadata_disks_are_intact(run(problem, *faults, endings=endings)).verdict is verdict


def test_a_batch_that_nobody_noted() -> None:
    torn = make_run(
        disks=[disk(1)], batches=[batch(1, 0, 0, 1) | {"crc_ok": False}], endings=STOPPED
    )
    assert "wrong CRC" in metadata_disks_are_intact(torn).message


def test_who_was_in_an_epoch_knows_it() -> None:
    unknown: Row = {"epoch": None, "leader": None}
    result = quorum_state_is_kept(run(None, of=unknown))
    assert result.message == "node 1 was in epoch 1, but its disk has no quorum-state"
    assert quorum_state_is_kept(make_run(disks=[disk(1) | unknown])).verdict is VALID
    trace = NodeTrace(1).start().state("unattached", 4, at=MS)
    told = make_run(disks=[disk(1) | unknown], traces=[trace])
    assert "in epoch 4" in quorum_state_is_kept(told).message


@pytest.mark.parametrize(
    ("state", "verdict"),
    [({}, VALID), ({"voted": -1}, INVALID), ({"voted": 3}, INVALID), ({"epoch": 3}, INVALID)],
)
def test_who_stopped_left_its_vote(state: Row, verdict: Verdict) -> None:
    trace = NodeTrace(1).start().state("unattached", 4, voted=2, at=MS)
    left = disk(1, epoch=4, voted=2) | state
    stopped = make_run(disks=[left], traces=[trace], endings=STOPPED)
    assert quorum_state_is_kept(stopped).verdict is verdict
    assert quorum_state_is_kept(make_run(disks=[left], traces=[trace])).verdict is VALID
