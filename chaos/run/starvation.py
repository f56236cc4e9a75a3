"""Whether this machine had time for the nodes: how late the harness's own timers are, and how long
the kernel says that processes waited for CPU, disk and memory (pressure-stall information).

A node that does nothing may be at fault, or may never have been scheduled. The harness runs on the
same cores: where its own timers fire on time, theirs could have.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

TICK_S = 0.1
LATE_S = 0.1  # a timer that is later than this was delayed
HELD_UP_S = 10.0  # a process that is stopped for so long has lost sight of its nodes
RESOURCES = ("cpu", "io", "memory")
_PRESSURE = Path("/proc/pressure")

Stalls = Mapping[str, int]  # microseconds since the machine's start, by resource


def read_stalls() -> Stalls:
    """How long some process waited for each resource; empty where the kernel does not report it."""
    found = {}
    for resource in RESOURCES:
        try:
            some = (_PRESSURE / resource).read_text().splitlines()[0]
        except (OSError, IndexError):
            continue  # a kernel without it, or without access to it
        found[resource] = int(some.rpartition("total=")[2])
    return found


@dataclass(frozen=True, slots=True)
class _Tick:
    at_s: float
    late_s: float
    stalls: Stalls


class MachineWatch:
    """Ticks during a run, and measures starvation in any last part of it."""

    def __init__(self, stalls: Callable[[], Stalls] = read_stalls) -> None:
        self._stalls = stalls
        self._ticks: list[_Tick] = []

    async def watch(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            self._ticks.append(_Tick(due, loop.time() - due, self._stalls()))
            due = loop.time() + TICK_S
            await asyncio.sleep(TICK_S)

    def figures(self, within_s: float) -> dict[str, float]:
        """For the last seconds: `longest_late_ms`; `late_share` of the time in which a timer was
        late; `cpu_share`, `io_share` and `memory_share` of it in which some process waited for that
        resource. Empty where it was not measured."""
        ticks = self._last(within_s)
        if len(ticks) < 2:
            return {}
        seconds = ticks[-1].at_s - ticks[0].at_s
        late = [tick.late_s for tick in ticks]
        waited = sum(each for each in late if each > LATE_S)
        found = {
            "longest_late_ms": round(max(late) * 1000, 1),
            "late_share": round(waited / seconds, 3),
        }
        first, last = ticks[0].stalls, ticks[-1].stalls
        for resource in sorted(first.keys() & last.keys()):
            stalled_s = (last[resource] - first[resource]) / 1e6
            found[f"{resource}_share"] = round(stalled_s / seconds, 3)
        return found

    def longest_late(self) -> tuple[float, float]:
        """The longest delay of a timer, in s, and when that timer was due, by the loop's clock."""
        return max(((tick.late_s, tick.at_s) for tick in self._ticks), default=(0.0, 0.0))

    def _last(self, within_s: float) -> list[_Tick]:
        if not self._ticks:
            return []
        since = self._ticks[-1].at_s - within_s
        return [tick for tick in self._ticks if tick.at_s >= since]
