"""What containers of Apache Kafka left, damaged: what is missing accuses nobody. Of our own node's
`test_recorded.py` does so."""

from pathlib import Path

import pytest

from chaos.cli import main
from checkers.evidence.starvation import why_in_doubt
from checkers.history.sealed_run import read_run_info
from tests.damage.bases import required_valid
from tests.damage.campaign import damages

RUN = ["run", "kill-leader", "--runtime", "docker", "--seed", "5", "--duration", "6"]


@pytest.mark.night
@pytest.mark.timeout(900)
def test_no_damage_passes_for_valid_or_accuses_a_node(tmp_path: Path) -> None:
    """Where the machine is too busy for a valid run there is nothing to damage."""
    out = tmp_path / "runs"
    code = main([*RUN, "--target", "kafka", "--rate", "40", "--out", str(out)])
    directory = (out / "latest").resolve()
    pressure = read_run_info(directory).pressure
    assert "longest_late_ms" in pressure, "nobody measured the machine"
    if code in (2, 3, 255) and (starved := why_in_doubt(pressure)):
        pytest.skip(f"no valid run to damage: {starved}")  # by its own measure
    assert code == 0
    base = required_valid(directory)
    figures = damages(tmp_path, [base], count=60, seed=3)
    assert figures.wrong == []
