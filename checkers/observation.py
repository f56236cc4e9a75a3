"""Was there enough to judge? Without these, a run in which nothing happened would be green."""

import pyarrow as pa
import pyarrow.compute as pc

from checkers.history.run import Run
from checkers.verdict import CheckResult, EventValue, Verdict

ENOUGH_SUCCESSES = 50
ENOUGH_SHARE = 0.05


def record_complete(run: Run) -> CheckResult:
    """The run came to its end, and nothing that it recorded was cut. Needs: run.json, manifest.

    A violation in what is left of a cut record stands; that there is none says little.
    """
    problems = [f"cut: {note}" for note in run.truncated]
    if not run.info.finished:
        why = f": {run.info.trouble}" if run.info.trouble else ""
        problems.insert(0, f"the run broke off before its end{why}")
    if problems:
        return CheckResult(
            check="record-complete",
            verdict=Verdict.UNKNOWN,
            message="; ".join(problems[:3]),
            looked_at=1,
        )
    return CheckResult(
        check="record-complete",
        verdict=Verdict.VALID,
        message="the run came to its end and its record is whole",
        looked_at=1,
    )


def workload_succeeded(run: Run) -> CheckResult:
    """At least 50 operations, and 5 % of those tried, succeeded. Needs: ops.

    A cluster that answers nothing breaks no promise: such a run is void, not valid.
    """
    tried = run.tables["ops"].num_rows
    succeeded = count(run.tables["ops"], outcome="ok")
    enough = succeeded >= ENOUGH_SUCCESSES and succeeded >= ENOUGH_SHARE * tried
    return CheckResult(
        check="workload-succeeded",
        verdict=Verdict.VALID if enough else Verdict.VOID,
        message=f"{succeeded:,} of {tried:,} operations succeeded"
        + (
            "" if enough else f"; below {ENOUGH_SUCCESSES} or {ENOUGH_SHARE:.0%} a run says nothing"
        ),
        looked_at=tried,
    )


def final_reads(run: Run) -> CheckResult:
    """After all faults were healed, every key that may have been written was read. Needs: ops.

    Without it a write lost at the end would go unseen.
    """
    ops = run.tables["ops"]
    tried = pc.and_(pc.equal(ops["f"], "write"), pc.not_equal(ops["outcome"], "fail"))
    written = set(ops.filter(tried)["key"].to_pylist())
    read = set(_where(ops, f="read", outcome="ok", phase="final")["key"].to_pylist())
    missing = sorted(written - read)
    message = f"each of {len(written):,} written keys was read at the end"
    if not written:
        message = "no key was written"
    elif missing:
        message = f"{len(missing):,} of {len(written):,} keys were not read at the end: "
        message += ", ".join(missing[:5]) + (" ..." if len(missing) > 5 else "")
    return CheckResult(
        check="final-reads",
        verdict=Verdict.UNKNOWN if missing or not written else Verdict.VALID,
        message=message,
        looked_at=len(written),
    )


def faults_bit(run: Run) -> CheckResult:
    """Every fault left evidence that it had its effect. Needs: faults (DESIGN 4).

    Void otherwise: a run that was not hurt shows nothing about being hurt. A scenario without
    faults has nothing to prove here.
    """
    faults = run.tables["faults"].to_pylist()
    if not faults:
        expected = run.info.expects_faults
        return CheckResult(
            check="faults-bit",
            verdict=Verdict.VOID if expected else Verdict.VALID,
            message=f"no fault was injected, though {run.info.scenario} is about them"
            if expected
            else "no fault was asked for, and none was injected",
        )
    toothless = [fault for fault in faults if fault["bit"] is not True]
    return CheckResult(
        check="faults-bit",
        verdict=Verdict.VOID if toothless else Verdict.VALID,
        message=_missing_evidence(toothless) if toothless else f"{len(faults)} faults bit",
        looked_at=len(faults),
        facts={"bit": len(faults) - len(toothless), "faults": len(faults)},
    )


def _missing_evidence(toothless: list[dict[str, EventValue]]) -> str:
    first = toothless[0]
    why = first["evidence"] or "it was never asked whether it had its effect"
    more = f" (and {len(toothless) - 1} more)" if len(toothless) > 1 else ""
    return f"fault {first['fault_id']}, {first['kind']}, left no evidence: {why}{more}"


def count(table: pa.Table, **equal: EventValue) -> int:
    """Rows whose columns equal the given values."""
    return int(_where(table, **equal).num_rows)


def _where(table: pa.Table, **equal: EventValue) -> pa.Table:
    for name, value in equal.items():
        table = table.filter(pc.equal(table[name], value))
    return table
