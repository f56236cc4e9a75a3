"""The simulator is like life: what a schedule does in containers, its replay in virtual time does.

How long things take is another matter: `python -m tests.bench shape` compares that, by medians.
"""

from pathlib import Path

import pytest

from chaos.cli import main
from chaos.installation import prepare
from tests.support.load import GENTLY
from tests.support.shape import Shape, recorded_shape, replayed_shape


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", ["partition-leader", "kill-leader"])
def test_each_fault_of_a_schedule_unseats_the_leader_on_both_runtimes(
    scenario: str, tmp_path: Path
) -> None:
    prepare(print)
    line = ["run", scenario, "--seed", "11", "--duration", "12", *GENTLY]
    assert main([*line, "--runtime", "docker", "--out", str(tmp_path / "docker")]) == 0
    recorded = tmp_path / "docker" / "latest"
    real = recorded_shape(recorded)
    simulated = replayed_shape(recorded, tmp_path / "sim", seed=0)
    assert real.kinds == simulated.kinds
    assert unseats_the_leader(real)
    assert unseats_the_leader(simulated)


def unseats_the_leader(shape: Shape) -> bool:
    """Somebody else led within the time of each fault, and meanwhile nobody was served."""
    felt = [fault.elections > 0 and fault.unavailable_s > 0.1 for fault in shape.faults]
    return bool(felt) and all(felt)
