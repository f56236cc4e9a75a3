"""Runs all checks over one run, and writes the sentence that says what they found.

A check is a pure function of what a run left. A check that raises is our own error and makes the
run's verdict `error`, never `valid`; the others still run, so that a proved violation is shown.
"""

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace

from checkers.all_checks import CHECKS
from checkers.check import Check
from checkers.evidence.evidence import Evidence
from checkers.history.sealed_run import Run, RunInfo
from checkers.run.statistics import Number, statistics, why_machinery
from checkers.verdict import CheckResult, Judgement, Verdict, counted, worst
from checkers.verdict_file import read_verdict, write_verdict

__all__ = ["CHECKS", "judge", "read_verdict", "write_verdict"]

Stopwatch = Callable[[], float]


_EVIDENCE = "evidence-complete"
_STOPPED = "stops-without-a-majority"  # said at the end, if no majority was left
_SAID_FIRST = ("linearizable", "log-durability")  # what the workloads are about


def judge(
    run: Run | Evidence, checks: Sequence[Check] = CHECKS, stopwatch: Stopwatch = time.perf_counter
) -> Judgement:
    """Run every check that applies; the worst verdict is the run's.

    `stopwatch` measures the time of each check, in seconds.
    """
    evidence = run if isinstance(run, Evidence) else Evidence(run)
    run = evidence.run
    applicable = [check for check in checks if check.applies(run.info)]
    results = tuple(_judged(check, evidence, stopwatch) for check in applicable)
    numbers = statistics(run)
    verdict = worst(result.verdict for result in results)
    return Judgement(
        run_id=run.info.run_id,
        verdict=verdict,
        sentence=_sentence(verdict, results, numbers),
        results=results,
        statistics=numbers,
    )


def _judged(check: Check, evidence: Evidence, stopwatch: Stopwatch) -> CheckResult:
    began = stopwatch()
    try:
        result = _not_in_vain(_as_far_as_known(check(evidence), check, evidence), evidence.info)
    except Exception as error:  # noqa: BLE001 - whatever it is, it must become a verdict
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename.rsplit('/', 1)[-1]}:{last.lineno}"
        result = CheckResult(
            check=check.id,
            verdict=Verdict.ERROR,
            message=f"the check itself failed: {type(error).__name__}: {error} ({where})",
            promise=check.promise,
        )
    return replace(result, seconds=round(stopwatch() - began, 4))


def _as_far_as_known(result: CheckResult, check: Check, evidence: Evidence) -> CheckResult:
    """Missing evidence accuses no node: an accusation that rests on the absence of something is
    only a suspicion if such evidence is missing. Nor may a check say "nothing to judge" if it could
    not see."""
    lacking = [each for each in evidence.missing if each.kind in check.rests_on]
    accuses = result.verdict is Verdict.INVALID
    if accuses and (doubt := why_machinery(evidence.run.info.machinery, result.witness)):
        message = f"a suspicion only, {doubt}: {result.message}"
        return replace(result, verdict=Verdict.UNKNOWN, count=0, message=message)
    saw_nothing = result.verdict is Verdict.VALID and not result.looked_at
    if not lacking or not (accuses or saw_nothing):
        return result
    why = f"it rests on {lacking[0].kind.value}, and some of it is missing ({lacking[0]})"
    suspicion = f"a suspicion only, {why}: {result.message}"
    return replace(
        result,
        verdict=Verdict.UNKNOWN,
        count=0,
        message=suspicion if accuses else f"{result.message}; but {why}",
    )


def _not_in_vain(result: CheckResult, info: RunInfo) -> CheckResult:
    """A run is void if a check for which its scenario exists had nothing to judge."""
    if result.check not in info.exists_for or result.verdict is not Verdict.VALID:
        return result
    if result.looked_at:
        return result
    message = f"{result.message}, yet {info.scenario} exists for this check"
    return replace(result, verdict=Verdict.VOID, message=message)


def _sentence(verdict: Verdict, results: Sequence[CheckResult], numbers: dict[str, Number]) -> str:
    if verdict is Verdict.VALID:
        return f"VALID: {_praise(results, numbers)}"
    blamed = [result for result in results if result.verdict is verdict]
    # Missing evidence comes first: it is why the others are unknown.
    blamed.sort(key=lambda result: result.check != _EVIDENCE)
    if not blamed:
        return f"{verdict.name}: nothing was judged"
    more = f" (and {len(blamed) - 1} more {verdict.word})" if len(blamed) > 1 else ""
    return f"{verdict.name}: {blamed[0].check}: {blamed[0].message}{more}"


def _praise(results: Sequence[CheckResult], numbers: dict[str, Number]) -> str:
    messages = {result.check: result.message for result in results}
    said = [messages[check] for check in _SAID_FIRST if check in messages]
    others = [result for result in results if result.check not in (*_SAID_FIRST, "faults-bit")]
    held = sum(result.looked_at > 0 for result in others)
    bit = numbers["faults_bit"]
    assert isinstance(bit, int)
    faults = f"{counted(bit, 'fault')} bit" if numbers["faults"] else "no faults"
    gap = numbers["longest_without_success_s"]
    quiet = "" if gap is None else f"; longest time without a success {gap:.1f} s"
    first = "".join(f"{message}, " for message in said)
    more = counted(held, "more check holds", "more checks hold")
    stopped = "".join(
        f"; {result.message}" for result in results if result.check == _STOPPED and result.looked_at
    )
    return f"{first}{more}, {faults}{quiet}{stopped}"
