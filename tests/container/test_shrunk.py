"""A failure that was found and shrunk in virtual time is seen in containers as well."""

import json
from pathlib import Path

import pytest

from chaos.campaign.recorded_run import plan_of_run
from chaos.cli import main
from chaos.run.installation import prepare
from checkers.history.store import read_run
from tests.support.load import GENTLY

CHECK = "Q17-no-leader-again"
WORDS = ["--seed", "1", "--duration", "12", *GENTLY]


@pytest.mark.timeout(600)
def test_what_virtual_time_left_of_a_failure_fails_in_containers(tmp_path: Path) -> None:
    prepare(print)
    found, out = tmp_path / "found", tmp_path / "shrunk"
    planted = ["--mutation", "Q-SAME-EPOCH", "--runtime", "sim", "--out", str(found)]
    assert main(["run", "kill-leader", *WORDS, *planted]) == 1
    assert main(["shrink", str(found / "latest"), "--out", str(out)]) == 0
    (shrunk,) = out.iterdir()

    again = tmp_path / "again"
    assert main(["replay", str(shrunk), "--runtime", "docker", "--out", str(again)]) == 1
    (replayed,) = again.iterdir()
    schedule = plan_of_run(shrunk).drawn()
    assert plan_of_run(replayed).schedule == schedule
    faults = read_run(replayed).tables["faults"].to_pylist()
    assert len(faults) == len(schedule.windows) <= 3
    assert all(fault["bit"] for fault in faults)
    verdict = json.loads((replayed / "verdict.json").read_text())
    assert CHECK in {row["check"] for row in verdict["results"] if row["verdict"] == "invalid"}
