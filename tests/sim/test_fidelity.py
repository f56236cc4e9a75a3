"""The simulated file system may leave whatever a real ext4 left; and wrong models are told.

300 programs run on a loop device, whose power is cut as that of a node's disk in containers.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

from chaos.cluster.docker.agent_processes import RefusedError
from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.filesystem import FileSystem
from tests.sim.fidelity import first_surprise, observe, real_disk
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


def test_every_kind_of_cut_was_seen_to_lose_something(observations: Sequence[Observation]) -> None:
    """Bytes that were written are NULs or gone; else the power was not cut, or too late."""
    rounds = [each for seen in observations for each in seen.rounds]
    for mode in PowerCutMode:
        lost = [each for each in rounds if each.cut.mode is mode and each.lost()]
        assert len(lost) > 20, mode
