"""The correct node survives what the swarm does to it; `kraft-chaos campaign` has longer ones."""

from pathlib import Path

import pytest

from chaos.cli import main


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_correct_node_survives_two_hundred_short_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["campaign", "--seeds", "0..199", "--duration", "6", "--jobs", "1"]
    code = main([*words, "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert code == 0, said
    assert "VALID: 200 of 200 seeds" in said
