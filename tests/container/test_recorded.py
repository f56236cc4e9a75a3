"""What a run in containers left is looked at in several ways: every fault is proved, the simulator
is like life, and what is missing accuses nobody.

How long things take is another matter: `python -m tests.bench shape` compares that, by medians.
"""

from pathlib import Path

import pytest

from chaos.cli import main
from chaos.run.installation import prepare
from tests.container.clusters import assert_every_fault_is_proved
from tests.damage.bases import required_valid
from tests.damage.campaign import damages
from tests.support.load import GENTLY
from tests.support.shape import Shape, recorded_shape, replayed_shape

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("kill-leader", marks=pytest.mark.xdist_group("kill-leader")),
        pytest.param(
            "partition-leader",
            marks=[pytest.mark.night, pytest.mark.xdist_group("partition-leader")],
        ),
    ],
)
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    prepare(print)
    out = tmp_path_factory.mktemp("docker")
    line = ["run", request.param, "--seed", "11", "--duration", "20", *GENTLY]
    assert main([*line, "--runtime", "docker", "--out", str(out)]) == 0
    return (out / "latest").resolve()


def test_a_scenario_ends_valid_with_every_fault_proved(recorded: Path) -> None:
    assert_every_fault_is_proved(recorded)


def test_each_fault_of_a_schedule_unseats_the_leader_on_both_runtimes(
    recorded: Path, tmp_path: Path
) -> None:
    """What a schedule does in containers, its replay in virtual time does."""
    real = recorded_shape(recorded)
    simulated = replayed_shape(recorded, tmp_path, seed=0)
    assert real.kinds == simulated.kinds
    assert unseats_the_leader(real)
    assert unseats_the_leader(simulated)


def unseats_the_leader(shape: Shape) -> bool:
    """Somebody else led within the time of each fault, and meanwhile nobody was served."""
    felt = [fault.elections > 0 and fault.unavailable_s > 0.1 for fault in shape.faults]
    return bool(felt) and all(felt)


@pytest.mark.parametrize("count", [20, pytest.param(60, marks=pytest.mark.night)])
def test_no_damage_passes_for_valid_or_accuses_a_node(
    recorded: Path, tmp_path: Path, count: int
) -> None:
    figures = damages(tmp_path, [required_valid(recorded)], count=count, seed=3)
    assert figures.wrong == []
