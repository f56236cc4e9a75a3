"""A scenario that a cluster cannot run to its end is refused before it begins, and no other."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from chaos.cluster.interface import NodeId, NodeStatus, Roles
from chaos.cluster.sim.loop import VirtualLoop
from chaos.errors import OperatorError
from chaos.nemesis.abilities import PROTOCOLS, Ability
from chaos.nemesis.awaited import Condition, Sight
from chaos.nemesis.nemesis import Nemesis
from chaos.nemesis.script import Until
from chaos.probes import NoLeaderError
from chaos.progress import ConsoleProgress
from chaos.recorder import Recorder
from chaos.run.launch import launch
from chaos.run.plan import RunPlan
from chaos.run.plan_files import plan_from
from chaos.run.runtimes import RUNTIMES
from chaos.scenario import Scenario
from chaos.scenarios import SCENARIOS
from chaos.scenarios.controls import CONTROLS
from tests.chaos.test_recorder import HandClock
from tests.support.fake_cluster import FakeCluster
from tests.support.fake_harness import FakeRuntime
from tests.support.fake_node import FakeNode
from workloads.leader import Leader
from workloads.operator import Voter
from workloads.wire.topic_partitions import PartitionClaim

EVERY = {**SCENARIOS, **CONTROLS}
DRAWN = "swarm"
ASKED_FOR = [name for name, scenario in EVERY.items() if scenario.trial is None]


def plan_of(scenario: Scenario, seed: int = 1) -> RunPlan:
    plan = RunPlan(scenario=scenario, seed=seed, nodes=6, duration_s=30.0, runtime="docker")
    if scenario.trial is None:
        return plan
    drawn = scenario.trial(seed, None, None, {})
    return RunPlan(
        scenario=scenario,
        seed=seed,
        nodes=drawn.nodes,
        duration_s=drawn.schedule.duration_s,
        schedule=drawn.schedule,
    )


class Able:
    """A cluster with these abilities and no others, as far as anybody can see."""

    def __init__(self, abilities: Collection[Ability], inner: object) -> None:
        self._inner = inner
        known = {name for ability in abilities for name in vars(PROTOCOLS[ability])}
        every = {name for protocol in PROTOCOLS.values() for name in vars(protocol)}
        self._lacking = {name for name in every - known if not name.startswith("_")}

    def __getattr__(self, name: str) -> Any:
        if name in self._lacking:
            raise AttributeError(name)
        return getattr(self._inner, name)


class Runtime(FakeRuntime):
    """Of clusters with these abilities, which break as soon as they are created."""

    def __init__(self, abilities: Collection[Ability]) -> None:
        super().__init__(break_at="create")
        self.abilities = abilities

    def new(self, **options: Any) -> Any:
        return Able(self.abilities, super().new(**options))


def attempt(
    plan: RunPlan, abilities: Collection[Ability], out: Path, patch: pytest.MonkeyPatch
) -> list[str]:
    """What a cluster with these abilities is asked to do; raises what `launch` does."""
    runtime = Runtime(abilities)
    patch.setitem(RUNTIMES, "docker", runtime)
    try:
        launch(plan, out, ConsoleProgress(quiet=True), page=False)
    finally:
        (cluster,) = runtime.made
    return cluster.calls


@pytest.mark.parametrize("name", ASKED_FOR)
def test_what_lacks_one_ability_is_refused_before_it_is_created(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(EVERY[name])
    for ability in plan.needs:
        with pytest.raises(OperatorError, match=f"refused: it needs to {ability.value}"):
            attempt(plan, plan.needs - {ability}, tmp_path, monkeypatch)
        assert list(tmp_path.iterdir()) == []


def with_sick_disks() -> RunPlan:
    """What the first seed draws that has some."""
    plans = (plan_of(EVERY[DRAWN], seed) for seed in range(20))
    return next(plan for plan in plans if Ability.SICKEN in plan.needs)


def test_what_a_seed_drew_and_cannot_be_had_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = with_sick_disks()
    drawn = plan.drawn().windows
    able = plan.needs - {Ability.SICKEN}
    attempt(plan, able, tmp_path, monkeypatch)
    (directory,) = (path for path in tmp_path.iterdir() if path.is_dir() and not path.is_symlink())
    again = plan_from(json.loads((directory / "run.json").read_text())["plan"])
    kinds = [window.fault.kind for window in again.drawn().windows]
    assert kinds == [it.fault.kind for it in drawn if not it.fault.kind.startswith("disk-")]
    assert 0 < len(kinds) < len(drawn)


def test_a_seed_of_which_nothing_can_be_had_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = with_sick_disks()
    sick = tuple(it for it in plan.drawn().windows if it.fault.kind.startswith("disk-"))
    plan = replace(plan, schedule=replace(plan.drawn(), windows=sick))
    with pytest.raises(OperatorError, match="refused: it needs to make disks sick"):
        attempt(plan, [], tmp_path, monkeypatch)
    assert list(tmp_path.iterdir()) == []


def test_last_replica_standing_takes_power_that_can_be_cut() -> None:
    """Its script cuts the power of brokers; it has no windows."""
    assert Ability.POWER in plan_of(SCENARIOS["last-replica-standing"]).needs
    assert Ability.POWER in SCENARIOS["last-replica-standing"].needs


class Obliging:
    """A lookout and a probe to which everything has come about that anybody waits for, and an
    operator who has changed every voter. The first node that runs leads."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster

    async def look(self) -> Sight:
        claim = PartitionClaim(
            topic="t", key="t-0", leader=1, epoch=0, replicas=(1, 2, 3), isr=(1, 2, 3),
            elr=(), last_known_elr=(), offline=(),
        )  # fmt: skip
        return Sight(claims={1: (claim,)}, acknowledged=0)

    async def wait_for(self, condition: Condition, within_s: float) -> bool:
        del condition, within_s
        return True

    async def leader(self, within_s: float) -> NodeId:
        del within_s
        for node, fake in self._cluster.fakes.items():
            if fake.status is NodeStatus.RUNNING:
                return node
        raise NoLeaderError("no node runs")

    async def leader_after(self, epoch: int, within_s: float) -> Leader:
        return Leader(node=await self.leader(within_s), epoch=epoch + 1)

    async def voters(self, within_s: float) -> Sequence[Voter]:
        del within_s
        return ()

    async def leading(self, within_s: float) -> tuple[Voter, Sequence[Voter]]:
        """By one of two disks."""
        node = await self.leader(within_s)
        return Voter(node, "one"), (Voter(node, "one"), Voter(node, "two"))

    async def led_without(self, node: NodeId, within_s: float) -> tuple[NodeId, Sequence[Voter]]:
        del within_s
        return NodeId(node + 1), (Voter(node, "two"),)

    async def add(self, new: Voter, within_s: float, *, alone: bool = True) -> Sequence[Voter]:
        del within_s, alone
        return (new,)

    async def request_addition(self, node: NodeId, within_s: float) -> tuple[Voter, str]:
        del within_s
        return Voter(node, "one"), ""

    async def remove(self, old: Voter, within_s: float) -> Sequence[Voter]:
        del old, within_s
        return ()

    async def wait_until_whole(self, within_s: float) -> bool:
        del within_s
        return True


class ObligingProbe(Obliging):
    """Every node is one voter."""

    async def voters(self, within_s: float) -> Sequence[NodeId]:  # type: ignore[override]
        del within_s
        return tuple(self._cluster.fakes)

    async def without(self, nodes: Sequence[NodeId], within_s: float) -> None:
        """Whoever was removed."""


class _Silent(FakeNode):
    """Off, on or paused, and nothing to connect to."""

    async def start(self) -> None:
        self.status = NodeStatus.RUNNING

    async def stop(self) -> None:
        self.status = NodeStatus.OFF


class Silent(FakeCluster):
    """On a loop of virtual time; every node is broker and controller."""

    settings: Mapping[str, str] = MappingProxyType({})
    promises: Sequence[str] = ()
    images: Mapping[str, str] = MappingProxyType({})

    def __init__(self, nodes: int) -> None:
        super().__init__(nodes)
        self.fakes = {node: _Silent(node, self.registers) for node in self.fakes}
        self.roles = dict.fromkeys(self.fakes, Roles.BOTH)


def asked_of(plan: RunPlan, directory: Path) -> set[Ability]:
    """Of a cluster of which everything comes about, by the nemesis of this run."""
    cluster = Silent(plan.nodes)
    obliging: Any = Obliging(cluster)
    probe: Any = ObligingProbe(cluster)

    async def hurt() -> None:
        await cluster.prepare()
        with Recorder(directory, HandClock(), syncs=False) as recorder:
            nemesis = Nemesis(
                cluster=cluster,
                probe=probe,
                recorder=recorder,
                seed=plan.seed,
                directory=directory,
                tell=lambda _: None,
                lookout=obliging,
                operator=obliging,
            )
            if (first := plan.coming_up) is None:
                await cluster.start_all()
            else:
                await nemesis.follow(first)
            script = plan.scenario.script
            await (nemesis.run(plan.drawn()) if script is None else nemesis.follow(script))

    loop = VirtualLoop()
    try:
        loop.run_until_complete(hurt())
    finally:
        loop.close()
    called = {call.split()[0] for call in cluster.calls}
    return {need for need, protocol in PROTOCOLS.items() if called & vars(protocol).keys()}


@pytest.mark.parametrize("name", EVERY)
def test_a_run_asks_of_a_cluster_exactly_what_was_made_sure_of(name: str, tmp_path: Path) -> None:
    for seed in range(4):
        plan = plan_of(EVERY[name], seed)
        assert asked_of(plan, tmp_path) == plan.needs
        assert plan.needs <= EVERY[name].needs
        for events in tmp_path.glob("events-*"):
            events.unlink()


@pytest.mark.parametrize("name", EVERY)
def test_a_script_waits_for_nothing_that_nobody_looks_at(name: str) -> None:
    """Its conditions are of partitions, which only clusters with brokers have."""
    script = EVERY[name].script
    waits = script is not None and any(isinstance(step, Until) for step in script.steps)
    assert waits <= EVERY[name].is_of_brokers
