"""Clocks of a simulated run: the one of the harness, and those of the nodes, which may go wrong."""

import random

from chaos.cluster.sim.loop import VirtualLoop
from node.ids import Now

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
