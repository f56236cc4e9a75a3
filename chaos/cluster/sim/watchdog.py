"""Ends a node's step that never ends, or eats memory: the run is an error then, and says which.

A node in the simulator shares its process with the harness, so a step that hangs would hang all of
it, and nobody would hear a SIGTERM. A timer of the machine's CPU time looks in some times a second;
CPU time, since on a busy machine an innocent step may wait for long. What hangs within one call of
C code, where Python hears no signal, is not ended.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import sysconf
from pathlib import Path
from types import FrameType

from chaos.cluster.cluster_errors import StepError
from chaos.cluster.interface import NodeId

TICK_S = 0.25  # of CPU time
_STATM = Path("/proc/self/statm")
_SHOWN = 160  # characters of an event


class StepHalted(BaseException):
    """Raised in the midst of a step; whoever began the step ends the process. No Exception: those a
    node may catch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one step. An honest one takes some milliseconds and some kilobytes."""

    cpu_s: float = 20.0
    grown_bytes: int = 1 << 30


@dataclass(slots=True)
class Going:
    """One life of a node, and the step of it that goes on. `ticks` and `resident_bytes` from the
    first look on."""

    node: NodeId
    life: int
    number: int = 0  # of steps, the one that goes on counted
    event: object = None
    ticks: int = 0
    resident_bytes: int = 0

    def __str__(self) -> str:
        shown = repr(self.event)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]} ..."
        return f"life {self.life}, step {self.number}: {shown}"


class Watchdog:
    """Of one simulated run. `is_called`: a signal of the operator's waits to be heard."""

    def __init__(self, is_called: Callable[[], bool], limits: Limits | None = None) -> None:
        self._is_called = is_called
        self._limits = limits or Limits()
        self.going: Going | None = None
        self._failed: StepError | None = None
        self._waiting: asyncio.Future[None] | None = None

    @contextmanager
    def awake(self) -> Iterator[None]:
        """While the run lasts. Signals reach the main thread only: elsewhere it sleeps."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, TICK_S, TICK_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    def begin(self, life: Going, event: object) -> None:
        """Watch over its next step, until `going` is None again; there is one at a time. StepHalted
        is raised in it when it is too much, and is for its process."""
        life.number += 1
        life.event, life.ticks = event, 0
        self.going = life

    def fail(self, node: NodeId, why: BaseException) -> None:
        """A step was halted: whoever waits for that is told."""
        self._failed = self._failed or StepError(f"node {node} {why}")
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(self._failed)

    async def until_it_bites(self) -> None:
        """Raises StepError once a step was halted."""
        if self._failed is not None:
            raise self._failed
        self._waiting = asyncio.get_running_loop().create_future()
        await self._waiting

    def _tick(self, _number: int, _frame: FrameType | None) -> None:
        going = self.going
        if going is None:
            return
        resident = _resident_bytes()
        if going.ticks == 0:
            going.resident_bytes = resident
        going.ticks += 1
        cpu_s, grown = going.ticks * TICK_S, resident - going.resident_bytes
        if cpu_s > self._limits.cpu_s:
            raise StepHalted(f"does not end a step within {cpu_s:g} s of CPU time ({going})")
        if grown > self._limits.grown_bytes:
            raise StepHalted(f"takes {grown >> 20:,} MiB of memory in one step ({going})")
        if going.ticks > 1 and self._is_called():
            raise StepHalted(f"was asked to stop {cpu_s:g} s of CPU time into a step ({going})")


def _resident_bytes() -> int:
    """Of this process; 0 on a machine that does not say."""
    if not _STATM.exists():
        return 0
    return int(_STATM.read_text().split()[1]) * sysconf("SC_PAGE_SIZE")
