"""Links that break, disks that are sick and clocks that are wrong, with evidence of each."""

import asyncio

import pytest

from chaos.cluster.interface import DiskSickness, Link, NodeId, NodeStatus
from chaos.cluster.sim.sim_cluster import SimCluster
from tests.sim.test_cluster import lived

ONE, TWO, THREE = NodeId(1), NodeId(2), NodeId(3)
ROUND_TWO = (Link(ONE, TWO), Link(TWO, ONE), Link(TWO, THREE), Link(THREE, TWO))


def test_flaky_links_reset_connections_until_they_are_steady() -> None:
    async def story(cluster: SimCluster) -> None:
        await cluster.make_flaky(ROUND_TWO, 0.2)
        await asyncio.sleep(10)
        evidence = await cluster.steady(ROUND_TWO)
        assert evidence.bit, evidence
        again = await cluster.steady(ROUND_TWO)
        assert again.facts == evidence.facts
        await cluster.make_flaky(ROUND_TWO, 0.0)
        await asyncio.sleep(10)
        assert not (await cluster.steady(ROUND_TWO)).bit, "counted anew, and none broke"

    lived(story)


def test_links_are_judged_slow_by_those_that_are_not_cut() -> None:
    async def story(cluster: SimCluster) -> None:
        await cluster.slow_links(300)
        await cluster.cut(ROUND_TWO)
        await asyncio.sleep(3)
        evidence = await cluster.quicken_links()
        assert evidence.bit, evidence
        assert set(evidence.facts) == {"1->3 answer_ms", "3->1 answer_ms"}

    lived(story)


@pytest.mark.parametrize("sickness", [DiskSickness.ERROR, DiskSickness.FULL])
def test_a_node_dies_of_its_disk_and_lives_again_when_it_is_mended(sickness: DiskSickness) -> None:
    async def story(cluster: SimCluster) -> None:
        await cluster.sicken_disk(TWO, sickness)
        await asyncio.sleep(20)  # idle, it appends twice a second
        assert await cluster.status(TWO) is NodeStatus.OFF
        evidence = await cluster.mend_disk(TWO)
        assert evidence.bit, evidence
        await cluster.start(TWO)
        await asyncio.sleep(20)
        assert await cluster.status(TWO) is NodeStatus.RUNNING

    lived(story)


def test_a_slow_disk_slows_and_kills_nobody() -> None:
    async def story(cluster: SimCluster) -> None:
        await cluster.sicken_disk(TWO, DiskSickness.SLOW)
        await asyncio.sleep(5)
        evidence = await cluster.mend_disk(TWO)
        assert evidence.bit, evidence
        assert await cluster.status(TWO) is NodeStatus.RUNNING

    lived(story)


def test_a_disk_that_was_mended_at_once_hurt_nobody() -> None:
    async def story(cluster: SimCluster) -> None:
        for sickness in DiskSickness:
            await cluster.sicken_disk(TWO, sickness)
            assert not (await cluster.mend_disk(TWO)).bit
        await asyncio.sleep(20)
        assert await cluster.status(TWO) is NodeStatus.RUNNING

    lived(story)


def test_a_clock_is_off_true_time_by_what_was_asked_for_and_then_right() -> None:
    async def story(cluster: SimCluster) -> None:
        clock, right = cluster.machines[TWO].clock, cluster.machines[ONE].clock
        for offset_ms in (-5_000, 7_500):  # not one on top of the other
            evidence = await cluster.jump_clock(TWO, offset_ms)
            assert evidence.bit, evidence
            assert clock.now().wall_ns - right.now().wall_ns == offset_ms * 1_000_000
            assert clock.now().mono_ns == right.now().mono_ns
        await cluster.jump_clock(TWO, 0)
        assert clock.now() == right.now()

    lived(story)


@pytest.mark.parametrize("rate", [0.5, 1.25])
def test_a_clock_goes_at_the_rate_that_was_asked_for(rate: float) -> None:
    async def story(cluster: SimCluster) -> None:
        clock = cluster.machines[TWO].clock
        evidence = await cluster.run_clock(TWO, rate)
        assert evidence.bit, evidence
        assert evidence.facts == {"rate_ppm": round(rate * 1e6)}
        assert (await cluster.run_clock(TWO, 1.0)).bit
        before = clock.now().mono_ns - clock.true().mono_ns
        await asyncio.sleep(2)
        assert clock.now().mono_ns - clock.true().mono_ns == before

    lived(story)
