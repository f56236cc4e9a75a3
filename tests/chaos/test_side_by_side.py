"""Faults that overlap: none undoes another, and what could not be hit was no fault."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from chaos.cluster.interface import DiskSickness, Link, NodeId
from chaos.nemesis.book import LastingFaults
from chaos.nemesis.fault import Fault, Hit
from chaos.nemesis.kinds.clocks import ClockJump
from chaos.nemesis.kinds.cuts import NetworkPartition, Ways
from chaos.nemesis.kinds.disks import SickDisk
from chaos.nemesis.kinds.links import FlakyLinks, SlowLinks
from chaos.nemesis.kinds.processes import Kill, Pause
from chaos.nemesis.kinds.voters import LoseDisk, RemoveVoter
from chaos.nemesis.nemesis import Nemesis
from chaos.nemesis.script import Schedule, Window
from chaos.nemesis.victims import (
    AllVoters,
    ControllerLeader,
    OneNode,
    PartitionLeader,
    SomeNodes,
)
from chaos.probes import QuorumProbe, driver_for
from chaos.recorder import Recorder
from chaos.run.seal import faults_table
from tests.chaos.test_recorder import HandClock, lines_of
from tests.support.fake_cluster import FakeCluster
from tests.support.virtual_time import in_virtual_time

ONE, TWO, THREE = NodeId(1), NodeId(2), NodeId(3)


@dataclass
class Told:
    rows: list[dict[str, object]]
    done: list[dict[str, object]]
    calls: list[str]


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaos.nemesis.nemesis._LEAST_HOLD_S", 0.1)


def hurt(
    directory: Path,
    *windows: tuple[float, float, Fault],
    bites: bool = True,
    side_by_side: bool = True,
    at_random: bool = False,
) -> Told:
    """Apply windows (at, hold, fault) to a fake cluster that is led by node 1."""
    cluster = FakeCluster(bites=bites)

    async def main() -> None:
        await cluster.create()
        probe = QuorumProbe(driver_for(cluster))
        made = tuple(Window(at_s=at, hold_s=hold, fault=fault) for at, hold, fault in windows)
        schedule = Schedule(
            duration_s=1.0, windows=made, side_by_side=side_by_side, at_random=at_random
        )
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
                assert nemesis.current == ""
        finally:
            await probe.close()
            await cluster.destroy()

    in_virtual_time(main())
    return Told(
        rows=faults_table(lines_of(directory / "events-nemesis.jsonl.zst")).to_pylist(),
        done=json.loads((directory / "schedule.json").read_text())["done"],
        calls=[call for call in cluster.calls if call not in ("create", "destroy")],
    )


def test_two_faults_go_on_at_one_time_and_are_cured_each_in_its_own(tmp_path: Path) -> None:
    told = hurt(
        tmp_path,
        (0.1, 0.5, Kill(victim=OneNode(THREE))),
        (0.2, 0.1, SlowLinks(latency_ms=100)),
    )
    assert told.calls == ["kill 3", "slow_links 100", "quicken_links", "start 3"]
    assert [row["bit"] for row in told.rows] == [True, True]
    assert [row["kind"] for row in told.rows] == ["kill", "slow-links"]


def test_who_is_hurt_already_is_passed_over(tmp_path: Path) -> None:
    told = hurt(
        tmp_path,
        (0.1, 0.5, Kill(victim=OneNode(THREE))),
        (0.2, 0.1, Pause(victim=OneNode(THREE))),
        (0.3, 0.1, Pause(victim=AllVoters())),
    )
    assert [row["nodes"] for row in told.rows] == [[3], [1, 2]]
    assert told.done[1]["passed_over"] == "no node could be hit as 3: 1 are hurt already"
    assert told.done[1]["bit"] is None
    assert "pause 3" not in told.calls


def test_where_nobody_leads_there_is_nobody_to_hit_and_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaos.nemesis.nemesis._PATIENCE_S", 0.05)
    told = hurt(
        tmp_path,
        (0.1, 0.7, Pause(victim=SomeNodes(3))),
        (0.2, 0.1, NetworkPartition(victim=ControllerLeader())),
    )
    assert "no node led" in str(told.done[1]["passed_over"])
    assert [row["kind"] for row in told.rows] == ["pause", "partition"]


def test_a_kind_of_fault_that_never_bit_is_made_up_for_alone(tmp_path: Path) -> None:
    told = hurt(
        tmp_path,
        (0.1, 0.5, Kill(victim=OneNode(THREE))),
        (0.2, 0.1, Pause(victim=OneNode(THREE))),
        (0.3, 0.1, SlowLinks(latency_ms=100)),
    )
    assert told.calls == ["kill 3", "slow_links 100", "quicken_links", "start 3",
                          "pause 3", "resume 3"]  # fmt: skip
    passed_over, made_up = (done for done in told.done if done["kind"] == "pause")
    assert (passed_over["planned_at_s"], passed_over["bit"]) == (0.2, None)
    assert (made_up["planned_at_s"], made_up["bit"], made_up["planned_hold_s"]) == (None, True, 0.1)


def test_what_does_not_bite_is_tried_ever_longer_and_given_up_in_the_end(tmp_path: Path) -> None:
    told = hurt(tmp_path, (0.1, 0.1, Pause(victim=OneNode(TWO))), bites=False)
    assert [done["planned_hold_s"] for done in told.done] == [0.1, 0.1, 0.2, 0.3, 0.4]
    assert not any(row["bit"] for row in told.rows)


def test_a_link_that_is_cut_stays_cut_until_its_own_cure(tmp_path: Path) -> None:
    told = hurt(
        tmp_path,
        (0.1, 0.5, NetworkPartition(victim=OneNode(ONE))),
        (0.2, 0.1, NetworkPartition(victim=OneNode(TWO), ways=Ways.OUT)),
        (0.4, 0.1, NetworkPartition(victim=OneNode(ONE), ways=Ways.IN)),
    )
    assert told.calls == ["cut 1->2 1->3 2->1 3->1", "cut 2->3", "heal 2->3",
                          "heal 1->2 1->3 2->1 3->1"]  # fmt: skip
    assert told.done[2]["passed_over"] == "another fault holds it"


def hit(fault: Fault, *nodes: NodeId, links: tuple[Link, ...] = ()) -> Hit:
    return Hit(fault=fault, nodes=nodes, links=links)


def test_only_faults_of_one_aspect_are_in_each_others_way() -> None:
    held = LastingFaults()
    sick = hit(SickDisk(victim=OneNode(TWO), sickness=DiskSickness.SLOW), TWO)
    jumped = hit(ClockJump(victim=OneNode(ONE), offset_ms=5), ONE)
    held.add(sick)
    held.add(jumped)
    assert held.nodes(Kill(victim=AllVoters())) == {TWO}
    assert held.nodes(ClockJump(victim=AllVoters(), offset_ms=1)) == {ONE}
    assert held.nodes(NetworkPartition(victim=AllVoters())) == frozenset()
    held.remove(sick)
    assert held.hits == [jumped]


def test_of_two_that_are_alike_only_the_one_that_is_over_lets_go() -> None:
    """Simulated swarm, seed 127: the second of two cuts of one leader lost its hold so."""
    held, fault = LastingFaults(), NetworkPartition(victim=ControllerLeader())
    over, goes_on = (Hit(fault=fault, nodes=(TWO,), links=(Link(TWO, ONE),)) for _ in range(2))
    held.add(over)
    held.add(goes_on)
    held.remove(over)
    assert held.free(fault, (Link(TWO, ONE),)) == ()


def test_a_cut_and_a_flaky_link_are_two_things_and_latency_is_one_for_all() -> None:
    held = LastingFaults()
    link, other = Link(ONE, TWO), Link(TWO, ONE)
    cut = NetworkPartition(victim=OneNode(ONE), ways=Ways.OUT)
    flaky = FlakyLinks(victim=OneNode(ONE), share=0.1)
    slow = SlowLinks(latency_ms=9)
    held.add(hit(cut, ONE, links=(link,)))
    assert held.free(cut, (link, other)) == (other,)
    assert held.free(flaky, (link, other)) == (link, other)
    assert not held.is_impossible(slow)
    held.add(hit(slow, ONE, TWO))
    assert held.is_impossible(slow)
    assert not held.is_impossible(cut)


def test_no_voter_is_taken_while_another_one_is() -> None:
    """Of three voters, with one removed and the disk of another lost, no majority is left."""
    loss, removal = LoseDisk(victim=OneNode(ONE)), RemoveVoter(victim=OneNode(TWO))
    for goes_on in (loss, removal):
        held = LastingFaults()
        held.add(hit(goes_on, ONE))
        assert held.is_impossible(loss)
        assert held.is_impossible(removal)
        assert not held.is_impossible(Kill(victim=AllVoters()))


@pytest.mark.parametrize("at_random", [False, True])
def test_of_faults_in_turn_only_those_drawn_at_random_may_find_no_node(
    at_random: bool, tmp_path: Path
) -> None:
    of_no_partition = Kill(victim=PartitionLeader())
    told = hurt(
        tmp_path,
        (0.1, 0.2, of_no_partition),
        (0.5, 0.1, Pause(victim=OneNode(TWO))),
        side_by_side=False,
        at_random=at_random,
    )
    first, second = told.done[:2]
    assert first["passed_over"] == ("no partition has a leader" if at_random else "")
    assert first["bit"] == (None if at_random else False)
    assert second["bit"], "the next one begins all the same"
    tried_again = [done["kind"] for done in told.done[2:]]
    assert tried_again == (["kill"] * 4 if at_random else [])
