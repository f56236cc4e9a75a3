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
    news: dict[str, list[bool]] = {"quiet": [], "busy": []}
    has_news = Raft._has_news

    def noted(self: Raft, mono_ns: int) -> bool:
        news[out].append(has_news(self, mono_ns))
        return news[out][-1] or out == "busy"

    monkeypatch.setattr(Raft, "_has_news", noted)
    for out in news:
        words = ["--runtime", "sim", "--seed", "11", "--duration", "3"]
        main(["run", *scenario.split(), *words, "--out", str(tmp_path / out)])
    left = [told(tmp_path / out / "latest") for out in news]
    assert left[0] == left[1]
    assert any(name.startswith("logs/") for name in left[0])
    assert news["quiet"] == news["busy"]
    assert news["quiet"].count(False) > 100
