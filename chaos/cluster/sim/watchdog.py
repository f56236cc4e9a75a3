"""Ends a node's work that never ends, or eats memory, and says which step of it that was.

A node in the simulator shares its process with the harness, so a hanging step would hang all of it,
and no SIGTERM would be handled. A timer of the machine's CPU time fires several times a second; CPU
time, since on a busy machine an innocent step may wait for long. It looks wherever a node's own
code runs: as its disk is formatted, as a process opens it, in steps, and in what comes of them. Of
one moment of virtual time all is counted together, so that steps that beget steps and never let
time pass are one that never ends. What hangs within one call of C code, where Python hears no
signal, is not ended.
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

from chaos.cluster.cluster_errors import FailedPart, MachineryError, StepError
from chaos.cluster.interface import NodeId

TICK_S = 0.25  # of CPU time
_STATM = Path("/proc/self/statm")
_SHOWN = 160  # characters of an event


class StepHalted(BaseException):
    """Raised in the middle of a node's work; the caller ends the process. Not an Exception: a node
    may catch those. `of_node`: only the node is to blame."""

    def __init__(self, why: str, *, of_node: bool) -> None:
        super().__init__(why)
        self.of_node = of_node


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of what a node does at one moment. Honest steps take some milliseconds and kilobytes."""

    cpu_s: float = 20.0
    grown_bytes: int = 1 << 30


@dataclass(slots=True)
class Going:
    """One life of a node, and what of it goes on. The rest from the first look on."""

    node: NodeId
    life: int
    number: int = 0  # of steps, the one that goes on counted
    event: object = None  # what that step is about, or what else the node does
    is_looked_at: bool = False  # by the harness, which shares nothing with it
    moment_s: float = -1.0  # of virtual time
    ticks: int = 0  # of the CPU since then
    resident_bytes: int = 0
    first_number: int = 0
    look_number: int = -1  # the step that was being judged at the latest tick
    look_ticks: int = 0  # of that look

    @property
    def hangs_in_a_look(self) -> bool:
        """The harness took more of the time than the node, which may have begun many steps."""
        return self.is_looked_at and 2 * self.look_ticks > self.ticks

    def __str__(self) -> str:
        shown = repr(self.event) if not isinstance(self.event, str) else self.event
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]} ..."
        return f"life {self.life}, step {self.number}: {shown}"


class Watchdog:
    """Of one simulated run. `is_called`: a signal of the operator's waits to be heard."""

    def __init__(self, is_called: Callable[[], bool], limits: Limits | None = None) -> None:
        self._is_called = is_called
        self._limits = limits or Limits()
        self._going: Going | None = None
        self._failed: StepError | MachineryError | None = None
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

    def begin(self, life: Going, moment_s: float) -> None:
        """Watch over a node's code from now on, until `end`: only of one node there is any at a
        time. StepHalted is raised in it when it is too much, and is for its process."""
        if life.moment_s != moment_s:
            life.moment_s, life.ticks, life.look_number = moment_s, 0, -1
        self._going = life

    def end(self) -> None:
        self._going = None

    @contextmanager
    def over(self, node: NodeId, life: int, what: str, moment_s: float) -> Iterator[None]:
        """Watch over what is no step: a node's disk is formatted, or opened."""
        self.begin(Going(node, life, event=what), moment_s)
        try:
            yield
        finally:
            self.end()

    @property
    def failed_part(self) -> FailedPart | None:
        return self._failed.failed if isinstance(self._failed, MachineryError) else None

    def fail(
        self, node: NodeId, why: StepHalted | MemoryError, now_ns: int
    ) -> StepError | MachineryError:
        """Work of a node was halted: notify the waiting code and the caller."""
        error = _blamed(node, why, now_ns)
        self._failed = self._failed or error
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(self._failed)
        return error

    async def until_it_bites(self) -> None:
        """Raises StepError or MachineryError once something was halted."""
        if self._failed is not None:
            raise self._failed
        self._waiting = asyncio.get_running_loop().create_future()
        await self._waiting

    def _tick(self, _number: int, _frame: FrameType | None) -> None:
        going = self._going
        if going is None:
            return
        resident = _resident_bytes()
        if going.ticks == 0:
            going.resident_bytes, going.first_number = resident, going.number
        going.ticks += 1
        if going.is_looked_at:
            going.look_ticks = going.look_ticks + 1 if going.look_number == going.number else 1
            going.look_number = going.number
        cpu_s, grown = going.ticks * TICK_S, resident - going.resident_bytes
        of_node = not going.hangs_in_a_look
        if cpu_s > self._limits.cpu_s:
            raise StepHalted(
                f"{_what_never_ends(going)} within {cpu_s:g} s of CPU time ({going})",
                of_node=of_node,
            )
        if grown > self._limits.grown_bytes:
            raise StepHalted(
                f"takes {grown >> 20:,} MiB of memory in one step ({going})", of_node=of_node
            )
        if going.ticks > 1 and self._is_called():
            raise StepHalted(
                f"was asked to stop {cpu_s:g} s of CPU time into a step ({going})", of_node=False
            )


def _blamed(node: NodeId, why: StepHalted | MemoryError, now_ns: int) -> StepError | MachineryError:
    if isinstance(why, StepHalted) and why.of_node:
        return StepError(f"node {node} {why}")
    failed = FailedPart(
        part="the simulator",
        what=f"broke off: node {node} {why or 'found no memory left'}",
        since_ns=now_ns,
        mend="run it again, on a machine that has room for it",
    )
    return MachineryError(failed)


def _what_never_ends(going: Going) -> str:
    if going.hangs_in_a_look:
        return "was looked at by the harness, which does not end that"
    more = going.number - going.first_number
    if more:
        return f"takes {more:,} steps after one another, lets no time pass and does not end them"
    return "does not end a step"


def _resident_bytes() -> int:
    """Of this process; 0 on a machine that does not say."""
    if not _STATM.exists():
        return 0
    return int(_STATM.read_text().split()[1]) * sysconf("SC_PAGE_SIZE")
