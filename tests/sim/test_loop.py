"""Time that jumps: order, deadlock, cancellation, signals, and what a virtual loop refuses."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator

import pytest

from chaos.cluster.sim.loop import (
    START_S,
    DeadlockError,
    NotSimulatedError,
    StandstillError,
    VirtualLoop,
    run,
)


def test_hours_pass_in_no_time() -> None:
    async def story() -> float:
        await asyncio.sleep(36_000)
        return asyncio.get_running_loop().time()

    began = time.monotonic()
    loop = VirtualLoop()
    assert run(story(), loop) == START_S + 36_000
    assert loop.elapsed_ns == 36_000 * 10**9
    assert time.monotonic() - began < 10


def test_timers_of_one_moment_fire_in_the_order_they_were_set() -> None:
    """Whatever else lies in the heap: streams must not be reordered."""
    fired: list[int] = []

    async def story() -> None:
        loop = asyncio.get_running_loop()
        at = loop.time() + 1
        for number in range(100):
            loop.call_at(at, fired.append, number)
            loop.call_at(at + number % 7, lambda: None)
        await asyncio.sleep(10)

    run(story(), VirtualLoop())
    assert fired == list(range(100))


def test_what_is_ready_comes_before_what_is_due() -> None:
    order: list[str] = []

    async def story() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(0, order.append, "timer")
        loop.call_soon(order.append, "ready")
        await asyncio.sleep(1)

    run(story(), VirtualLoop())
    assert order == ["ready", "timer"]


def test_a_cancelled_timer_neither_fires_nor_moves_the_time() -> None:
    async def story() -> float:
        loop = asyncio.get_running_loop()
        loop.call_later(5, pytest.fail, "it was cancelled").cancel()
        await asyncio.sleep(1)
        return loop.time()

    assert run(story(), VirtualLoop()) == START_S + 1


def test_nothing_to_wait_for_is_an_error_that_says_so() -> None:
    async def story() -> None:
        await asyncio.sleep(2)
        await asyncio.get_running_loop().create_future()

    with pytest.raises(DeadlockError, match=r"at 2\.000 virtual seconds nothing is ready"):
        run(story(), VirtualLoop())


def test_code_that_never_lets_time_go_on_is_an_error_that_says_so() -> None:
    async def story() -> None:
        await asyncio.sleep(1)
        while True:
            await asyncio.sleep(0)

    with pytest.raises(StandstillError, match=r"still 1\.000 virtual seconds"):
        run(story(), VirtualLoop())


def test_time_outs_and_groups_are_plain_asyncio() -> None:
    async def story() -> list[str]:
        seen: list[str] = []

        async def late() -> None:
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise

        try:
            async with asyncio.timeout(0.5), asyncio.TaskGroup() as group:
                group.create_task(late())
        except TimeoutError:
            seen.append("timed out")
        return seen

    assert run(story(), VirtualLoop()) == ["cancelled", "timed out"]


def test_what_is_left_is_cancelled_and_generators_are_closed() -> None:
    ended: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.sleep(10**6)
        finally:
            ended.append("task")

    async def numbers() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            ended.append("generator")

    async def story() -> None:
        task = asyncio.create_task(forever())
        await asyncio.sleep(1)
        generator = numbers()
        await anext(generator)
        assert not task.done()

    loop = VirtualLoop()
    run(story(), loop)
    assert sorted(ended) == ["generator", "task"]
    assert loop.is_closed()


def test_sets_of_tasks_are_walked_alike_in_every_process() -> None:
    """A task group cancels its tasks in the order of a set, which must not follow addresses."""

    def order() -> list[int]:
        ended: list[int] = []

        async def one(number: int) -> None:
            try:
                await asyncio.sleep(100)
            finally:
                ended.append(number)

        async def story() -> None:
            ballast = [object() for _ in range(len(orders) * 1000)]
            tasks = {asyncio.create_task(one(number)) for number in range(50)}
            await asyncio.sleep(1)
            for task in tasks:
                task.cancel()
            await asyncio.sleep(1)
            assert len(ballast) == len(orders) * 1000

        run(story(), VirtualLoop())
        return ended

    orders: list[list[int]] = []
    for _ in range(3):
        orders.append(order())
    assert orders[0] == orders[1] == orders[2]


def test_the_machine_is_out_of_reach() -> None:
    async def thread() -> None:
        await asyncio.to_thread(time.sleep, 0)

    async def connection() -> None:
        await asyncio.open_connection("127.0.0.1", 1)

    async def server() -> None:
        await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)

    async def name() -> None:
        await asyncio.get_running_loop().getaddrinfo("localhost", 80)

    for reach in (thread, connection, server, name):
        with pytest.raises(NotSimulatedError, match="reaches no machine"):
            run(reach(), VirtualLoop())


def test_a_real_signal_is_heard_in_the_next_turn() -> None:
    heard: list[str] = []

    async def story() -> float:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, heard.append, "usr1")
        await asyncio.sleep(3)
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert heard == ["usr1"]
        assert loop.remove_signal_handler(signal.SIGUSR1)
        assert not loop.remove_signal_handler(signal.SIGUSR1)
        return loop.time()

    before = signal.getsignal(signal.SIGUSR1)
    try:
        assert run(story(), VirtualLoop()) == START_S + 3
        assert signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGUSR1, before)
