"""Applies a schedule to a cluster and writes down each fault: start, bit, heal, healed, evidence.

Windows follow one another; one that starts late, because a cure took its time, is held as long as
planned. Whatever goes wrong with a fault is said in its evidence, never passed over.
"""

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from chaos.cluster.interface import Cluster, Evidence
from chaos.nemesis.apply import Hit, cure, inject, links_of, resolve
from chaos.nemesis.evidence import of_failure
from chaos.nemesis.schedule import Schedule, Window
from chaos.probes import NoLeaderError, QuorumProbe
from chaos.recorder import Recorder
from checkers.history.events import FaultStage


class ClusterBrokenError(Exception):
    """A fault could not be cured: the cluster is not what the run needs any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of a window; a line of `schedule.json`. Times in ns since the run's start."""

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
        self.current: str = ""  # for the progress line

    async def run(self, schedule: Schedule) -> None:
        """All windows and the quiet after the last. Raises ClusterBrokenError."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._save(schedule)
        for window in schedule.windows:
            await asyncio.sleep(max(0.0, began + window.at_s - loop.time()))
            await self._one(window)
            self._save(schedule)
        await asyncio.sleep(max(0.0, began + schedule.duration_s - loop.time()))

    async def _one(self, window: Window) -> None:
        fault = window.fault
        number = len(self._done)
        self._done.append(
            Done(
                fault_id=number,
                kind=fault.kind,
                target=str(fault.target),
                parameters=fault.parameters,
                planned_at_s=window.at_s,
                planned_hold_s=window.hold_s,
            )
        )
        try:
            nodes = await resolve(fault.target, self._cluster, self._probe, self._rng)
        except NoLeaderError as error:
            self._stage(FaultStage.START, targets=(), links=())
            self._evidence(of_failure("no target", error))
            return
        links = tuple(str(link) for link in links_of(fault, nodes, self._cluster))
        self._stage(FaultStage.START, targets=nodes, links=links)
        self.current = f"{fault.kind} of {_names(nodes)}"
        try:
            hit = await inject(self._cluster, fault, nodes)
        except Exception as error:
            self._evidence(of_failure("injection failed", error))
            raise ClusterBrokenError(f"{self.current} could not be injected: {error}") from error
        self._stage(FaultStage.BIT)
        self._tell(f"{self.current}{_ways(fault.parameters)}")
        await asyncio.sleep(window.hold_s)
        await self._cure(hit)

    async def _cure(self, hit: Hit) -> None:
        self._stage(FaultStage.HEAL)
        try:
            evidence = await cure(self._cluster, hit)
        except Exception as error:
            self._evidence(of_failure("cure failed", error))
            raise ClusterBrokenError(f"{self.current} could not be cured: {error}") from error
        self._stage(FaultStage.HEALED)
        self._evidence(evidence)
        self._tell(f"healed; {'it bit' if evidence.bit else 'IT DID NOT BITE'}: {evidence.what}")
        self.current = ""

    def _stage(
        self, stage: FaultStage, *, targets: tuple[int, ...] = (), links: tuple[str, ...] = ()
    ) -> None:
        done = self._done[-1]
        if stage is FaultStage.START:
            now = self._recorder.fault(
                done.fault_id,
                stage,
                {
                    "kind": done.kind,
                    "targets": list(targets),
                    "links": list(links),
                    "params": {**done.parameters, "target": done.target},
                },
            )
            self._done[-1] = replace(done, nodes=targets, links=links, t_start=now)
            return
        now = self._recorder.fault(done.fault_id, stage, {})
        match stage:
            case FaultStage.BIT:
                self._done[-1] = replace(done, t_bit=now)
            case FaultStage.HEAL:
                self._done[-1] = replace(done, t_heal=now)
            case FaultStage.HEALED:
                self._done[-1] = replace(done, t_healed=now)

    def _evidence(self, evidence: Evidence) -> None:
        done = self._done[-1]
        self._recorder.fault(
            done.fault_id,
            FaultStage.EVIDENCE,
            {"bit": evidence.bit, "evidence": evidence.what, "facts": dict(evidence.facts)},
        )
        self._done[-1] = replace(done, bit=evidence.bit, evidence=evidence.what)

    def _save(self, schedule: Schedule) -> None:
        """Replace `schedule.json` as a whole, so that a killed run leaves a readable one."""
        content = {
            "seed": self._seed,
            "duration_s": schedule.duration_s,
            "windows": [
                {
                    "kind": window.fault.kind,
                    "target": str(window.fault.target),
                    "parameters": window.fault.parameters,
                    "at_s": window.at_s,
                    "hold_s": window.hold_s,
                }
                for window in schedule.windows
            ],
            "done": [asdict(done) for done in self._done],
        }
        part = self._directory / ".schedule.json.tmp"
        part.write_text(json.dumps(content, indent=2) + "\n")
        part.replace(self._directory / "schedule.json")


def _names(nodes: tuple[int, ...]) -> str:
    return ", ".join(f"node {node}" for node in nodes)


def _ways(parameters: dict[str, str]) -> str:
    return "".join(f", {name} {value}" for name, value in sorted(parameters.items()))
