"""One life of one node: the shell's orders on virtual time, timers and clocks."""

import asyncio
import itertools
from collections.abc import Iterator

from chaos.cluster.interface import NodeId
from chaos.conditions import Conditions
from node.effects import (
    Effect,
    Event,
    FlushLog,
    FrameReceived,
    LogFlushed,
    PeerFrameReceived,
    SendResponse,
    SendToPeer,
    TimeoutElapsed,
    Trace,
)
from node.ids import Now
from node.outbox import Output
from node.turn import Turn
from tests.sim.lived import Rig, lived, watched


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


def test_a_timer_whose_deadline_has_moved_wakes_nobody() -> None:
    async def story(rig: Rig) -> None:
        machine = await rig.leader()
        process = machine.process
        assert process is not None
        live, is_due = process._live, []

        def lived_on(turn: Turn) -> Iterator[int]:
            due_ns = process.node.next_deadline_ns()
            is_due.append(bool(process._inbox) or machine.clock.mono_ns() >= due_ns)
            return live(turn)

        process._live = lived_on  # type: ignore[method-assign]
        await asyncio.sleep(3)
        assert len(is_due) > 50
        assert all(is_due)

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
        assert any(isinstance(each, SendResponse) for each in account)
        assert not any(isinstance(each, SendToPeer) for each in account), "a leader is fetched from"

    lived(story)
