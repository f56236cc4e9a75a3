"""The harness's clock, and nodes' clocks that go wrong."""

import asyncio
from collections.abc import Callable

import pytest

from chaos.cluster.sim.loop import VirtualLoop, run
from chaos.cluster.sim.surroundings import NodeClock, VirtualClock

SECOND = 10**9


def lived(story: Callable[[VirtualLoop, VirtualClock, NodeClock], object], seed: int = 1) -> None:
    """Half a second passes, then the story is told at each of two more."""

    async def main() -> None:
        await asyncio.sleep(0.5)
        story(loop, clock, NodeClock(clock, loop))

    loop = VirtualLoop()
    clock = VirtualClock(loop, seed)
    run(main(), loop)


def test_zeros_are_the_seeds_and_time_is_the_loops() -> None:
    found: list[tuple[int, int, int]] = []

    def look(_: VirtualLoop, clock: VirtualClock, __: NodeClock) -> None:
        found.append((clock.now_ns(), clock.started_mono_ns, clock.wall_ns()))

    for seed in (1, 1, 2):
        lived(look, seed)
    assert found[0] == found[1] != found[2]
    assert found[0][0] == SECOND // 2


def test_a_right_clock_agrees_with_the_machines() -> None:
    def look(_: VirtualLoop, clock: VirtualClock, node: NodeClock) -> None:
        assert node.now() == node.true()
        assert node.now().mono_ns == clock.mono_ns()
        assert node.now().wall_ns == clock.wall_ns()

    lived(look)


def test_a_jump_moves_the_time_of_day_only() -> None:
    def look(_: VirtualLoop, clock: VirtualClock, node: NodeClock) -> None:
        node.jump(-3600 * SECOND)
        assert node.now().mono_ns == clock.mono_ns()
        assert node.now().wall_ns == clock.wall_ns() - 3600 * SECOND
        assert node.true().mono_ns == clock.mono_ns()

    lived(look)


@pytest.mark.parametrize("rate", [0.5, 1.0, 1.001, 3.0])
def test_a_rate_holds_from_now_on_and_deadlines_are_met(rate: float) -> None:
    async def story() -> None:
        await asyncio.sleep(1)
        node = NodeClock(clock, loop)
        before = node.now()
        node.run_at(rate)
        assert node.now() == before, "no jump"
        deadline = before.mono_ns + 2 * SECOND + 1
        when = node.when(deadline)
        assert when == pytest.approx(loop.time() + 2 / rate)
        await asyncio.sleep(when - loop.time())
        assert node.now().mono_ns >= deadline, "who wakes at that time finds it reached"
        assert node.now().mono_ns - before.mono_ns == node.now().wall_ns - before.wall_ns
        assert node.true().mono_ns == clock.mono_ns()

    loop = VirtualLoop()
    clock = VirtualClock(loop, 1)
    run(story(), loop)


def test_monotonic_time_never_goes_back() -> None:
    async def story() -> None:
        node = NodeClock(clock, loop)
        last = node.now().mono_ns
        for rate in (3.0, 0.1, 1.0, 0.5, 2.0):
            node.run_at(rate)
            node.jump(-SECOND)
            await asyncio.sleep(0.1)
            assert node.now().mono_ns > last
            last = node.now().mono_ns

    loop = VirtualLoop()
    clock = VirtualClock(loop, 1)
    run(story(), loop)


def test_a_deadline_in_the_past_is_now() -> None:
    def look(loop: VirtualLoop, _: VirtualClock, node: NodeClock) -> None:
        assert node.when(node.now().mono_ns - SECOND) == loop.time()

    lived(look)
