"""The result of a check: what it looked at and what it found, as one row of a judgement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checkers.verdict import WITNESS_LIMIT, CheckResult, EventValue, Verdict

STARVED = "starved"  # a fact of a row: how much of it the machine may be to blame for
_Witness = Sequence[Mapping[str, EventValue]]


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise: a sentence, and the events that show it."""

    message: str
    witness: _Witness = ()


def unread(unit: str, needs: str) -> CheckResult:
    """Unknown: nothing that the check looks at could be read."""
    message = f"looked at no {unit}; it needs {needs}"
    return CheckResult(verdict=Verdict.UNKNOWN, message=message)


def conclude(
    *,
    looked_at: int,
    unit: str,
    violations: Sequence[Violation],
    needs: str,
    holds: str,
    algorithm: str,
    gaps: Sequence[str] = (),
    allowed: Sequence[Violation] = (),
    nothing: str = "",
    starved: Sequence[str] = (),
) -> CheckResult:
    """Invalid with the first violation; an error if the machine may be to blame (`starved`);
    unknown if nothing was looked at or parts are missing.

    `unit` names what `looked_at` counts, `needs` the evidence, `holds` the promise that was kept.
    `nothing` says why there was nothing to look at, where that is a fact of the run and no lack of
    evidence (no leader was cut off): the promise then holds. `allowed` are breaches that the
    promise excludes, given what was done to the cluster or how it was configured: they are counted
    and named, and accuse no node.
    """
    message, verdict = f"{looked_at:,} {unit}: {holds}", Verdict.VALID
    if violations:
        message, verdict = violations[0].message, Verdict.INVALID
    elif starved:
        message, verdict = starved[0], Verdict.ERROR
    elif not looked_at and nothing and not gaps:
        message = f"nothing to judge: {nothing}"
    elif not looked_at and gaps:
        message, verdict = f"looked at no {unit}: {gaps[0]}", Verdict.UNKNOWN
    elif not looked_at:
        message, verdict = f"looked at no {unit}; it needs {needs}", Verdict.UNKNOWN
    elif gaps:
        message = f"nothing wrong in {looked_at:,} {unit}, but {gaps[0]}"
        verdict = Verdict.UNKNOWN
    if allowed:
        message += f", except for {len(allowed):,} allowed: {allowed[0].message}"
    return CheckResult(
        verdict=verdict,
        message=message,
        looked_at=looked_at,
        count=len(violations),
        witness=list(violations[0].witness[:WITNESS_LIMIT]) if violations else (),
        algorithm=algorithm,
        facts={**_if_any("allowed", len(allowed)), **_if_any(STARVED, len(starved))},
    )


def _if_any(name: str, number: int) -> Mapping[str, EventValue]:
    return {name: number} if number else {}
