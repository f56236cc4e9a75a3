"""The faults in progress and the nodes that each holds; the log of faults, in the history and in
`schedule.json`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from chaos.cluster.interface import FaultEvidence, Link, NodeId
from chaos.nemesis.fault import Aspect, Fault, Hit, parameters_of
from chaos.recorder import Recorder
from checkers.history.events import FaultStage

# What the faults in progress hold, so that none undoes another. Pure.


_BY_LINK = (Aspect.CUTS, Aspect.FLAKINESS)
_ALL_AT_ONCE = (Aspect.LATENCY, Aspect.VOTERS)


class LastingFaults:
    """All faults between their start and the end of their cure, with the nodes and links that each
    holds."""

    def __init__(self) -> None:
        self.hits: list[Hit] = []

    def add(self, hit: Hit) -> None:
        self.hits.append(hit)

    def replace(self, hit: Hit, by: Hit) -> None:
        self.hits = [by if each is hit else each for each in self.hits]

    def remove(self, hit: Hit) -> None:
        """Remove this very fault, not an equal one."""
        self.hits = [each for each in self.hits if each is not hit]

    def nodes(self, fault: Fault) -> frozenset[NodeId]:
        """The nodes that the fault cannot hit as well."""
        if fault.aspect in _BY_LINK or fault.aspect is Aspect.LATENCY:
            return frozenset()
        return frozenset(node for hit in self._alike(fault) for node in hit.nodes)

    def free(self, fault: Fault, links: tuple[Link, ...]) -> tuple[Link, ...]:
        """The given links that no fault of its kind holds."""
        taken = {link for hit in self._alike(fault) for link in hit.links}
        return tuple(link for link in links if link not in taken)

    def is_impossible(self, fault: Fault) -> bool:
        """Whether it needs what there is only one of, or might leave no majority of the voters: a
        node that is removed, or has a new disk, does not vote until the cure is done."""
        if fault.aspect in _ALL_AT_ONCE and self._alike(fault):
            return True
        return _takes_voters(fault) and any(_takes_voters(hit.fault) for hit in self.hits)

    def _alike(self, fault: Fault) -> list[Hit]:
        return [hit for hit in self.hits if hit.fault.aspect is fault.aspect]


def _takes_voters(fault: Fault) -> bool:
    return fault.harm.wipes or fault.aspect is Aspect.VOTERS


ScheduleContent = dict[str, Any]  # of `schedule.json`
_LAYOUT = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """The outcome of a window: a line of `schedule.json`. Times in ns since the run's start.

    `passed_over` says why no fault was injected; such a window has no times, and left no evidence.
    """

    fault_id: int
    kind: str
    victim: str
    parameters: dict[str, str]
    planned_at_s: float | None = None  # if a window planned it
    planned_hold_s: float | None = None
    nodes: tuple[int, ...] = ()
    links: tuple[str, ...] = ()
    t_start: int | None = None
    t_bit: int | None = None
    t_heal: int | None = None
    t_healed: int | None = None
    bit: bool | None = None
    evidence: str | None = None
    passed_over: str = ""


class FaultLog:
    """Numbers the faults of a run and keeps what is known of each."""

    def __init__(self, recorder: Recorder, directory: Path, seed: int) -> None:
        self._recorder = recorder
        self._directory = directory
        self._seed = seed
        self._done: list[_Done] = []
        self._faults: list[Fault] = []

    def add(self, fault: Fault, *, at_s: float | None = None, hold_s: float | None = None) -> int:
        """The number of the next fault."""
        self._faults.append(fault)
        self._done.append(
            _Done(
                fault_id=len(self._done),
                kind=fault.kind,
                victim=str(fault.victim),
                parameters=parameters_of(fault),
                planned_at_s=at_s,
                planned_hold_s=hold_s,
            )
        )
        return len(self._done) - 1

    def pass_over(self, number: int, why: str) -> None:
        self._recorder.pass_over()
        self._done[number] = replace(self._done[number], passed_over=why)

    def start(self, number: int, nodes: tuple[NodeId, ...], links: tuple[Link, ...]) -> None:
        done = self._done[number]
        names = tuple(map(str, links))
        now = self._recorder.fault(
            number,
            FaultStage.START,
            {
                "kind": done.kind,
                "nodes": [int(node) for node in nodes],
                "links": list(names),
                "params": {**done.parameters, "victim": done.victim},
                "harm": {**self._faults[number].harm.as_columns()},
            },
        )
        self._done[number] = replace(done, nodes=nodes, links=names, t_start=now)

    def stage(self, number: int, stage: FaultStage) -> None:
        done, now = self._done[number], self._recorder.fault(number, stage, {})
        match stage:
            case FaultStage.BIT:
                self._done[number] = replace(done, t_bit=now)
            case FaultStage.HEAL:
                self._done[number] = replace(done, t_heal=now)
            case FaultStage.HEALED:
                self._done[number] = replace(done, t_healed=now)

    def evidence(self, number: int, evidence: FaultEvidence) -> None:
        self._recorder.fault(
            number,
            FaultStage.EVIDENCE,
            {"bit": evidence.bit, "evidence": evidence.what, "facts": dict(evidence.facts)},
        )
        self._done[number] = replace(self._done[number], bit=evidence.bit, evidence=evidence.what)

    def has_bitten(self, kind: str) -> bool:
        """Whether a fault of this kind left evidence of its effect."""
        return any(done.kind == kind and done.bit for done in self._done)

    def save(self, content: ScheduleContent) -> None:
        """Replace `schedule.json` as a whole, so that a killed run leaves a readable one."""
        content = {"seed": self._seed, **content, "done": self._done}
        part = self._directory / ".schedule.json.tmp"
        part.write_bytes(orjson.dumps(content, option=_LAYOUT))
        part.replace(self._directory / "schedule.json")
