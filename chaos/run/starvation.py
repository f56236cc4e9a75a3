"""Whether this machine had time for the nodes: how late the harness's own timers are, for how long
the harness waited for a core though it could run, how long the kernel says that processes waited
for CPU, disk and memory (pressure-stall information), and what the hypervisor took.

A node that does nothing may be at fault, or may never have been scheduled. The harness runs on the
same cores: where its own timers fire on time, theirs could have.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TICK_S = 0.1
LATE_S = 0.1  # a timer that is later than this was delayed
STRETCH_S = 5.0  # figures are kept for each of them
HELD_UP_S = 10.0  # a process that is stopped for so long has lost sight of its nodes
RESOURCES = ("cpu", "io", "memory")
RAN, WAITED, STOLEN, ALL = "ran", "waited", "stolen", "all"
_PRESSURE = Path("/proc/pressure")
_OWN = Path("/proc/self/schedstat")
_MACHINE = Path("/proc/stat")
_STEAL, _COUNTED = 7, 8  # of the columns of a line of /proc/stat; guests' are part of users'

Stalls = Mapping[str, int]  # counters that rise, each in a unit of its own


def read_stalls() -> Stalls:
    """What the kernel counts, as far as it does.

    By resource, for how long some process waited for it, in us since the machine's start; how long
    this process's main thread `ran`, and `waited` for a core, in ns; what the hypervisor has
    `stolen` of `all` time of all cores, in ticks.
    """
    return {**dict(_pressures()), **_own(), **_stolen()}


def _pressures() -> Iterator[tuple[str, int]]:
    for resource in RESOURCES:
        try:
            some = (_PRESSURE / resource).read_text().splitlines()[0]
        except (OSError, IndexError):
            continue  # a kernel without it, or without access to it
        yield resource, int(some.rpartition("total=")[2])


def _own() -> Stalls:
    try:
        ran, waited, _ = _OWN.read_text().split()
    except (OSError, ValueError):
        return {}  # a kernel without it
    return {RAN: int(ran), WAITED: int(waited)}


def _stolen() -> Stalls:
    try:
        ticks = [int(each) for each in _MACHINE.read_text().split("\n", 1)[0].split()[1:]]
    except (OSError, ValueError):
        return {}
    return {STOLEN: ticks[_STEAL], ALL: sum(ticks[:_COUNTED])} if len(ticks) >= _COUNTED else {}


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
        resource; `waited_share` of the time in which the harness could run, and waited for a core;
        `stolen_share` of all cores' time. Empty where it was not measured."""
        ticks = self._last(within_s)
        return _figures(ticks) if len(ticks) >= 2 else {}

    def stretches(self) -> list[dict[str, float]]:
        """The same figures for each 5 s of the run, with their `t_s` and `until_s` by the loop's
        clock."""
        found = []
        for begin, end in _cut(self._ticks):
            ticks = self._ticks[begin : end + 1]
            told = {"t_s": ticks[0].at_s, "until_s": ticks[-1].at_s + ticks[-1].late_s}
            found.append(told | _figures(ticks))
        return found

    def longest_late(self) -> tuple[float, float]:
        """The longest delay of a timer, in s, and when that timer was due, by the loop's clock."""
        return max(((tick.late_s, tick.at_s) for tick in self._ticks), default=(0.0, 0.0))

    def _last(self, within_s: float) -> list[_Tick]:
        if not self._ticks:
            return []
        since = self._ticks[-1].at_s - within_s
        return [tick for tick in self._ticks if tick.at_s >= since]


def _cut(ticks: Sequence[_Tick]) -> Iterator[tuple[int, int]]:
    """Where stretches begin and end: each begins with the tick with which the last one ended."""
    begin = 0
    for place, tick in enumerate(ticks):
        if tick.at_s - ticks[begin].at_s >= STRETCH_S:
            yield begin, place
            begin = place
    if begin < len(ticks) - 1:
        yield begin, len(ticks) - 1


def _figures(ticks: Sequence[_Tick]) -> dict[str, float]:
    seconds = ticks[-1].at_s - ticks[0].at_s
    late = [tick.late_s for tick in ticks]
    waited = sum(each for each in late if each > LATE_S)
    found = {
        "longest_late_ms": round(max(late) * 1000, 1),
        "late_share": round(waited / seconds, 3),
    }
    first, last = ticks[0].stalls, ticks[-1].stalls
    grown = {name: last[name] - first[name] for name in sorted(first.keys() & last.keys())}
    for resource in RESOURCES:
        if resource in grown:
            found[f"{resource}_share"] = round(grown[resource] / 1e6 / seconds, 3)
    if grown.get(WAITED, 0) + grown.get(RAN, 0) > 0:
        found["waited_share"] = round(grown[WAITED] / (grown[WAITED] + grown[RAN]), 3)
    if grown.get(ALL, 0) > 0:
        found["stolen_share"] = round(grown[STOLEN] / grown[ALL], 3)
    return found
