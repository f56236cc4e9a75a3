"""What may be lost: when so many replicas ended uncleanly that nothing is promised any more.

The rule. KIP-966 wants "to elect a leader without data loss or HWM moving backward when we only
have min ISR - 1 unclean shutdowns" ("Eligible Leader Replicas"; its motivation: "MinISR-1 tolerance
to data loss unclean shutdown events"), the effective min ISR being at most the replication factor.
So of one partition's replicas, min ISR or more must have been shut down uncleanly since all of them
were last in the ISR, one of them in a way that can lose bytes, before a loss is *allowed*:

* Unclean is what leaves no clean-shutdown file: a kill as well as a power cut, a wiped or a sick
  disk ("Detection of an unclean shutdown"). A kill loses nothing itself, but part one of the KIP
  drops the broker from the ELR all the same, so it spends the budget.
* A replica counts once, however often it went down: one that never did holds all that was
  acknowledged since, and is in the ISR or the ELR.
* The rule is the same with ELR off. Kafka does not keep it there: that is what is to be shown.
* With unclean leader elections switched on, any fault may lead to one: nothing is promised from the
  first fault on (P14: "and no unclean election").

All are in the ISR again (a full recovery) when one broker has said, after each such shutdown, first
that its victim is out of the ISR, and later, with the victims started, that the ISR is whole: its
image of the metadata only goes forward, while those of different brokers may lag. Without such
probes none is assumed, which accuses less.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow.compute as pc

from checkers.history.sealed_run import Run
from checkers.log.arrays import Codes, Flags, Ints

_LOSSY = ("power-off", "wipe", "disk-")
_UNCLEAN = ("kill", *_LOSSY)
FOREVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, kw_only=True)
class Shutdown:
    """An unclean end of one broker. `started_ns` is FOREVER if it never was again."""

    node: int
    at_ns: int
    started_ns: int
    lossy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From the shutdown that was one too many to the full recovery after it."""

    from_ns: int
    until_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """`windows` by key: when loss was allowed. `worst` is the most replicas down uncleanly."""

    min_isr: int
    worst: int
    windows: Mapping[str, tuple[Window, ...]]
    unclean_elections: bool

    def allows(self, keys: Sequence[str], key: Codes, begin: Ints, end: Ints) -> Flags:
        """Whether what happened between two times on a partition may be for a loss in between."""
        allowed = np.zeros(len(key), np.bool_)
        for code, name in enumerate(keys):
            for window in self.windows.get(name, ()):
                overlaps = (begin < window.until_ns) & (end > window.from_ns)
                allowed |= (key == code) & overlaps
        return allowed

    def said(self) -> str:
        """The budget, and how much of it was spent."""
        if self.unclean_elections:
            return "unclean elections are on: after a fault, nothing is promised"
        return (
            f"fewer than {self.min_isr} replicas shut down uncleanly between full recoveries; "
            f"at most {self.worst} were"
        )


@dataclass(slots=True)
class _Said:
    """What one broker said of a partition's ISR, in order."""

    t0: list[int] = field(default_factory=list)
    t1: list[int] = field(default_factory=list)
    isr: list[frozenset[int]] = field(default_factory=list)


def budget_of(run: Run, keys: Sequence[str]) -> Budget:
    """Needs: faults; probes for full recoveries; replicas and probes for who has a replica."""
    replication = _setting(run, "replication", 3)
    min_isr = min(_setting(run, "min_isr", 1), replication)
    unclean_elections = run.info.settings.get("unclean") == "on"
    faults = run.tables["faults"].to_pylist()
    shutdowns = sorted(_shutdowns(faults), key=lambda one: one.at_ns)
    windows: dict[str, tuple[Window, ...]] = {}
    worst = 0
    for key in keys:
        said = _probes_of(run, key)
        having = _replicas(run, key, said)
        mine = [one for one in shutdowns if one.node in having]
        recoveries = _recoveries(mine, said, min(replication, len(having)))
        windows[key], spent = _windows(mine, recoveries, min_isr)
        worst = max(worst, spent)
        if unclean_elections and faults:
            windows[key] = (Window(from_ns=faults[0]["t_start"] or 0, until_ns=FOREVER),)
    return Budget(
        min_isr=min_isr, worst=worst, windows=windows, unclean_elections=unclean_elections
    )


def _setting(run: Run, name: str, default: int) -> int:
    return int(run.info.settings.get(name, default))


def _shutdowns(faults: Sequence[Mapping[str, object]]) -> Iterator[Shutdown]:
    for fault in faults:
        kind, start, healed = str(fault["kind"]), fault["t_start"], fault["t_healed"]
        targets = fault["targets"]
        if not kind.startswith(_UNCLEAN) or not isinstance(targets, list):
            continue
        for node in targets:
            yield Shutdown(
                node=node,
                at_ns=start if isinstance(start, int) else 0,
                started_ns=healed if isinstance(healed, int) else FOREVER,
                lossy=kind.startswith(_LOSSY),
            )


def _probes_of(run: Run, key: str) -> dict[int, _Said]:
    probes = run.tables["probes"]
    chosen = probes.filter(
        pc.and_(pc.equal(probes["kind"], "partition"), pc.equal(probes["key"], key))
    )
    said: dict[int, _Said] = {}
    for row in chosen.sort_by("t0").to_pylist():
        one = said.setdefault(row["node"], _Said())
        one.t0.append(row["t0"])
        one.t1.append(row["t1"])
        one.isr.append(frozenset(row["isr"] or ()))
    return said


def _replicas(run: Run, key: str, said: Mapping[int, _Said]) -> frozenset[int]:
    """Who may have one: by the disks and the ISRs; else every broker, which allows more."""
    replicas = run.tables["replicas"]
    nodes = {node for one in said.values() for isr in one.isr for node in isr}
    nodes |= set(replicas.filter(pc.equal(replicas["key"], key))["node"].to_pylist())
    if len(nodes) >= _setting(run, "replication", 3):
        return frozenset(nodes)
    brokers = [int(node) for node, role in run.info.roles.items() if "broker" in role]
    return frozenset(brokers or range(1, run.info.nodes + 1)) | nodes


def _recoveries(shutdowns: Sequence[Shutdown], said: Mapping[int, _Said], whole: int) -> list[int]:
    """When the ISR was surely whole again, after each shutdown: the answer that says so."""
    return [
        min((_whole_again(one, answers, whole) for answers in said.values()), default=FOREVER)
        for one in shutdowns
    ]


def _whole_again(shutdown: Shutdown, said: _Said, whole: int) -> int:
    """By one broker's answers: first without the victim, then whole and with it started."""
    out = False
    for t0, t1, isr in zip(said.t0, said.t1, said.isr, strict=True):
        if t0 >= shutdown.at_ns and shutdown.node not in isr:
            out = True
        elif out and t0 >= shutdown.started_ns and len(isr) >= whole:
            return t1
    return FOREVER


def _windows(
    shutdowns: Sequence[Shutdown], recoveries: Sequence[int], min_isr: int
) -> tuple[tuple[Window, ...], int]:
    """Times over budget, and the most replicas that were down uncleanly at once."""
    windows, worst = [], 0
    for last in shutdowns:
        counted = [
            (one, healed)
            for one, healed in zip(shutdowns, recoveries, strict=True)
            if one.at_ns <= last.at_ns < healed
        ]
        spent = len({one.node for one, _ in counted})
        worst = max(worst, spent)
        if spent >= min_isr and any(one.lossy for one, _ in counted):
            recovered = max(healed for _, healed in counted)
            windows.append(Window(from_ns=last.at_ns, until_ns=recovered))
    return tuple(windows), worst
