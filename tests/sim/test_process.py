"""One life of one node: the shell's orders on virtual time, pauses, deaths."""

import asyncio
import inspect
import itertools
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import orjson
import pytest

from chaos.cluster.interface import NodeId, NodeStatus
from chaos.cluster.probe import answers
from chaos.cluster.sim.loop import VirtualLoop, run
from chaos.cluster.sim.network import client_address
from chaos.cluster.sim.process import SHUTDOWN_BOUND_S, SIGKILLED
from chaos.cluster.sim.sim_clock import VirtualClock
from chaos.cluster.sim.sim_cluster import SimCluster
from chaos.cluster.sim.sim_machine import Machine
from chaos.cluster.sim.strike import strike
from chaos.cluster.sim.trouble import DiskStep
from chaos.cluster.sim.watchdog import Watchdog
from chaos.conditions import Conditions
from chaos.probes import QuorumProbe, driver_for
from node.effects import Effect, FlushLog, SendReply, SendToPeer, Trace
from node.events import Event, FrameReceived, LogFlushed, PeerFrameReceived, TimeoutElapsed
from node.ids import Now
from node.outbox import Output
from workloads.register import RegisterWorkload
from workloads.register_options import RegisterOptions

LOAD = RegisterOptions(concurrency=4, rate=40.0)


class NoHistory:
    """Keeps nothing."""

    def __init__(self) -> None:
        self.processes = 0

    def new_process(self) -> int:
        self.processes += 1
        return self.processes

    def new_request(self) -> int:
        return 0

    def invoke(self, *_: object) -> None:
        pass

    def complete(self, *_: object) -> None:
        pass


@dataclass
class Rig:
    """A cluster under load."""

    cluster: SimCluster
    clock: VirtualClock
    loop: VirtualLoop
    history: NoHistory = field(default_factory=NoHistory)

    def machine(self, node: int) -> Machine:
        return self.cluster.machines[NodeId(node)]

    async def leader(self) -> Machine:
        probe = QuorumProbe(driver_for(self.cluster))
        try:
            return self.cluster.machines[await probe.leader(10.0)]
        finally:
            await probe.close()

    def lines(self, node: NodeId, event: str = "") -> list[dict[str, object]]:
        parsed = [orjson.loads(line) for line in self.cluster.machines[node].stdout.splitlines()]
        return [line for line in parsed if not event or line["ev"] == event]


def lived(
    story: Callable[[Rig], Awaitable[None]],
    *,
    seed: int = 1,
    nodes: int = 3,
    conditions: Conditions | None = None,
) -> None:
    """Tell a story while clients read and write."""

    async def main() -> None:
        clock = VirtualClock(loop, seed)
        cluster = SimCluster(
            loop=loop,
            clock=clock,
            nodes=nodes,
            seed=seed,
            watchdog=Watchdog(lambda: loop.is_signalled),
            conditions=conditions,
        )
        rig = Rig(cluster, clock, loop)
        await cluster.create()
        workload = RegisterWorkload(driver_for(cluster), rig.history, seed=seed, options=LOAD)
        load = asyncio.create_task(workload.run())
        while not workload.acknowledged_writes:
            await asyncio.sleep(0.1)
        await story(rig)
        workload.stop()
        await load
        await workload.close()
        await cluster.destroy()

    loop = VirtualLoop()
    run(main(), loop)


@contextmanager
def watched(machine: Machine) -> Iterator[list[object]]:
    """What a process is fed and what comes of it, in order; frames as they enter the network."""
    account: list[object] = []
    process = machine.process
    assert process is not None
    decide, encode, carry = process.node.decide, process.node.encode, process._around.network.carry

    def decided(event: Event, now: Now) -> list[Output]:
        account.append(event)
        return decide(event, now)

    def encoded(outputs: list[Output]) -> list[Effect]:
        effects = encode(outputs)
        account.extend(effects)
        return effects

    process.node.decide = decided  # type: ignore[method-assign]
    process.node.encode = encoded  # type: ignore[method-assign]
    yield account
    process.node.decide = decide  # type: ignore[method-assign]
    process.node.encode = encode  # type: ignore[method-assign]
    assert process._around.network.carry == carry


def test_one_flush_serves_what_came_in_meanwhile_and_syncs_take_their_time() -> None:
    async def story(rig: Rig) -> None:
        leader = await rig.leader()
        leader.drive.files.trouble.sync_delay_ns = 300_000_000
        with watched(leader) as account:
            await asyncio.sleep(2)
        frames = sum(isinstance(each, FrameReceived) for each in account)
        flushes = sum(isinstance(each, LogFlushed) for each in account)
        assert 3 <= flushes <= 2 / 0.3 + 1
        assert frames > 2 * flushes

    lived(story)


def test_while_a_flush_is_late_the_node_goes_on_and_hears_of_what_was_written_before() -> None:
    """One at a time; what is appended after the sync is vouched for by the next flush."""
    behind: list[int] = []

    async def story(rig: Rig) -> None:
        leader = await rig.leader()
        process = leader.process
        assert process is not None
        with watched(leader) as account:
            recorded = process.node.decide

            def decided(event: Event, now: Now) -> list[Output]:
                if isinstance(event, LogFlushed):
                    behind.append(process.node.core.raft.log.end.offset - event.end)
                return recorded(event, now)

            process.node.decide = decided  # type: ignore[method-assign]
            await asyncio.sleep(3)
        told = [at for at, each in enumerate(account) if isinstance(each, LogFlushed)]
        between = [account[one + 1 : other] for one, other in itertools.pairwise(told)]
        assert max(sum(isinstance(e, FrameReceived) for e in each) for each in between) > 5
        assert sum(isinstance(e, FlushLog) for e in account) > len(told), "it asked meanwhile"

    lived(story, conditions=Conditions(late_flushes=1.0, late_most_us=200_000))
    assert min(behind) == 0 < max(behind)


def test_input_that_is_ready_is_heard_before_a_timer() -> None:
    """Who slept past its fetch time-out hears first what the leader had sent meanwhile."""

    async def story(rig: Rig) -> None:
        leader = await rig.leader()
        follower = next(m for m in rig.cluster.machines.values() if m is not leader)
        states = len(rig.lines(follower.node, "q.state"))
        await rig.cluster.pause(follower.node)
        await asyncio.sleep(4)
        with watched(follower) as account:
            await rig.cluster.resume(follower.node)
            await asyncio.sleep(0.001)
        kinds = [type(each) for each in account]
        assert PeerFrameReceived in kinds
        assert TimeoutElapsed not in kinds
        await asyncio.sleep(4)
        assert len(rig.lines(follower.node, "q.state")) == states, "it did not stand"

    lived(story)


def test_timers_fire_when_they_are_due() -> None:
    async def story(rig: Rig) -> None:
        leader = await rig.leader()
        follower = next(m for m in rig.cluster.machines.values() if m is not leader)
        await rig.cluster.pause(leader.node)
        with watched(follower) as account:
            await asyncio.sleep(2.5)  # the fetch time-out is 2 s
        assert any(isinstance(each, TimeoutElapsed) for each in account)
        await rig.cluster.resume(leader.node)

    lived(story)


def test_traces_are_out_before_the_frames_that_follow_them() -> None:
    """At every write to the network, what the account says by then covers all earlier traces."""

    async def story(rig: Rig) -> None:
        machine = await rig.leader()
        process = machine.process
        assert process is not None
        network = process._around.network
        carry, encode = network.carry, process.node.encode
        traced = len(machine.stdout.splitlines())
        checked = 0

        def told(outputs: list[Output]) -> list[Effect]:
            nonlocal traced
            effects = encode(outputs)
            traced += sum(isinstance(effect, Trace) for effect in effects)
            return effects

        def carried(end: object, data: bytes) -> None:
            nonlocal checked
            if getattr(end, "place", None) == machine.node:
                assert len(machine.stdout.splitlines()) == traced
                checked += 1
            carry(end, data)  # type: ignore[arg-type]

        process.node.encode = told  # type: ignore[method-assign]
        network.carry = carried  # type: ignore[method-assign]
        await asyncio.sleep(1)
        del network.carry, process.node.encode
        assert checked > 50

    lived(story)


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
        machine.process.node.core._may_stop = lambda: False  # type: ignore[method-assign]
        machine.process.node.core._stop = lambda outputs: None  # type: ignore[method-assign]  # noqa: ARG005
        began = rig.loop.time()
        await rig.cluster.stop(machine.node)
        assert SHUTDOWN_BOUND_S <= rig.loop.time() - began < SHUTDOWN_BOUND_S + 0.5
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


def test_a_broken_invariant_ends_the_process_at_once() -> None:
    def broken(event: Event, now: Now) -> list[Output]:
        del event, now
        raise AssertionError("two leaders")

    async def story(rig: Rig) -> None:
        machine = rig.machine(2)
        assert machine.process is not None
        machine.process.node.decide = broken  # type: ignore[method-assign]
        await asyncio.sleep(3)
        assert (machine.status, machine.exit_code) == (NodeStatus.OFF, 1)
        assert b"an invariant is broken: two leaders" in machine.stderr

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
    if "_do" not in frames:
        return "at rest"
    return "send" if isinstance(frames["_do"].f_locals["deed"], SendReply) else "perform"


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


def test_a_clock_that_runs_fast_or_jumps_changes_what_the_node_takes_for_the_time() -> None:
    async def story(rig: Rig) -> None:
        leader = await rig.leader()
        follower = next(m for m in rig.cluster.machines.values() if m is not leader)
        follower.clock.jump(-3600 * 10**9)
        follower.run_clock_at(100.0)
        await asyncio.sleep(3)
        states = [line["state"] for line in rig.lines(follower.node, "q.state")]
        assert "prospective" in states, "its fetch time-out is 20 ms now"
        walls = {m.node: rig.lines(m.node)[-1] for m in (leader, follower)}
        behind = int(str(walls[leader.node]["wall"])) - int(str(walls[follower.node]["wall"]))
        assert 3200 * 10**9 < behind < 3400 * 10**9, "an hour back, and 300 s forth in 3 s"
        for line in walls.values():  # the account is in true time: judges compare nodes by it
            assert abs(int(str(line["mono"])) - rig.clock.mono_ns()) < 3 * 10**9

    lived(story)


def test_a_timer_that_is_set_follows_the_clock() -> None:
    async def story(rig: Rig) -> None:
        for machine in rig.cluster.machines.values():
            if machine.node != NodeId(1):
                await rig.cluster.kill(machine.node)
        machine = rig.machine(1)
        for _ in range(10):
            machine.run_clock_at(1.0)
            await asyncio.sleep(1.1)
            machine.run_clock_at(2000.0)
            with watched(machine) as account:
                await asyncio.sleep(0.001)  # two seconds for the node: no election waits so long
            assert any(isinstance(each, TimeoutElapsed) for each in account)

    lived(story)


def test_answers_and_requests_are_frames() -> None:
    async def story(rig: Rig) -> None:
        leader = await rig.leader()
        with watched(leader) as account:
            await asyncio.sleep(1)
        assert any(isinstance(each, SendReply) for each in account)
        assert not any(isinstance(each, SendToPeer) for each in account), "a leader is fetched from"

    lived(story)
