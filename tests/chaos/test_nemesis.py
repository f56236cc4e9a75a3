"""Faults are planned from a seed, applied, cured, and always leave a word on whether they bit."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import pytest

from chaos.cluster.interface import FaultEvidence, Link, NodeId, NodeStatus, PowerCutMode, Voted
from chaos.nemesis.abilities import Ability, lacking
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition, PartialPartition, Ways, among, grudge
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill, Pause, Terminate
from chaos.nemesis.nemesis import ClusterBrokenError, LeaderlessError, Nemesis
from chaos.nemesis.proof import of_links, of_nodes
from chaos.nemesis.recorded import FAULTS
from chaos.nemesis.script import Schedule, Window, spread
from chaos.nemesis.victims import (
    AllFollowers,
    AllVoters,
    ControllerLeader,
    FollowerThatVoted,
    LeaderAnd,
    OneNode,
    RandomFollower,
    RandomNode,
    Victim,
    VotersByOneDisk,
)
from chaos.probes import QuorumProbe, driver_for
from chaos.recorder import Recorder
from chaos.run.seal import faults_table
from chaos.scenarios import CONTROLLER_SCENARIOS
from tests.chaos.test_recorder import HandClock, lines_of
from tests.support.fake_cluster import FakeCluster
from tests.support.virtual_time import in_virtual_time

SCENARIOS = [name for name, scenario in CONTROLLER_SCENARIOS.items() if scenario.trial is None]
ONE, TWO, THREE = NodeId(1), NodeId(2), NodeId(3)


@pytest.mark.parametrize(
    ("ways", "links"),
    [
        (Ways.OUT, "2->1 2->3"),
        (Ways.IN, "1->2 3->2"),
        (Ways.BOTH, "2->1 2->3 1->2 3->2"),
    ],
)
def test_a_partition_cuts_the_links_of_its_victim(ways: Ways, links: str) -> None:
    assert " ".join(map(str, grudge([TWO], [THREE, ONE, TWO], ways))) == links


def test_nobody_is_cut_off_from_nobody() -> None:
    assert grudge([ONE, TWO, THREE], [ONE, TWO, THREE], Ways.BOTH) == ()


def test_those_who_fell_out_hear_everybody_else() -> None:
    assert " ".join(map(str, among([THREE, ONE]))) == "1->3 3->1"
    assert among([ONE]) == ()


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("duration", [2.0, 10.0, 30.0, 600.0])
def test_a_schedule_follows_from_its_seed_and_leaves_quiet(name: str, duration: float) -> None:
    scenario = CONTROLLER_SCENARIOS[name]
    plans = [scenario.schedule(seed=seed, nodes=3, duration_s=duration) for seed in range(20)]
    assert plans == [
        scenario.schedule(seed=seed, nodes=3, duration_s=duration) for seed in range(20)
    ]
    for plan in plans:
        assert plan.duration_s == duration
        held = sum(window.hold_s for window in plan.windows)
        assert held <= 0.8 * duration
        assert {window.fault for window in plan.windows} <= set(scenario.faults)
    if scenario.faults and scenario.script is None:
        assert len({plan.windows for plan in plans}) > 1
        assert all(plan.windows for plan in plans)


@pytest.mark.parametrize("name", ["partition-leader", "kill-leader", "power-off"])
def test_thirty_seconds_hold_every_fault_of_a_scenario(name: str) -> None:
    scenario = CONTROLLER_SCENARIOS[name]
    plan = scenario.schedule(seed=7, nodes=3, duration_s=30.0)
    assert {window.fault for window in plan.windows} == set(scenario.faults)


def test_windows_of_nothing_are_quiet() -> None:
    quiet = spread([], duration_s=5.0, rng=random.Random(1), held_share=0.5)
    assert quiet == Schedule(duration_s=5.0)


def test_a_cluster_lacks_what_it_has_no_protocol_for() -> None:
    assert lacking(FakeCluster(), frozenset(Ability)) == ()


def test_a_partition_bit_only_if_every_link_did() -> None:
    bit = FaultEvidence(bit=True, what="swallowed 9 bytes", facts={"swallowed": 9})
    no = FaultEvidence(bit=False, what="nothing was sent")
    links = (Link(ONE, TWO), Link(TWO, ONE))
    whole = of_links(dict.fromkeys(links, bit), links)
    assert (whole.bit, whole.what) == (True, "1->2, 2->1: swallowed 9 bytes")
    assert whole.facts == {"1->2 swallowed": 9, "2->1 swallowed": 9}
    half = of_links({links[0]: bit, links[1]: no}, links)
    assert (half.bit, half.what) == (False, "2->1: nothing was sent")
    assert of_links({links[0]: bit}, links) == FaultEvidence(
        bit=False, what="2->1: no evidence", facts={"1->2 swallowed": 9}
    )
    assert not of_nodes({}, ()).bit


def test_what_a_node_that_is_off_cannot_tell_is_not_lacking() -> None:
    bit = FaultEvidence(bit=True, what="swallowed 9 bytes")
    no = FaultEvidence(bit=False, what="a marked probe was not swallowed")
    links = grudge([ONE], [ONE, TWO, THREE], Ways.BOTH)
    found = {link: no if THREE in (link.source, link.destination) else bit for link in links}
    assert not of_links(found, links).bit, "all of them run"
    dead = of_links(found, links, {THREE})
    assert dead.bit
    assert dead.what == "1->2, 2->1: swallowed 9 bytes; 2 links of node 3, off by then, not proved"
    assert of_links(found, links, {THREE, NodeId(4)}) == dead, "who was in no cut is not named"
    assert not of_links({**found, Link(TWO, ONE): no}, links, {THREE}).bit, "the others must have"
    assert not of_links(found, links, {ONE}).bit, "no two that run were parted"
    assert of_links(dict.fromkeys(links, bit), links, {ONE}).bit, "and yet all may be proved"
    assert not of_links({}, (), {THREE}).bit


class Mortal(FakeCluster):
    """Node 3 dies of itself while it is cut off from node 1; its links can tell nothing then.

    `when` it does: before the links are healed, or while they are.
    """

    def __init__(self, when: str, *, others: bool) -> None:
        super().__init__()
        self.when = when
        self.others = others

    async def status(self, node: NodeId) -> NodeStatus:
        if self.when == "before" and node == THREE and self.cut_links:
            await self.fakes[node].stop()
        return await super().status(node)

    async def heal(self, links: Sequence[Link]) -> Mapping[Link, FaultEvidence]:
        await self.fakes[THREE].stop()
        unproved = FaultEvidence(bit=False, what="a marked probe was not swallowed")
        found = await super().heal(links)
        return {
            link: unproved if THREE in (link.source, link.destination) or not self.others else bit
            for link, bit in found.items()
        }


@pytest.mark.parametrize("when", ["before", "meanwhile"])
@pytest.mark.parametrize("others", [True, False])
def test_a_partition_of_which_a_node_dies_bit_where_it_parted_the_living(
    tmp_path: Path, when: str, others: bool
) -> None:
    (row,) = hurt(tmp_path, Mortal(when, others=others), NetworkPartition(victim=OneNode(ONE)))
    assert row["bit"] is others, row


def hurt(directory: Path, cluster: FakeCluster, *faults: Fault) -> list[dict[str, object]]:
    """Apply faults one after another to a fake cluster; the rows of the faults table."""

    async def main() -> None:
        await cluster.create()
        probe = QuorumProbe(driver_for(cluster))
        windows = tuple(
            Window(at_s=0.2 * number, hold_s=0.1, fault=fault)
            for number, fault in enumerate(faults)
        )
        schedule = Schedule(duration_s=0.2 * len(faults), windows=windows)
        try:
            with Recorder(directory, HandClock()) as recorder:
                nemesis = Nemesis(
                    cluster=cluster,
                    probe=probe,
                    recorder=recorder,
                    seed=1,
                    directory=directory,
                    tell=lambda _: None,
                )
                await nemesis.run(schedule)
        finally:
            await probe.close()
            await cluster.destroy()

    try:
        in_virtual_time(main())
    finally:
        events = lines_of(directory / "events-nemesis.jsonl.zst")
    return list(faults_table(events).to_pylist())


@pytest.mark.parametrize(
    ("fault", "done"),
    [
        (Kill(victim=ControllerLeader()), ["kill 1", "start 1"]),
        (Kill(victim=OneNode(THREE)), ["kill 3", "start 3"]),
        (Terminate(victim=ControllerLeader()), ["stop 1", "start 1"]),
        (Pause(victim=ControllerLeader()), ["pause 1", "resume 1"]),
        (
            NetworkPartition(victim=ControllerLeader(), ways=Ways.OUT),
            ["cut 1->2 1->3", "heal 1->2 1->3"],
        ),
        (
            NetworkPartition(victim=LeaderAnd(1), stagger_ms=10),
            ["cut 1->3 2->3 3->1 3->2", "heal 1->3 3->1", "heal 2->3 3->2"],
        ),
        (PartialPartition(victim=LeaderAnd(1)), ["cut 1->2 2->1", "heal 1->2 2->1"]),
        (
            PowerOff(victim=AllVoters()),
            ["power_off 1 2 3 lose-all", *(f"start {node}" for node in (1, 2, 3)),
             *(f"power_evidence {node}" for node in (1, 2, 3))],
        ),
    ],
)  # fmt: skip
def test_a_fault_is_applied_cured_and_proved(tmp_path: Path, fault: Fault, done: list[str]) -> None:
    cluster = FakeCluster()
    (row,) = hurt(tmp_path, cluster, fault)
    assert cluster.calls == ["create", *done, "destroy"]
    assert row["bit"] is True
    assert row["kind"] == fault.kind
    assert None not in (row["t_start"], row["t_bit"], row["t_heal"], row["t_healed"])


@pytest.mark.parametrize("victim", [RandomFollower(), RandomNode()])
def test_a_role_is_resolved_as_it_fires(tmp_path: Path, victim: Victim) -> None:
    (row,) = hurt(tmp_path, FakeCluster(), Kill(victim=victim))
    assert row["nodes"] in ([[2], [3]] if victim == RandomFollower() else [[1], [2], [3]])
    assert json.loads(str(row["params"]))["victim"] == str(victim)


def test_followers_are_all_that_do_not_lead(tmp_path: Path) -> None:
    (row,) = hurt(tmp_path, FakeCluster(), Kill(victim=AllFollowers()))
    assert row["nodes"] == [2, 3]


def test_who_votes_by_two_disks_is_left_out(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.registers.voters.add((TWO, uuid4()))
    (row,) = hurt(tmp_path, cluster, Kill(victim=VotersByOneDisk()))
    assert row["nodes"] == [1, 3]


class _Voters(FakeCluster):
    """Node 1 leads; node 2 stood as well, and whom node 3 voted for is told."""

    def __init__(self, of_three: NodeId | None) -> None:
        super().__init__()
        self._of_three = of_three

    async def vote(self, node: NodeId) -> NodeId | None:
        return self._of_three if node == THREE else node


@pytest.mark.parametrize(("voted", "hit"), [(Voted.ITSELF, TWO), (Voted.LEADER, THREE)])
def test_a_follower_is_hit_for_whom_it_voted_for(tmp_path: Path, voted: Voted, hit: NodeId) -> None:
    (row,) = hurt(tmp_path, _Voters(ONE), Kill(victim=FollowerThatVoted(voted)))
    assert row["nodes"] == [hit]


@pytest.mark.parametrize("vote", [None, TWO], ids=["for nobody", "for one that lost"])
def test_where_no_follower_voted_so_there_is_nobody_to_hit(
    tmp_path: Path, vote: NodeId | None
) -> None:
    (row,) = hurt(tmp_path, _Voters(vote), Kill(victim=FollowerThatVoted(Voted.LEADER)))
    assert (row["bit"], row["nodes"]) == (False, [])
    assert "no follower voted for leader" in str(row["evidence"])


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_did_nothing_says_so(tmp_path: Path, name: str) -> None:
    (row,) = hurt(tmp_path, FakeCluster(bites=False), FAULTS[name])
    assert row["bit"] is False
    assert row["evidence"]


def test_where_nobody_leads_there_is_nobody_to_hit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.nemesis.aim.LEADER_WITHIN_S", 0.1)

    class Alone(FakeCluster):
        """A voter that runs, and is no majority."""

        async def status(self, node: NodeId) -> NodeStatus:
            return NodeStatus.RUNNING if node == 1 else NodeStatus.PAUSED

    cluster = Alone()
    cluster.registers.leader = 99  # nobody has that id
    (row,) = hurt(tmp_path, cluster, Kill(victim=ControllerLeader()))
    assert (row["bit"], row["nodes"]) == (False, [])
    assert "no node led" in str(row["evidence"])


def test_where_a_majority_elects_nobody_it_is_to_blame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.nemesis.aim.LEADER_WITHIN_S", 0.1)
    monkeypatch.setattr("chaos.nemesis.nemesis._WHOLE_S", 0.1)
    cluster = FakeCluster()
    cluster.registers.leader = 99
    with pytest.raises(LeaderlessError, match="no fault holds node 1, node 2, node 3: 3 of 3"):
        hurt(tmp_path, cluster, Kill(victim=ControllerLeader()))


@pytest.mark.parametrize(
    ("step", "reason"), [("kill", "injection failed"), ("start", "cure failed")]
)
def test_a_fault_that_breaks_ends_the_run_with_a_word(
    tmp_path: Path, step: str, reason: str
) -> None:
    cluster = FakeCluster(break_at=step)
    with pytest.raises(ClusterBrokenError, match="as planned"):
        hurt(tmp_path, cluster, Kill(victim=ControllerLeader()))
    (row,) = faults_table(lines_of(tmp_path / "events-nemesis.jsonl.zst")).to_pylist()
    assert row["bit"] is False
    assert reason in row["evidence"]


def test_the_schedule_file_says_what_was_planned_and_what_was_done(tmp_path: Path) -> None:
    hurt(tmp_path, FakeCluster(), Kill(victim=ControllerLeader()), Pause(victim=RandomFollower()))
    written = json.loads((tmp_path / "schedule.json").read_text())
    assert written["seed"] == 1
    assert [window["kind"] for window in written["windows"]] == ["kill", "pause"]
    assert [(done["kind"], done["bit"]) for done in written["done"]] == [
        ("kill", True),
        ("pause", True),
    ]
    assert written["done"][0]["nodes"] == [1]


class Restless(FakeCluster):
    """Whatever stands still or is off is up again at once, by somebody else's hand."""

    async def kill(self, node: NodeId) -> FaultEvidence:
        evidence = await super().kill(node)
        await self.fakes[node].start()
        return evidence

    async def pause(self, node: NodeId) -> FaultEvidence:
        evidence = await super().pause(node)
        self.fakes[node].resume()
        return evidence

    async def power_off(
        self, nodes: Sequence[NodeId], mode: PowerCutMode = PowerCutMode.LOSE_ALL
    ) -> Mapping[NodeId, FaultEvidence]:
        evidence = await super().power_off(nodes, mode)
        for node in nodes:
            await self.fakes[node].start()
        return evidence


@pytest.mark.parametrize("fault", [Kill, Pause, PowerOff])
def test_a_fault_that_somebody_undid_before_its_cure_did_not_bite(
    tmp_path: Path, fault: type[Kill] | type[Pause] | type[PowerOff]
) -> None:
    hurt(tmp_path, Restless(), fault(victim=RandomFollower()))
    (row,) = faults_table(lines_of(tmp_path / "events-nemesis.jsonl.zst")).to_pylist()
    assert row["bit"] is False
    assert "but it was running again before the cure" in row["evidence"]
