"""The correct node survives the swarm. More seeds: `make swarm`, and by hand
`kraft-chaos campaign --seeds 0..1999 --duration 60`."""

import json
from pathlib import Path

import pytest

from chaos.cli import main


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seeds", [8, pytest.param(20, marks=pytest.mark.night)])
def test_nothing_accuses_the_correct_node_in_short_runs(
    seeds: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In some of them a fault cannot bite, so short are they; those say nothing."""
    words = ["campaign", "--seeds", f"0..{seeds - 1}", "--duration", "4", "--jobs", "1", "--json"]
    main([*words, "--out", str(tmp_path)])
    found = json.loads(capsys.readouterr().out)
    verdicts = found["verdicts"]
    assert verdicts["valid"] + verdicts["void"] == seeds, found["findings"]
    assert verdicts["void"] < seeds / 4
    assert found["operations"] > 50 * seeds
    assert found["faults"] > seeds
