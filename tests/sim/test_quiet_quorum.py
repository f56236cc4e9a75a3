"""A quorum to which nothing happened does not look what is due, and nobody can tell."""

from pathlib import Path

import pytest

from chaos.cli import main
from node.raft.raft import Raft
from tests.sim.told_runs import told


@pytest.mark.parametrize(
    "scenario",
    [
        "power-off",
        "membership-churn",
        "snapshot-catch-up",
        "swarm",
        "swarm-brokers",
        "isr-shrink-storm --set roles=combined",
    ],
)
def test_a_run_whose_quorums_look_in_every_step_is_the_same_run(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: dict[str, list[bool]] = {"quiet": [], "busy": []}
    is_quiet = Raft._is_quiet

    def noted(self: Raft, mono_ns: int) -> bool:
        looked[out].append(is_quiet(self, mono_ns))
        return looked[out][-1] and out == "quiet"

    monkeypatch.setattr(Raft, "_is_quiet", noted)
    for out in looked:
        words = ["--runtime", "sim", "--seed", "11", "--duration", "3"]
        main(["run", *scenario.split(), *words, "--out", str(tmp_path / out)])
    left = [told(tmp_path / out / "latest") for out in looked]
    assert left[0] == left[1]
    assert any(name.startswith("logs/") for name in left[0])
    assert looked["quiet"] == looked["busy"]
    assert looked["quiet"].count(True) > 30
