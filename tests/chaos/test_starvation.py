"""The harness measures how late its own timers are, and what the kernel says of waiting."""

import asyncio

import pytest

from chaos.cluster.sim.loop import VirtualLoop
from chaos.run.starvation import ALL, RAN, STOLEN, WAITED, MachineWatch, read_stalls


def watched(seconds: float, stalls: list[dict[str, int]]) -> MachineWatch:
    """A watch that ran so long, with what the kernel said tick by tick."""
    told = iter(stalls)
    watch = MachineWatch(lambda: next(told, stalls[-1]))

    async def main() -> None:
        task = asyncio.ensure_future(watch.watch())
        await asyncio.sleep(seconds)
        task.cancel()

    loop = VirtualLoop()
    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
    return watch


def test_timers_that_come_on_time_are_not_late() -> None:
    figures = watched(5.05, [{}]).figures(30)
    assert figures == {"longest_late_ms": 0.0, "late_share": 0.0}


def test_each_stretch_has_its_own_figures() -> None:
    """The second of three: the harness waited for a core for 0.4 of 0.5 s that it wanted, and the
    hypervisor took a quarter of the cores."""
    stalls = [
        {
            "cpu": 100_000 * min(max(tick - 50, 0), 50),
            WAITED: 800_000 * min(max(tick - 50, 0), 50),
            RAN: 200_000 * tick,
            STOLEN: 5 * min(max(tick - 50, 0), 50),
            ALL: 20 * tick,
        }
        for tick in range(125)
    ]
    first, second, last = watched(12.05, stalls).stretches()
    ends = [each["until_s"] - first["t_s"] for each in (first, second, last)]
    assert ends == pytest.approx([5, 10, 12])
    assert second["t_s"] == first["until_s"]
    shares = ("cpu_share", "waited_share", "stolen_share")
    assert [first[name] for name in shares] == [0, 0, 0]
    assert [second[name] for name in shares] == [1, 0.8, 0.25]
    assert [last[name] for name in shares] == [0, 0, 0]


def test_there_is_no_stretch_without_a_second_tick() -> None:
    assert watched(0.05, [{}]).stretches() == []
    assert MachineWatch().stretches() == []


def test_stalls_are_shares_of_the_time() -> None:
    stalls = [{"cpu": 50_000 * tick, "io": 0} for tick in range(100)]
    figures = watched(5.05, stalls).figures(30)
    assert figures["cpu_share"] == 0.5
    assert figures["io_share"] == 0.0
    assert "memory_share" not in figures


def test_only_the_last_part_counts_where_it_is_asked_for() -> None:
    stalls = [{"cpu": 100_000 * min(tick, 20)} for tick in range(100)]
    watch = watched(5.05, stalls)
    assert watch.figures(2)["cpu_share"] == 0.0
    assert watch.figures(60)["cpu_share"] > 0.3


def test_nobody_watched() -> None:
    assert MachineWatch().figures(30) == {}


def test_a_loop_that_is_held_up_is_late() -> None:
    watch = MachineWatch(dict)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(watch.watch())
        await asyncio.sleep(0.01)
        until = loop.time() + 0.3
        while loop.time() < until:
            pass
        await asyncio.sleep(0.15)
        task.cancel()

    asyncio.run(main())
    figures = watch.figures(30)
    assert figures["longest_late_ms"] >= 150
    assert figures["late_share"] > 0.1


def test_what_the_kernel_says_only_rises() -> None:
    first, second = read_stalls(), read_stalls()
    assert first.keys() == second.keys()
    assert all(second[name] >= first[name] for name in first)
    assert RAN not in first or second[RAN] > 0
    assert STOLEN not in first or second[ALL] >= second[STOLEN]
