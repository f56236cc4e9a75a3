"""Is everything there that the run was planned to leave?"""

from checkers.check import check, everywhere
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.missing import nobody_counted
from checkers.verdict import CheckResult, Verdict

_NAMED = 3


@check("evidence-complete", applies=everywhere, source="")
def evidence_complete(evidence: Evidence) -> CheckResult:
    """Everything that the run was planned to leave is there: all evidence that was counted during
    the run is found.

    Counted are operations, by the recorder and by the clients themselves, none of them outside of
    the run's time; faults, planned and begun; answers to probes; processes of each node, the
    numbers of their trace lines and how the last one ended; files, by bytes and CRC, as they were
    collected; disks. Missing evidence accuses no node, and a result without it is unknown at best.
    """
    lacking = evidence.missing
    if lacking:
        named = "; ".join(str(each) for each in lacking[:_NAMED])
        more = f" (and {len(lacking) - _NAMED} more)" if len(lacking) > _NAMED else ""
        return _row(Verdict.UNKNOWN, f"evidence is missing: {named}{more}", len(lacking))
    if nobody_counted(evidence.run):
        return _row(Verdict.UNKNOWN, "what this run should have left was not counted", 0)
    counts = _counts(evidence)
    told = ", ".join(counted(number, *words) for words, number in counts.items())
    return _row(
        Verdict.VALID, f"everything that was counted is there: {told}", sum(counts.values())
    )


def _counts(evidence: Evidence) -> dict[tuple[str, str], int]:
    """By one and many of what was counted."""
    tables = evidence.tables
    found = {
        ("operation", "operations"): tables["ops"].num_rows,
        ("fault", "faults"): tables["faults"].num_rows,
        ("answer to probes", "answers to probes"): tables["probes"].num_rows,
        ("trace line", "trace lines"): tables["node_events"].num_rows,
        ("disk", "disks"): tables["disks"].num_rows,
        ("lost disk", "lost disks"): tables["lost_disks"].num_rows,
        ("replica", "replicas"): tables["replicas"].num_rows,
    }
    return {words: number for words, number in found.items() if number}


def _row(verdict: Verdict, message: str, looked_at: int) -> CheckResult:
    return CheckResult(verdict=verdict, message=message, looked_at=looked_at)
