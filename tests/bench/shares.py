"""Where the time of a simulated run goes: the share of each part, from a profile of one run."""

import cProfile
import pstats
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.bench.row import Row

ROOT = Path(__file__).parents[2]
# The first that a file's path begins with is its part.
PARTS = {
    "node/wire/": "the node's encoding and decoding",
    "node/": "the node's decisions: raft, controller, log",
    "chaos/cluster/sim/invariants/": "invariants after each step",
    "chaos/cluster/sim/": "the machine: loop, network, disk, clock",
    "workloads/": "the clients",
    "checkers/": "reading disks and traces, judging",
    "chaos/": "nemesis, recorder, sealing",
}
LIBRARIES = "asyncio, json and other libraries"

Function = tuple[str, int, str]  # file, line, name


def shares(run: Callable[[], object], name: str) -> Iterator[Row]:
    """A profile makes calls dear, so parts of many small functions look larger than they are."""
    profile = cProfile.Profile()
    profile.runcall(run)
    spent = _by_part(pstats.Stats(profile))
    for part, seconds in spent.most_common():
        share = 100 * seconds / spent.total()
        yield Row(name=f"{name}: {part}", value=share, unit="% of a run", note="by cProfile")


def _by_part(stats: pstats.Stats) -> Counter[str]:
    """Seconds by part; what a builtin takes counts for who called it."""
    spent: Counter[str] = Counter()
    entries: dict[Function, Any] = stats.stats  # type: ignore[attr-defined]  # not in its stubs
    for function, (_, _, own_s, _, callers) in entries.items():
        if function[0] != "~":
            spent[_part(function[0])] += own_s
            continue
        for caller, (_, _, of_caller_s, _) in callers.items():
            spent[_part(caller[0])] += of_caller_s
    return spent


def _part(file: str) -> str:
    path = file.removeprefix(f"{ROOT}/")
    return next((part for start, part in PARTS.items() if path.startswith(start)), LIBRARIES)
