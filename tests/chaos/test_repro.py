"""`kraft-chaos repro`: how often a run fails again, and what cannot be repeated."""

import json
from pathlib import Path

import pytest

from chaos.cli import main

LINE = ["run", "partition-leader", "--seed", "1", "--duration", "6", "--runtime", "sim"]


def test_a_planted_bug_fails_again_and_a_valid_run_has_nothing_to_repeat(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*LINE, "--mutation", "R-STALE-READ", "--out", str(tmp_path / "bad")]) == 1
    assert main([*LINE, "--out", str(tmp_path / "good")]) == 0
    capsys.readouterr()
    again = ["--times", "2", "--out", str(tmp_path / "again"), "--json"]
    assert main(["repro", str(tmp_path / "bad" / "latest"), *again]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["times"], told["alike"], told["counts"]) == (2, 2, {"alike": 2})
    assert "reads-are-confirmed" in told["checks"]
    runs = sorted(path.name for path in (tmp_path / "again").iterdir() if not path.is_symlink())
    assert [name.rpartition("-")[2] for name in runs] == ["1", "2"]  # their seeds
    assert main(["repro", str(tmp_path / "good" / "latest"), *again]) == 254
    assert "did not fail\n  try: kraft-chaos replay" in capsys.readouterr().err


def test_what_is_no_judged_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repro", str(tmp_path / "nowhere")]) == 254
    assert "try:" in capsys.readouterr().err
