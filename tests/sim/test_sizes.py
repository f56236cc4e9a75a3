"""Every scenario that our node can be put through, at the smallest, a middle and the largest
cluster that it takes: the correct node is not accused, and the run shows what it is for."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.run.planning import takes_kafka
from chaos.scenarios import SCENARIOS
from tests.support.sizes import sizes_of

QUICK = (("bootstrap", 1), ("remove-leader", 2), ("baseline", 7))


def every_size() -> Iterator[object]:
    for name, scenario in SCENARIOS.items():
        if scenario.of_both or takes_kafka(scenario):
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
    code = main([*words, "--out", str(tmp_path)])
    verdict = json.loads((tmp_path / "latest" / "verdict.json").read_text())
    assert code == 0, verdict["sentence"]
