"""What a run cannot show, beside its verdict."""

from collections.abc import Iterable, Sequence

import pyarrow.compute as pc

from checkers.counted import counted
from checkers.history.sealed_run import Run
from checkers.page.fault_windows import FaultWindow
from checkers.verdict import Judgement, Verdict


def limits_of(run: Run, judgement: Judgement, faults: Sequence[FaultWindow]) -> list[str]:
    """Sentences, the ones that weigh most first."""
    return [
        *_broken_off(run),
        *_undecided(judgement),
        *_faults(run, faults),
        *_unseen(run),
        *_operations(run),
        f"It is one run with one seed ({run.info.seed}) and these faults: a verdict about this "
        "history, not about all that the cluster could do.",
    ]


def _broken_off(run: Run) -> Iterable[str]:
    if not run.info.finished:
        yield "The run broke off before its end: what it would have shown later is unknown."
    for what in run.truncated:
        yield f"A record was cut, and judged without its tail: {what}."


def _undecided(judgement: Judgement) -> Iterable[str]:
    for verdict, words in (
        (Verdict.ERROR, "crashed and decided nothing"),
        (Verdict.VOID, "were void"),
        (Verdict.UNKNOWN, "could not be decided"),
    ):
        names = [result.check for result in judgement.results if result.verdict is verdict]
        if names:
            yield f"{len(names)} of {len(judgement.results)} checks {words}: {', '.join(names)}."


def _faults(run: Run, faults: Sequence[FaultWindow]) -> Iterable[str]:
    if not faults:
        yield "No fault was injected: nothing is shown about how the cluster bears one."
        return
    doubtful = [fault for fault in faults if not fault.bit]
    if doubtful:
        yield (
            f"{len(doubtful)} of {len(faults)} faults left no evidence that they had an effect: "
            "what was seen under them proves nothing."
        )
    never = sorted({fault.kind for fault in faults} - {fault.kind for fault in faults if fault.bit})
    if never:
        yield f"These kinds of fault never struck: {', '.join(never)}."
    if not any("may_lose" in fault.harm for fault in faults):
        ends = any(fault.stops_processes for fault in faults)
        killed = " A process that ends leaves its unwritten pages to the kernel." * ends
        yield f"No power was cut: nothing is shown about what survives a missing fsync.{killed}"
    if run.info.runtime == "sim":
        yield "Network, disks and clocks were simulated."


def _unseen(run: Run) -> Iterable[str]:
    if not run.tables["node_events"].num_rows:
        yield "The nodes left no traces: epochs, votes and high watermarks were not judged by them."
    if not run.tables["disks"].num_rows:
        yield (
            "No disk was read after the run: a lost write cannot be distinguished from a late one."
        )
    problems = run.tables["disks"].filter(pc.is_valid(run.tables["disks"]["problem"]))
    for row in problems.to_pylist():
        yield f"The disk of node {row['node']} could not be read in full: {row['problem']}."


def _operations(run: Run) -> Iterable[str]:
    ops = run.tables["ops"]
    open_ended = pc.sum(pc.equal(ops["outcome"], "info")).as_py() or 0
    if not ops.num_rows:
        yield "No operation was recorded."
    if open_ended:
        yield (
            f"{counted(open_ended, 'operation')} ended as info: each may have happened or not, "
            "both are allowed for, and their latency is unknown."
        )
