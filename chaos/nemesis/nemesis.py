"""Applies a schedule to a cluster and writes down each fault: start, bit, heal, healed, evidence.

Windows follow one another; one that starts late, because a cure took its time, is held as long as
planned. In a schedule of windows side by side each keeps its own time, and takes of the cluster
only what no other has in its hands (`held.py`). Whatever goes wrong with a fault is said in its
evidence, never passed over; a window that found nobody to hit was no fault, and says so.
"""

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from chaos.cluster.interface import Cluster, Evidence, Link, NodeId
from chaos.nemesis.apply import Hit, cure, inject, links_of
from chaos.nemesis.evidence import of_failure
from chaos.nemesis.faults import Fault
from chaos.nemesis.held import Held
from chaos.nemesis.recorded import windows_as_json
from chaos.nemesis.schedule import Schedule, Window
from chaos.nemesis.targets import NobodyToHitError, resolve
from chaos.probes import QuorumProbe
from chaos.recorder import Recorder
from checkers.history.events import FaultStage

_PATIENCE_S = 0.5  # for a leader, where other faults may be what keeps one away


class ClusterBrokenError(Exception):
    """A fault could not be cured: the cluster is not what the run needs any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of a window; a line of `schedule.json`. Times in ns since the run's start.

    `passed_over` says why it was no fault; it has no times then, and left no evidence.
    """

    fault_id: int
    kind: str
    target: str
    parameters: dict[str, str]
    planned_at_s: float
    planned_hold_s: float
    nodes: tuple[int, ...] = ()
    links: tuple[str, ...] = ()
    t_start: int | None = None
    t_bit: int | None = None
    t_heal: int | None = None
    t_healed: int | None = None
    bit: bool | None = None
    evidence: str | None = None
    passed_over: str = ""


class Nemesis:
    """One schedule, applied once."""

    def __init__(
        self,
        *,
        cluster: Cluster,
        probe: QuorumProbe,
        recorder: Recorder,
        seed: int,
        directory: Path,
        tell: Callable[[str], None],
    ) -> None:
        self._cluster = cluster
        self._probe = probe
        self._recorder = recorder
        self._seed = seed
        self._rng = random.Random(f"{seed}:nemesis")
        self._directory = directory
        self._tell = tell
        self._done: list[Done] = []
        self._held = Held()

    @property
    def current(self) -> str:
        """What goes on, for the progress line."""
        return "; ".join(_what(hit) for hit in self._held.hits)

    async def run(self, schedule: Schedule) -> None:
        """All windows and the quiet after the last. Raises ClusterBrokenError."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._save(schedule)
        if schedule.side_by_side:
            async with asyncio.TaskGroup() as group:
                for window in schedule.windows:
                    group.create_task(self._in_time(window, schedule, began))
        else:
            for window in schedule.windows:
                await self._in_time(window, schedule, began)
        await asyncio.sleep(max(0.0, began + schedule.duration_s - loop.time()))

    async def _in_time(self, window: Window, schedule: Schedule, began: float) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, began + window.at_s - loop.time()))
        number = len(self._done)
        self._done.append(_planned(number, window))
        try:
            await self._one(number, window.fault, window.hold_s, alone=not schedule.side_by_side)
        finally:
            self._save(schedule)

    async def _one(self, number: int, fault: Fault, hold_s: float, *, alone: bool) -> None:
        try:
            nodes, links = await self._aim(fault, alone=alone)
        except NobodyToHitError as error:
            if alone:
                self._start(number, (), ())
                self._evidence(number, of_failure("no target", error))
            else:
                self._done[number] = replace(self._done[number], passed_over=str(error))
            return
        hit = Hit(fault=fault, nodes=nodes, links=links)
        self._held.add(hit)  # at once: the next may be aimed while this one is injected
        try:
            self._start(number, nodes, links)
            hit = await self._inject(number, hit)
            await asyncio.sleep(hold_s)
            await self._cure(number, hit)
        finally:
            self._held.remove(hit)

    async def _aim(
        self, fault: Fault, *, alone: bool
    ) -> tuple[tuple[NodeId, ...], tuple[Link, ...]]:
        """Whom to hit, of those that are free. Raises NobodyToHitError."""
        if alone:
            nodes = await resolve(fault.target, self._cluster, self._probe, self._rng)
            return nodes, links_of(fault, nodes, self._cluster)
        found = await resolve(
            fault.target,
            self._cluster,
            self._probe,
            self._rng,
            held=self._held.nodes(fault),
            patience_s=_PATIENCE_S,
        )
        taken = self._held.nodes(fault)  # perhaps more than before: finding a leader takes time
        nodes = tuple(node for node in found if node not in taken)
        all_links = links_of(fault, nodes, self._cluster)
        links = self._held.free(fault, all_links)
        if not nodes or (all_links and not links) or self._held.is_impossible(fault):
            raise NobodyToHitError("another fault has it in its hands")
        return nodes, links

    async def _inject(self, number: int, hit: Hit) -> Hit:
        try:
            injected = await inject(self._cluster, hit.fault, hit.nodes, hit.links)
        except Exception as error:
            self._evidence(number, of_failure("injection failed", error))
            raise ClusterBrokenError(f"{_what(hit)} could not be injected: {error}") from error
        self._stage(number, FaultStage.BIT)
        self._tell(f"{_what(hit)}{_ways(hit.fault.parameters)}")
        self._held.replace(hit, injected)
        return injected

    async def _cure(self, number: int, hit: Hit) -> None:
        self._stage(number, FaultStage.HEAL)
        try:
            evidence = await cure(self._cluster, hit)
        except Exception as error:
            self._evidence(number, of_failure("cure failed", error))
            raise ClusterBrokenError(f"{_what(hit)} could not be cured: {error}") from error
        self._stage(number, FaultStage.HEALED)
        self._evidence(number, evidence)
        healed = "healed" if len(self._held.hits) == 1 else f"healed {_what(hit)}"
        self._tell(f"{healed}; {'it bit' if evidence.bit else 'IT DID NOT BITE'}: {evidence.what}")

    def _start(self, number: int, nodes: tuple[NodeId, ...], links: tuple[Link, ...]) -> None:
        done = self._done[number]
        names = tuple(map(str, links))
        now = self._recorder.fault(
            number,
            FaultStage.START,
            {
                "kind": done.kind,
                "targets": [int(node) for node in nodes],
                "links": list(names),
                "params": {**done.parameters, "target": done.target},
            },
        )
        self._done[number] = replace(done, nodes=nodes, links=names, t_start=now)

    def _stage(self, number: int, stage: FaultStage) -> None:
        done, now = self._done[number], self._recorder.fault(number, stage, {})
        match stage:
            case FaultStage.BIT:
                self._done[number] = replace(done, t_bit=now)
            case FaultStage.HEAL:
                self._done[number] = replace(done, t_heal=now)
            case FaultStage.HEALED:
                self._done[number] = replace(done, t_healed=now)

    def _evidence(self, number: int, evidence: Evidence) -> None:
        self._recorder.fault(
            number,
            FaultStage.EVIDENCE,
            {"bit": evidence.bit, "evidence": evidence.what, "facts": dict(evidence.facts)},
        )
        self._done[number] = replace(self._done[number], bit=evidence.bit, evidence=evidence.what)

    def _save(self, schedule: Schedule) -> None:
        """Replace `schedule.json` as a whole, so that a killed run leaves a readable one."""
        content = {
            "seed": self._seed,
            **windows_as_json(schedule),
            "done": [asdict(done) for done in self._done],
        }
        part = self._directory / ".schedule.json.tmp"
        part.write_text(json.dumps(content, indent=2) + "\n")
        part.replace(self._directory / "schedule.json")


def _planned(number: int, window: Window) -> Done:
    fault = window.fault
    return Done(
        fault_id=number,
        kind=fault.kind,
        target=str(fault.target),
        parameters=fault.parameters,
        planned_at_s=window.at_s,
        planned_hold_s=window.hold_s,
    )


def _what(hit: Hit) -> str:
    return f"{hit.fault.kind} of {', '.join(f'node {node}' for node in hit.nodes)}"


def _ways(parameters: dict[str, str]) -> str:
    return "".join(f", {name} {value}" for name, value in sorted(parameters.items()))
