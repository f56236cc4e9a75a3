"""A quorum to which nothing happened does not look what is due, and nobody can tell."""

from pathlib import Path

import pytest

from chaos.cli import main
from node.ids import Now
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


def test_after_a_move_or_a_write_the_next_step_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is about: a leader that gave up has others to answer."""
    left: dict[int, tuple[bool, int]] = {}  # by quorum: has the last poll left something; writes
    looked: list[bool] = []
    poll = Raft.poll

    def followed(self: Raft, now: Now) -> None:
        has_left, writes = left.get(id(self), (False, 0))
        if has_left:
            looked.append(self._has_news(now.mono_ns))
        role = self.quorum.role
        poll(self, now)
        has_left = self.quorum.role is not role or self.log.changes != writes
        left[id(self)] = has_left, self.log.changes

    monkeypatch.setattr(Raft, "poll", followed)
    words = ["power-off", "--runtime", "sim", "--seed", "11", "--duration", "3"]
    main(["run", *words, "--out", str(tmp_path)])
    assert len(looked) > 20
    assert all(looked)
