"""The correct node survives the swarm. More seeds: `make swarm`, and by hand
`kraft-chaos campaign --seeds 0..1999 --duration 60`."""

import json
from pathlib import Path

import pytest

from chaos.cli import main


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_nothing_accuses_the_correct_node_in_twenty_short_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In some of them a fault cannot bite, so short are they; those say nothing."""
    words = ["campaign", "--seeds", "0..19", "--duration", "4", "--jobs", "1", "--json"]
    main([*words, "--out", str(tmp_path)])
    found = json.loads(capsys.readouterr().out)
    verdicts = found["verdicts"]
    assert verdicts["valid"] + verdicts["void"] == 20, found["findings"]
    assert verdicts["void"] < 5
    assert found["operations"] > 1_000
    assert found["faults"] > 20
