"""Every scenario that our node can be put through, at the smallest, a middle and the largest
cluster that it takes: the correct node is not accused, and the run shows what it is for."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.cluster.sim.sim_cluster import SimCluster
from chaos.nemesis.abilities import PROTOCOLS
from chaos.run.planning import takes_kafka
from chaos.scenario import Scenario
from chaos.scenarios import SCENARIOS
from checkers.verdict import Verdict
from tests.support.sizes import sizes_of

# They start controllers at another address, or ask how they voted.
CONTAINERS_ONLY = {"removed-candidate", "unreachable-voter"}
QUICK = (("bootstrap", 1), ("remove-leader", 2), ("baseline", 7))


def lacks(scenario: Scenario) -> bool:
    """Whether it is for containers only: the simulator refuses it."""
    return any(not issubclass(SimCluster, PROTOCOLS[need]) for need in scenario.needs)


def kept(scenario: Scenario) -> list[str]:
    """The settings of a side that loses nothing, if those of the scenario make one that does."""
    sides = [each for each in scenario.sides if not each.mutation and not each.release]
    own = next((it for it in sides if it.settings.items() <= scenario.settings.items()), None)
    if own is None or own.expected.verdict is Verdict.VALID:
        return []
    side = next(each for each in sides if each.expected.verdict is Verdict.VALID)
    return [word for name, value in side.settings.items() for word in ("--set", f"{name}={value}")]


def every_size() -> Iterator[object]:
    for name, scenario in SCENARIOS.items():
        if scenario.of_both or takes_kafka(scenario) or lacks(scenario):
            continue
        for size in sizes_of(scenario):
            marks = [pytest.mark.slow] if (name, size) in QUICK else [pytest.mark.night]
            yield pytest.param(name, size, marks=marks, id=f"{name}-{size}")


@pytest.mark.timeout(3600)  # what hangs; where others work, a run of seven nodes takes over 900 s
@pytest.mark.parametrize(("name", "size"), list(every_size()))
def test_a_scenario_tells_something_at_every_size_that_it_takes(
    tmp_path: Path, name: str, size: int
) -> None:
    words = ["run", name, "--nodes", str(size), "--seed", "1", "--runtime", "sim"]
    words += kept(SCENARIOS[name])
    code = main([*words, "--out", str(tmp_path)])
    verdict = json.loads((tmp_path / "latest" / "verdict.json").read_text())
    assert code == 0, verdict["sentence"]


def test_few_scenarios_are_for_containers_only() -> None:
    ours = {name: each for name, each in SCENARIOS.items() if not takes_kafka(each)}
    left = {name for name, each in ours.items() if not each.of_both and lacks(each)}
    assert left == CONTAINERS_ONLY
