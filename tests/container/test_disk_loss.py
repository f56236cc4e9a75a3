"""A voter's disk is lost in a container, and an operator makes the new one a voter (KIP-856)."""

import json
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.run.installation import prepare
from checkers.history.store import read_run
from tests.support.load import GENTLY

LOST = 2  # a follower's, and the leader's


@pytest.mark.timeout(300)
def test_two_lost_disks_are_replaced_and_nothing_that_was_committed_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(print)
    capsys.readouterr()
    words = ["disk-loss", *GENTLY, "--duration", "30", "--seed", "5"]
    code = main(["run", *words, "--json", "--out", str(tmp_path)])
    verdict = json.loads(capsys.readouterr().out)
    assert (code, verdict["verdict"]) == (0, "valid"), verdict["sentence"]
    rows = {row["check"]: row for row in verdict["results"]}
    for check in ("V8-new-disk-is-no-voter", "V1-one-voter-at-a-time", "durability"):
        assert rows[check]["looked_at"] > 0, check
    assert rows["V5-acknowledged-changes-stay"]["looked_at"] == 2 * LOST, "added and removed"
    lost = read_run(tmp_path / "latest").tables["lost_disks"]
    assert lost.num_rows == LOST
