"""`kraft-chaos audit`: all moments of a target, as a table on the terminal, as JSON, on a page."""

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import requests
from docker.errors import DockerException

from chaos.cluster.cluster_errors import ClusterError
from chaos.cluster.interface import PowerCutMode
from chaos.cluster.powers import DiskCopying
from chaos.cluster.targets.named import BROKERS, release_of
from chaos.errors import OperatorError, UsageError
from chaos.interrupt import Interrupt, signals_to
from chaos.labs.audit.all_moments import MOMENTS, moments_of
from chaos.labs.audit.matrix import Audited, as_json, as_text
from chaos.labs.audit.matrix_page import render_audit
from chaos.labs.audit.moment import AuditedCluster, Moment
from chaos.labs.audit.next_start import SUSPECT, NextStart
from chaos.labs.audit.one_cut import CutPlan, ObservedCut, cut_once, never_cut
from chaos.progress import ConsoleProgress
from chaos.run.rundir import new_run_directory
from chaos.run.runtimes import DOCKER, RUNTIMES, let_go, why_lacking
from checkers.verdict import counted

_FLUSHED = "log.flush.interval.messages"
# Errors of the engine: one cut is void then, and the others go on.
_ENGINE_ERRORS = (DockerException, requests.RequestException)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditArguments:
    """The command line of `audit`, checked."""

    target: str
    moments: Sequence[str]  # none: all moments of the target
    mode: PowerCutMode
    flushed: bool
    nodes: int
    times: int
    out: Path
    as_json: bool


class InterruptedAuditError(OperatorError):
    """The operator interrupted the audit; everything was removed."""


def audit(arguments: AuditArguments) -> int:
    """0 if no difference on a disk was trusted wrongly and every node started; 1 otherwise, or 3 if
    a cut left no evidence."""
    kind = "kafka" if release_of(arguments.target) else "node"
    moments = _chosen(arguments.moments, kind)
    if arguments.flushed and kind == "node":
        raise UsageError(f"--flushed: our own node has no {_FLUSHED}")
    progress = ConsoleProgress()
    found = Audited(target=arguments.target, mode=arguments.mode, flushed=arguments.flushed)
    page = arguments.out / f"audit-{kind}.html"
    try:
        for number in range(arguments.times):
            for moment in moments:
                found.cuts.append(cut := _cut(arguments, kind, moment, number, progress))
                progress.tell(_told(cut, number, arguments.times))
                page.write_text(
                    render_audit(found.title, found.cuts, arguments.out), encoding="utf-8"
                )
    except InterruptedAuditError as error:
        raise OperatorError(f"{error}; what was found so far is in {page}") from None
    finally:
        progress.end()
    told = as_json(found) if arguments.as_json else f"{as_text(found)}\npage: {page}"
    sys.stdout.write(f"{told}\n")
    return found.exit_code


def _chosen(names: Sequence[str], kind: str) -> list[Moment]:
    """Raises UsageError for a moment that the target does not reach."""
    known = moments_of(kind)
    for name in names:
        if MOMENTS[name] not in known:
            there = ", ".join(each.name for each in known)
            raise UsageError(f"{name} is no moment of this target; known: {there}")
    return [each for each in known if not names or each.name in names]


def _cut(
    arguments: AuditArguments,
    kind: str,
    moment: Moment,
    number: int,
    progress: ConsoleProgress,
) -> ObservedCut:
    directory = new_run_directory(arguments.out, f"audit-{moment.name}", number, time.time_ns())
    plan = CutPlan(moment=moment, target=kind, mode=arguments.mode, flushed=arguments.flushed)
    cluster = _cluster(arguments, plan, directory)
    try:
        return asyncio.run(_until_interrupted(plan, cluster, directory, progress))
    except InterruptedAuditError:
        raise
    except (ClusterError, OperatorError) as error:
        return never_cut(plan, directory, str(error))
    except _ENGINE_ERRORS as error:
        return never_cut(plan, directory, f"the Docker engine: {type(error).__name__}: {error}")


def _cluster(arguments: AuditArguments, plan: CutPlan, directory: Path) -> AuditedCluster:
    """Raises OperatorError if the power of its disks cannot be cut."""
    way = plan.moment.ways[plan.target]
    nodes = max(way.nodes, arguments.nodes)
    brokers = {BROKERS: str(nodes)} if BROKERS in way.settings else {}
    cluster = RUNTIMES[DOCKER].new(
        run_id=f"{directory.name}-{os.getpid():x}",
        nodes=nodes,
        target=arguments.target,
        keep=False,
        directory=directory,
        settings={**way.settings, **brokers, **({_FLUSHED: "1"} if plan.flushed else {})},
        conditions=way.conditions,
    )
    if not isinstance(cluster, DiskCopying):
        why = why_lacking(cluster)
        let_go(cluster)
        raise OperatorError(
            f"the power of disks cannot be cut here: {why}\n  try: kraft-chaos doctor"
        )
    return cluster


async def _until_interrupted(
    plan: CutPlan, cluster: AuditedCluster, directory: Path, progress: ConsoleProgress
) -> ObservedCut:
    """An interrupt leaves a clean machine, and raises InterruptedAuditError."""
    interrupt = Interrupt()
    with signals_to(interrupt, progress.tell):
        cutting = asyncio.create_task(cut_once(plan, cluster, directory, progress))
        asked = asyncio.create_task(interrupt.wait())
        await asyncio.wait({cutting, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if not cutting.done():
            cutting.cancel()
            await asyncio.wait({cutting})
        if interrupt.asked:
            name = interrupt.signal_name
            raise InterruptedAuditError(f"interrupted by {name}; everything was removed")
        return cutting.result()


def _told(cut: ObservedCut, number: int, times: int) -> str:
    of = f" ({number + 1} of {times})" if times > 1 else ""
    if cut.void:
        return f"{cut.moment}{of}: void, {cut.void}"
    differ = counted(len(cut.differences), "file")
    bad = [each for each in cut.differences if each.outcome in SUSPECT]
    found = sorted({f"{each.kind} {each.outcome}" for each in bad})
    if cut.refusal and not found:
        found = [NextStart.REFUSES]
    why = f": {', '.join(found)}" if found else ""
    return f"{cut.moment}{of}: {differ} of {len(cut.files)} differ{why}"
