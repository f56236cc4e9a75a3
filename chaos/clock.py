"""Time as a run knows it: nanoseconds since it started, on one monotonic clock."""

import time
from typing import Protocol


class Clock(Protocol):
    """The time source of the harness. Waiting is left to asyncio."""

    @property
    def started_mono_ns(self) -> int:
        """The machine's monotonic clock when the run started; nodes' traces are shifted by it."""

    def now_ns(self) -> int:
        """Since the run's start."""

    def wall_ns(self) -> int:
        """Since 1970, UTC."""


class MachineClock:
    """The machine's clocks; a container's monotonic clock is the same one."""

    def __init__(self) -> None:
        self._started = time.monotonic_ns()

    @property
    def started_mono_ns(self) -> int:
        return self._started

    def now_ns(self) -> int:
        return time.monotonic_ns() - self._started

    def wall_ns(self) -> int:
        return time.time_ns()
