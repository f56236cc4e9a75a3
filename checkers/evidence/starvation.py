"""Whether this machine had time for the nodes while something did not come about.

Nodes that were not let run do wrong for no reason of their own. What was late is known: timers of
the harness, in whose process clients and recorder are; answers of its proxy, disk agent and engine;
how long processes waited for a core, a disk and memory. Where any of that was so in the time that
is judged, or just before it, the run is an error that names it, and no node is accused; where it
was measured and nothing was late, nodes are.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from checkers.conclusion import Violation
from checkers.history.sealed_run import RunInfo

# The bounds of a machine that had time for its nodes. A node's shortest time-out is its election's,
# of a second: if the harness's own timer was later than that, a node's may have been, and elections
# can fail for ever. On a well-used machine some process waits for a core most of the time; it is
# starved only if hardly a moment is left, or if the harness itself, which does little, got a core
# for a fifth of the time that it could have used.
STARVED = {
    "longest_late_ms": 1000.0,
    "late_share": 0.1,
    "waited_share": 0.8,
    "cpu_share": 0.95,
    "io_share": 0.6,
    "memory_share": 0.2,
    "stolen_share": 0.3,
}
_WORDS = {
    "longest_late_ms": "a timer of the harness was {:,.0f} ms late",
    "late_share": "its timers were late for {:.0%} of the time",
    "waited_share": "the harness waited for a core for {:.0%} of the time that it could have run",
    "cpu_share": "processes waited for a core for {:.0%} of it",
    "io_share": "for a disk for {:.0%}",
    "memory_share": "for memory for {:.0%}",
    "stolen_share": "the hypervisor took {:.0%} of the cores' time",
}
_LATEST = "longest_late_ms"
SECOND = 1_000_000_000
# Before the time that is judged: nodes that were not let run hold elections, and a leader is there
# again by then, with Kafka's time-outs.
JUST_BEFORE_S = 15


class Suspicion(NamedTuple):
    """What nodes are accused of if the machine had time for them from `begin` to `end`, in ns."""

    violation: Violation
    begin: int
    end: int


class Sorted(NamedTuple):
    """Suspicions, by what is known of the machine: accusations; what a starved machine may have
    done; and what cannot be decided, since nothing was measured."""

    accused: Sequence[Violation]
    starved: Sequence[str]
    unmeasured: Sequence[str]


def sort_out(info: RunInfo, suspicions: Iterable[Suspicion]) -> Sorted:
    """In virtual time no machine is slow."""
    accused, starved, unmeasured = [], [], []
    is_measured = has_figures(info)
    for suspicion in suspicions:
        why = starved_between(info, suspicion.begin, suspicion.end)
        message = suspicion.violation.message
        if info.is_simulated:
            accused.append(suspicion.violation)
        elif why:
            starved.append(f"{message}; but {why}: no node is accused")
        elif is_measured:
            accused.append(suspicion.violation)
        else:
            unmeasured.append(f"{message}; but {NOT_MEASURED}")
    return Sorted(accused, starved, unmeasured)


NOT_MEASURED = "it was not measured whether the machine was starved"


def has_figures(info: RunInfo) -> bool:
    return bool(info.machine_load) or _LATEST in info.pressure


def starved_between(info: RunInfo, begin: int, end: int) -> str:
    """What was short of time from `begin` to `end`, or just before; "" if nothing was."""
    if info.is_simulated:
        return ""
    settled = begin - JUST_BEFORE_S * SECOND
    if slow := next(_slow_parts(info, settled, end), ""):
        return f"the machine was starved ({slow})"
    if not info.machine_load:
        return why_in_doubt(info.pressure) if info.pressure else ""
    for since, until in ((begin, end), (settled, begin)):
        figures = _figures_between(info.machine_load, since, until)
        if figures and (why := why_in_doubt(figures)):
            return why
    return ""


def why_in_doubt(figures: Mapping[str, float]) -> str:
    """Why the machine may be to blame; "" if it was shown not to be."""
    if _LATEST not in figures:
        return NOT_MEASURED
    beyond = {name: figures.get(name, 0.0) for name, most in STARVED.items()}
    beyond = {name: found for name, found in beyond.items() if found > STARVED[name]}
    told = ", ".join(f"{_WORDS[name].format(found)}" for name, found in beyond.items())
    return f"the machine was starved ({told})" if told else ""


def strain(figures: Mapping[str, float]) -> float:
    """How near a machine was to being starved: the largest figure, as a share of its bound; 0 if
    nothing was measured."""
    return max(
        (found / STARVED[name] for name, found in figures.items() if name in STARVED), default=0.0
    )


def in_words(figures: Mapping[str, float]) -> str:
    return ", ".join(_WORDS[name].format(figures[name]) for name in STARVED if name in figures)


def _slow_parts(info: RunInfo, begin: int, end: int) -> Iterator[str]:
    for slow in info.slow_parts:
        since, until = int(slow["t_ns"]), int(slow["until_ns"])
        if since <= end and begin <= until:
            took_s = (until - since) / SECOND
            yield f"{slow['part']} took {took_s:.1f} s to answer, at {since / SECOND:.1f} s"


def _figures_between(
    load: Sequence[Mapping[str, float]], begin: int, end: int
) -> Mapping[str, float]:
    """Of the stretches that have a part in that time: the latest timer, and the shares of all of
    them together, each as far as it lies in it; {} if there are none."""
    parts = [(each, min(each["until_ns"], end) - max(each["t_ns"], begin)) for each in load]
    parts = [(figures, shared) for figures, shared in parts if shared > 0]
    names = [name for name in STARVED if all(name in figures for figures, _ in parts)]
    return {name: _together(parts, name) for name in names} if parts else {}


def _together(parts: Sequence[tuple[Mapping[str, float], float]], name: str) -> float:
    if name == _LATEST:
        return max(figures[name] for figures, _ in parts)
    return sum(figures[name] * shared for figures, shared in parts) / sum(s for _, s in parts)
