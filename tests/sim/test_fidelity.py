"""The simulated file system may leave whatever a real ext4 left; and wrong models are told.

300 programs run on a loop device, whose power is cut as that of a node's disk in containers.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

from chaos.cluster.docker.agent_processes import RefusedError
from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.disk.filesystem import FileSystem
from tests.sim.fidelity import first_surprise, lost_something, observe, real_disk
from tests.sim.programs import Observation
from tests.sim.wrong_models import WRONG

PROGRAMS = 300

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("fidelity")]


@pytest.fixture(scope="module")
def observations(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Observation]:
    try:
        with real_disk(tmp_path_factory.mktemp("scratch")):
            pass
    except (OSError, RefusedError) as error:
        # A user's machine may have no loop devices; where it should, tests/container fails.
        pytest.skip(f"no power to cut here: {error}")
    return list(_observe(tmp_path_factory.mktemp("disk")))


def _observe(scratch: Path) -> Iterator[Observation]:
    with real_disk(scratch) as disk:
        programs = 0
        for seed in count():
            if programs >= PROGRAMS:
                return
            seen = observe(disk, seed)
            programs += len(seen.homes)
            yield seen


def surprises(observations: Sequence[Observation], model: type[FileSystem]) -> list[str]:
    found = (first_surprise(seen, model) for seen in observations)
    return [reason for reason in found if reason is not None]


def test_it_may_leave_all_that_the_real_one_left(observations: Sequence[Observation]) -> None:
    assert surprises(observations, FileSystem) == []


@pytest.mark.parametrize("model", WRONG, ids=lambda model: model.__name__)
def test_a_wrong_model_is_told(
    observations: Sequence[Observation], model: type[FileSystem]
) -> None:
    assert surprises(observations, model)


@pytest.mark.parametrize("mode", list(PowerCutMode))
def test_a_cut_loses_what_was_written(
    observations: Sequence[Observation], mode: PowerCutMode
) -> None:
    """Else the power was not cut, or the programs do nothing that could be lost."""
    cuts = [seen for seen in observations if seen.rounds[0].cut.mode is mode]
    lost = sum(map(lost_something, cuts))
    assert lost > len(cuts) / 4 > 4
