"""The environment of a simulated process: the node with its invariants, and the requests that it
got.

Clocks of a simulated run: the one of the harness, and those of the nodes, which may go wrong.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from chaos.cluster.sim.disk.disk import Drive
from chaos.cluster.sim.invariant_keeper import ProcessMonitor
from chaos.cluster.sim.loop import VirtualLoop
from chaos.cluster.sim.network import Network
from chaos.cluster.sim.watchdog import Going, Watchdog
from node.effects import ConnectionClosed, Effect, Event, FrameReceived
from node.ids import Now
from node.node import Framing
from node.outbox import Output, ResponseTo
from node.server.recovered import AnyNode
from node.wire.apis import Request
from node.wire.frames import RequestHeader
from node.wire.partition_fetch import PartitionsFetchResponse

_SECOND = 1_000_000_000
_FIRST_START_S = 1_767_225_600  # 2026-01-01, UTC
_YEAR_S = 365 * 86_400


class VirtualClock:
    """`chaos.recorder.Clock` over virtual time. Where its zeros lie is drawn from the seed."""

    def __init__(self, loop: VirtualLoop, seed: int) -> None:
        rng = random.Random(f"{seed}:clock")
        self._loop = loop
        self.started_wall_ns = (_FIRST_START_S + rng.randrange(_YEAR_S)) * _SECOND
        self._started_mono_ns = rng.randrange(60 * _SECOND, 86_400 * _SECOND)

    @property
    def started_mono_ns(self) -> int:
        return self._started_mono_ns

    def now_ns(self) -> int:
        return self._loop.elapsed_ns

    def mono_ns(self) -> int:
        """The machine's monotonic clock, which all nodes share as containers do."""
        return self._started_mono_ns + self._loop.elapsed_ns

    def wall_ns(self) -> int:
        return self.started_wall_ns + self._loop.elapsed_ns


class NodeClock:
    """What one node takes for the time: its own rate, and a wall clock that may jump.

    The monotonic clock never goes back, whatever happens to the rate.
    """

    def __init__(self, clock: VirtualClock, loop: VirtualLoop) -> None:
        self._clock = clock
        self._loop = loop
        self._rate = 1.0
        self.changes = 0  # of its rate
        # Between its two clocks, which go at one rate: they drift apart by jumps alone.
        self._unset_ahead_ns = clock.started_wall_ns - clock.started_mono_ns
        self._wall_ahead_ns = self._unset_ahead_ns
        # The monotonic clock at the last change of the rate, and when that was.
        self._since_ns = 0
        self._mono_then_ns = clock.started_mono_ns
        # Ahead of the time that has elapsed, while the rate is as it should be; None: it is not.
        # Asked several times a step.
        self._ahead_ns: int | None = clock.started_mono_ns

    def true(self) -> Now:
        """The machine's monotonic clock, beside what this node takes for the time of day."""
        return Now(self._clock.mono_ns(), self.mono_ns() + self._wall_ahead_ns)

    def now(self) -> Now:
        ahead_ns = self._ahead_ns
        mono_ns = self.mono_ns() if ahead_ns is None else self._loop.elapsed_ns + ahead_ns
        return Now(mono_ns, mono_ns + self._wall_ahead_ns)

    def mono_ns(self) -> int:
        ahead_ns = self._ahead_ns
        if ahead_ns is None:
            return self._mono_then_ns + self._by_rate(self._loop.elapsed_ns - self._since_ns)
        return self._loop.elapsed_ns + ahead_ns

    @property
    def offset_ns(self) -> int:
        """How far its time of day was set off."""
        return self._wall_ahead_ns - self._unset_ahead_ns

    def jump(self, offset_ns: int) -> None:
        """Set the time of day forward or back; the monotonic clock goes on."""
        self._wall_ahead_ns += offset_ns

    def run_at(self, rate: float) -> None:
        """Let both clocks go so many times as fast as true time, from now on."""
        assert rate > 0
        self._mono_then_ns = self.mono_ns()
        self._since_ns = self._loop.elapsed_ns
        self._rate = rate
        self.changes += 1
        self._ahead_ns = self._mono_then_ns - self._since_ns if rate == 1.0 else None

    def when(self, mono_ns: int) -> float:
        """The loop's time when this node's monotonic clock reaches `mono_ns`, if nothing changes;
        now if it has."""
        ahead_ns = self._ahead_ns
        if ahead_ns is None:
            at_ns = self._since_ns + self._lapse_ns(mono_ns - self._mono_then_ns)
        else:
            at_ns = mono_ns - ahead_ns
        return self._loop.when_ns(max(at_ns, self._loop.elapsed_ns))

    def _lapse_ns(self, wanted_ns: int) -> int:
        """The least true time in which this node's clocks go so far."""
        lapse_ns = int(wanted_ns / self._rate)
        while self._by_rate(lapse_ns) < wanted_ns:
            lapse_ns += 1
        return lapse_ns

    def _by_rate(self, true_ns: int) -> int:
        """How far this node's clocks go meanwhile."""
        return int(true_ns * self._rate)


# The requests to a node, kept as they are decoded from its frames, for the invariants.


class Ear:
    """Of one process. `request`: what was read last, of whichever listener it came to."""

    def __init__(self) -> None:
        self.request: Request | None = None

    def take(self) -> Request | None:
        """Since it was asked last; None: nothing could be read."""
        request, self.request = self.request, None
        return request


class ListeningFraming:
    """Does what `framing` does."""

    def __init__(self, ear: Ear, framing: Framing) -> None:
        self._ear = ear
        self._decode = framing.decode_request
        # By few steps: whatever a node sends and receives comes by here.
        self.encode_response = framing.encode_response
        self.encode_pieces = framing.encode_pieces
        self.encode_request = framing.encode_request
        self.decode_response = framing.decode_response

    def decode_request(self, frame: bytes) -> tuple[RequestHeader, Request]:
        read = self._decode(frame)
        self._ear.request = read[1]
        return read


Between = Callable[[], None]  # before an effect or an operation of the disk; may raise


class StruckError(Exception):
    """A fault ended this process amid its work; it unwinds what it was doing."""


class EndUnasked(Protocol):
    def __call__(self, exit_code: int, *, told_to_stop: bool, halted: str) -> None:
        """It ended by itself, or failed as it was told to stop; or the harness `halted` it, and
        why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """They outlive the process."""

    loop: VirtualLoop
    network: Network
    clock: NodeClock
    drive: Drive
    between: Between
    post: ProcessMonitor
    ear: Ear
    watchdog: Watchdog
    life: int  # which one of the node's
    err: Callable[[str], None]  # stderr
    close_files: Callable[[], None]  # as the kernel does when a process ends
    end_unasked: EndUnasked


# A node with counted steps, which are judged afterwards.


class WatchedNode:
    """A `node.turn.SteppedNode`. `outputs` are those of its last step, before they were frames.
    Answers are read from files in the step that makes them: a look at a simulated disk takes no
    time, and no reader is slow."""

    outputs: Sequence[Output] = ()

    def __init__(self, node: AnyNode, going: Going, ear: Ear, post: ProcessMonitor) -> None:
        self._node = node
        self._going = going
        self._ear = ear
        self._post = post

    def start(self, now: Now) -> list[Effect]:
        self._going.number += 1
        self._going.event = "start"
        outputs = self._node.core.start(now)
        self.outputs = outputs
        return self._node.encode(outputs)

    def step(self, event: Event, now: Now) -> list[Effect]:
        self._going.number += 1
        self._going.event = event
        outputs = [_read_at_once(each) for each in self._node.decide(event, now)]
        self.outputs = outputs
        if type(event) is FrameReceived:
            self._post.hear(event.connection, self._ear.take(), now.mono_ns)
        elif type(event) is ConnectionClosed:
            self._post.forget(event.connection)
        return self._node.encode(outputs)

    def next_deadline_ns(self) -> int:
        return self._node.next_deadline_ns()


def _read_at_once(output: Output) -> Output:
    if type(output) is ResponseTo and isinstance(output.response, PartitionsFetchResponse):
        return ResponseTo(output.connection, output.response.read())
    return output
