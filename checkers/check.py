"""A check as a value: what it promises, to which runs it applies, and how it judges.

Whether a check applies follows from what a run was *planned* to have, never from what is there: a
check that applies always has a row. If its evidence is missing, the row says so, and is unknown.
"""

import inspect
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cache

from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.voter_history import planned_voters
from checkers.history.events import HistoryKind
from checkers.history.sealed_run import Run, RunInfo
from checkers.verdict import CheckResult

Applies = Callable[[RunInfo], bool]
Judge = Callable[[Evidence], CheckResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One promise, and the function that judges it.

    `rests_on` are the kinds of evidence that must be complete for an accusation: a check that holds
    something's absence against a node. If a run lacks some of them, an accusation is only a
    suspicion. `source` is where the promise comes from: a section of a KIP, Raft, KAFKA-nnnn.
    """

    id: str
    applies: Applies
    judges: Judge
    rests_on: frozenset[Kind]
    source: str

    @property
    def promise(self) -> str:
        """What has to hold, in a sentence or a few."""
        return _promise(self.judges)

    def __call__(self, run: Run | Evidence) -> CheckResult:
        """Judge a run by this check alone, whether it applies or not."""
        evidence = run if isinstance(run, Evidence) else Evidence(run)
        return replace(self.judges(evidence), check=self.id, promise=self.promise)


@cache
def _promise(judges: Judge) -> str:
    """The first paragraph of the docstring, without its number (`Q2: `) and its source."""
    first = (inspect.getdoc(judges) or "").partition("\n\n")[0]
    said = re.sub(r"^[A-Z]+\d+: ", "", " ".join(first.split()))
    return said[:1].upper() + re.sub(r" \([^()]*\)$", "", said)[1:]


def check(
    name: str, *, applies: Applies, source: str, rests_on: Collection[Kind] = ()
) -> Callable[[Judge], Check]:
    """Make a check of the function that judges; its docstring begins with the promise."""

    def made(judges: Judge) -> Check:
        return Check(
            id=name, applies=applies, judges=judges, rests_on=frozenset(rests_on), source=source
        )

    return made


def everywhere(_: RunInfo) -> bool:
    """Applies to every run."""
    return True


def traced(info: RunInfo) -> bool:
    """Applies where nodes write traces."""
    return Kind.TRACES in info.gives


def traced_quorum(info: RunInfo) -> bool:
    """Applies where nodes write traces, and more than one of them votes."""
    return traced(info) and len(planned_voters(info)) > 1


def several_nodes(info: RunInfo) -> bool:
    """Applies where there is more than one node."""
    return info.nodes > 1


def untraced(info: RunInfo) -> bool:
    """Applies where nodes write no traces, so that probes and disks have to do."""
    return Kind.TRACES not in info.gives


def probed(info: RunInfo) -> bool:
    """Applies where nodes write no traces and the harness asks controllers for the quorum."""
    return untraced(info) and Kind.QUORUM_PROBES in info.gives


def of_registers(info: RunInfo) -> bool:
    """Applies where clients use registers."""
    return info.history == HistoryKind.REGISTERS


def describes_quorum(info: RunInfo) -> bool:
    """Applies where clients change voters, and ask for the voters."""
    return int(info.load.get("describers", 0)) > 0


def of_logs(info: RunInfo) -> bool:
    """Applies where clients use the logs of partitions."""
    return info.history == HistoryKind.LOG


def of_brokers(info: RunInfo) -> bool:
    """Applies where there are brokers, with their metadata in the controllers' log."""
    return any("broker" in role for role in info.roles.values())


def of_partitions(info: RunInfo) -> bool:
    """Applies where brokers hold partitions, and their disks are read."""
    return of_brokers(info) and Kind.PARTITION_LOGS in info.gives


def of_partition_logs(info: RunInfo) -> bool:
    """Applies where clients used partitions, and the brokers' disks are read."""
    return of_partitions(info) and of_logs(info)
