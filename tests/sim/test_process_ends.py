"""How a process of the simulator is paused, ends and begins another life."""

import asyncio
import inspect
import random

import pytest

from chaos.cluster.interface import NodeId, NodeStatus
from chaos.cluster.probe import answers
from chaos.cluster.sim.disk.journal import DiskStep
from chaos.cluster.sim.disk.power_cuts import strike
from chaos.cluster.sim.network import client_address
from chaos.cluster.sim.process import SIGKILLED
from chaos.cluster.sim.sim_machine import Machine
from node.core import Core
from node.effects import Event, SendResponse
from node.ids import Now
from node.outbox import Output
from node.server.outcome import last_stop
from tests.sim.lived import Rig, lived, watched


def test_a_paused_process_does_nothing_and_keeps_what_comes() -> None:
    async def story(rig: Rig) -> None:
        leader = await rig.leader()
        await rig.cluster.pause(leader.node)
        said = len(leader.stdout)
        with watched(leader) as account:
            await asyncio.sleep(10)
            assert account == []
            assert len(leader.stdout) == said
            assert not await answers(client_address(leader.node), 1.0)
            await rig.cluster.resume(leader.node)
            await asyncio.sleep(1)
        assert account
        assert await answers(client_address(leader.node), 1.0)
        assert rig.lines(leader.node, "c.resign"), "it slept through an election"

    lived(story)


def test_sigterm_says_farewell_and_ends_with_zero() -> None:
    async def story(rig: Rig) -> None:
        leader = await rig.leader()
        began = rig.loop.time()
        await rig.cluster.stop(leader.node)
        assert rig.loop.time() - began < 1.5
        assert (leader.status, leader.exit_code) == (NodeStatus.OFF, 0)
        assert rig.lines(leader.node)[-1]["ev"] == "n.stop"
        assert rig.lines(leader.node)[-1]["reason"] == "shutdown"
        assert b"SIGTERM, shutting down" in leader.stderr
        assert not await answers(client_address(leader.node), 1.0)

    lived(story)


@pytest.mark.slow
def test_sigterm_ends_a_node_that_never_stops_in_bounded_time() -> None:
    async def story(rig: Rig) -> None:
        machine = rig.machine(1)
        assert machine.process is not None
        core = machine.process.node.core
        assert isinstance(core, Core)
        process = machine.process
        core._stop = lambda *_: None  # type: ignore[method-assign]
        began = rig.loop.time()
        await rig.cluster.stop(machine.node)
        within_s, _ = last_stop(process._config)
        assert within_s <= rig.loop.time() - began < within_s + 0.5
        assert rig.lines(machine.node)[-1]["reason"] == "leadership not handed over in 5 s"

    lived(story)


@pytest.mark.parametrize("step", [DiskStep.WRITE, DiskStep.SYNC, DiskStep.RENAME])
def test_a_disk_that_fails_ends_the_process_at_once(step: DiskStep) -> None:
    async def story(rig: Rig) -> None:
        leader = await rig.leader()
        victim = leader.node
        leader.drive.files.trouble.failing[step] = 0
        if step is DiskStep.RENAME:
            await rig.cluster.pause(victim)
            await asyncio.sleep(4)
            await rig.cluster.resume(victim)
        await asyncio.sleep(2)
        assert (leader.status, leader.exit_code) == (NodeStatus.OFF, 1)
        assert b"the disk failed: Input/output error (errno 5)" in leader.stderr
        assert rig.lines(victim)[-1]["ev"] != "n.stop"
        await rig.cluster.start(victim)
        assert len(rig.lines(victim, "n.start")) == 2

    lived(story)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (AssertionError("two leaders"), "an invariant is broken: two leaders; keep"),
        (AssertionError(), "an invariant is broken: raise error (test_process_ends.py, line "),
        (KeyError(), "KeyError: raise error (test_process_ends.py, line "),
    ],
)
def test_a_broken_invariant_ends_the_process_at_once(error: Exception, words: str) -> None:
    """What it says of itself is told; of one that says nothing, where it was."""

    def broken(event: Event, now: Now) -> list[Output]:
        del event, now
        raise error

    async def story(rig: Rig) -> None:
        machine = rig.machine(2)
        assert machine.process is not None
        machine.process.node.decide = broken  # type: ignore[method-assign]
        await asyncio.sleep(3)
        assert (machine.status, machine.exit_code) == (NodeStatus.OFF, 1)
        assert words in machine.stderr.decode()

    lived(story)


@pytest.mark.slow
def test_a_kill_hits_between_any_two_effects_and_steps_of_the_disk() -> None:
    """Of the leader, which is restarted each time, with clients going on."""
    moments: set[str] = set()

    async def story(rig: Rig) -> None:
        rng = random.Random("kills")
        for _ in range(40):
            machine = await rig.leader()
            process = machine.process
            assert process is not None

            def killed(machine: Machine = machine) -> None:
                moments.add(_where())
                machine.kill()

            await strike([machine], rng, killed)
            assert (machine.status, machine.exit_code) == (NodeStatus.OFF, SIGKILLED)
            await rig.cluster.start(machine.node)
        await rig.leader()

    lived(story)
    assert {"send", "perform", "disk", "at rest"} <= moments, moments


def _where() -> str:
    """What the process that is struck was about to do."""
    frames = {frame.function: frame.frame for frame in inspect.stack()}
    if "_step" in frames:
        return "disk"
    if "_take" not in frames:
        return "at rest"
    return "send" if isinstance(frames["_take"].f_locals["action"], SendResponse) else "perform"


def test_a_dead_process_is_silent() -> None:
    """Nothing of it reaches the network, its disk or its account, whatever was under way."""

    async def story(rig: Rig) -> None:
        leader = await rig.leader()
        network = leader.process._around.network if leader.process is not None else None
        assert network is not None
        leader.kill()
        said = bytes(leader.stdout)
        carry = network.carry

        def carried(end: object, data: bytes) -> None:
            assert getattr(end, "place", None) != leader.node
            carry(end, data)  # type: ignore[arg-type]

        network.carry = carried  # type: ignore[method-assign]
        disk = leader.drive.log_directory()
        await asyncio.sleep(10)
        del network.carry
        assert leader.stdout == said
        assert leader.drive.log_directory() == disk

    lived(story)


def test_lives_are_told_apart_and_drawn_from_the_seed() -> None:
    incarnations: list[list[object]] = []

    async def story(rig: Rig) -> None:
        for _ in range(3):
            await rig.cluster.kill(NodeId(1))
            await rig.cluster.start(NodeId(1))
        incarnations.append([line["inc"] for line in rig.lines(NodeId(1), "n.start")])

    for seed in (1, 1, 2):
        lived(story, seed=seed)
    assert incarnations[0] == incarnations[1] != incarnations[2]
    assert len(set(incarnations[0])) == 4
