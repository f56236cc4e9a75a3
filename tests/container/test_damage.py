"""What containers left: a run of each target, damaged; what is missing accuses nobody."""

from pathlib import Path

import pytest

from chaos.cli import main
from tests.damage.bases import required_valid
from tests.damage.campaign import damages

RUN = ["run", "kill-leader", "--runtime", "docker", "--seed", "5", "--duration", "6"]


@pytest.mark.parametrize("target", ["node", "kafka"])
def test_no_damage_passes_for_valid_or_accuses_a_node(tmp_path: Path, target: str) -> None:
    """Where the machine is too busy for a valid run there is nothing to damage."""
    out = tmp_path / "runs"
    code = main([*RUN, "--target", target, "--rate", "40", "--out", str(out)])
    if code in (2, 3):
        pytest.skip("this machine is too busy for a run that says something: unknown or void")
    assert code == 0
    base = required_valid((out / "latest").resolve())
    figures = damages(tmp_path, [base], count=60, seed=3)
    assert figures.wrong == []
