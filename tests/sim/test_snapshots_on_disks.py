"""What the judge says of the snapshots on simulated disks, by their files alone."""

import json
from pathlib import Path

import pytest

from chaos.cli import main

WORDS = ["run", "snapshot-catch-up", "--runtime", "sim", "--seed", "2"]
CHECKS = (
    "stored-snapshots-equal-the-log",
    "stored-snapshots-are-committed",
    "stored-snapshots-agree",
)


def judged(out: Path) -> dict[str, str]:
    results = json.loads((out / "latest" / "verdict.json").read_text())["results"]
    assert all(row["looked_at"] for row in results if row["check"] in CHECKS)
    return {row["check"]: row["verdict"] for row in results}


@pytest.mark.slow
def test_the_correct_node_is_not_accused(tmp_path: Path) -> None:
    assert main([*WORDS, "--out", str(tmp_path)]) == 0
    assert {judged(tmp_path)[check] for check in CHECKS} == {"valid"}


@pytest.mark.slow
def test_a_snapshot_that_is_named_by_the_offset_before_is_accused(tmp_path: Path) -> None:
    assert main([*WORDS, "--mutation", "Q-SNAP-OFF", "--out", str(tmp_path)]) == 1
    assert judged(tmp_path)["stored-snapshots-equal-the-log"] == "invalid"
