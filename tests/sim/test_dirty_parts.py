"""A poll that leaves alone what is clean overlooks nothing: a run in which every poll looks at all
parts of its node, or also at all replicas, is the same run.
"""

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from chaos.cli import main
from node.broker.broker import Broker
from node.ids import Now
from node.outbox import Dirty
from node.raft.raft import QuorumPart, Raft
from tests.sim.told_runs import told

OF_CONTROLLERS = ("power-off", "membership-churn", "snapshot-catch-up", "swarm")
OF_BROKERS = (
    "swarm-brokers",
    "swarm-brokers --seed 2",
    "isr-shrink-storm",
    "isr-shrink-storm --set roles=combined",
    "last-replica-standing",
    "heartbeat-cut",
)


@pytest.mark.parametrize("scenario", [*OF_CONTROLLERS, "controlled-shutdown-roll"])
def test_a_run_that_looks_at_all_parts_in_every_step_is_the_same_run(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_alone = _count_what_is_left_alone(monkeypatch)
    as_it_is = _run(scenario, tmp_path / "as it is")
    _look_at_all_parts(monkeypatch)
    assert _run(scenario, tmp_path / "all") == as_it_is
    assert any(name.startswith("logs/") for name in as_it_is)
    assert len(left_alone) >= 2
    assert min(left_alone.values()) > 100


@pytest.mark.parametrize("scenario", OF_BROKERS)
def test_a_run_that_looks_at_all_parts_and_replicas_in_every_step_is_the_same_run(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests that wait are looked at again only where a replica of theirs has moved."""
    left_alone = _count_what_is_left_alone(monkeypatch)
    as_it_is = _run(scenario, tmp_path / "as it is")
    _look_at_all_parts(monkeypatch)
    poll, unmoved = Broker.poll, 0

    def at_every_replica(self: Broker, now: Now) -> None:
        nonlocal unmoved
        replicas = self.replicas
        unmoved += len(replicas.all()) - len(replicas.moved)
        replicas.moved.update({held.log: held for held in replicas.all()})
        poll(self, now)

    monkeypatch.setattr(Broker, "poll", at_every_replica)
    assert _run(scenario, tmp_path / "all") == as_it_is
    assert min(*left_alone.values(), unmoved) > 100


def test_after_a_move_or_a_write_the_next_poll_looks_at_the_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever that is about: a leader that gave up has others to answer."""
    to_look: dict[int, bool] = {}  # by the dirty parts of a quorum
    writes: Counter[int] = Counter()
    looked: list[bool] = []
    take, poll = Dirty.take, Raft.poll

    def noted(self: Dirty[Any], part: StrEnum, mono_ns: int) -> bool:
        is_dirty = take(self, part, mono_ns)
        if part == QuorumPart.ROLE and to_look.pop(id(self), False):
            looked.append(is_dirty)
        return is_dirty

    def followed(self: Raft, now: Now) -> None:
        role, dirty = self.quorum.role, id(self.dirty)
        poll(self, now)
        to_look[dirty] = self.quorum.role is not role or self.log.changes != writes[dirty]
        writes[dirty] = self.log.changes

    monkeypatch.setattr(Dirty, "take", noted)
    monkeypatch.setattr(Raft, "poll", followed)
    _run("power-off", tmp_path)
    assert len(looked) > 20
    assert all(looked)


def _count_what_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    left_alone: Counter[str] = Counter()
    take = Dirty.take

    def counting(self: Dirty[Any], part: StrEnum, mono_ns: int) -> bool:
        is_dirty = take(self, part, mono_ns)
        left_alone[part] += not is_dirty
        return is_dirty

    monkeypatch.setattr(Dirty, "take", counting)
    return left_alone


def _look_at_all_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    take = Dirty.take

    def always(self: Dirty[Any], part: StrEnum, mono_ns: int) -> bool:
        take(self, part, mono_ns)
        return True

    monkeypatch.setattr(Dirty, "take", always)


def _run(scenario: str, out: Path) -> dict[str, bytes]:
    words = ["--runtime", "sim", "--seed", "11", "--duration", "3", "--out", str(out)]
    main(["run", *words, *scenario.split()])
    return told(out / "latest")
