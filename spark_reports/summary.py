"""What a report says, as plain values: rows that Spark computed, and nothing of Spark."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from checkers.verdict import Verdict
from spark_reports.archive import Archive, SealedRun

# Three in a million: with none lost of n, the true rate is below 3 / n with 95 % confidence.
_RULE_OF_THREE = 3.0
_MILLION = 1_000_000

CULPRITS_LIMIT = 200  # values named in a report; all are counted
UNJUDGED = "not judged"
VERDICT_WORDS = (*(verdict.word for verdict in Verdict), UNJUDGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class FateCount:
    """How many written values of a scenario and fault phase had one fate."""

    scenario: str
    fault_phase: str
    fate: str
    values: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """A value that was lost, or that is there although its write failed."""

    run_id: str
    scenario: str
    key: str
    value: int
    outcome: str
    fault_phase: str
    t0: int
    fate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """The availability of one run: its longest time without a success, and all such times."""

    run_id: str
    scenario: str
    longest_ns: int
    unavailable_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """A fault that hit the leader, and how long the next one took; None: not before the end."""

    run_id: str
    scenario: str
    fault_id: int
    kind: str
    elected_ns: int | None
    active_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Outcomes and latency (of ok) of a scenario and fault phase; None where nothing was ok."""

    scenario: str
    fault_phase: str
    ok: int
    fail: int
    info: int
    p50_ns: int | None
    p99_ns: int | None
    max_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All of a report. `unexplained` runs are among the numbers: a void run hides no loss."""

    archive: Archive
    fates: tuple[FateCount, ...]
    culprits: tuple[Culprit, ...]
    outages: tuple[Outage, ...]
    elections: tuple[Election, ...]
    latencies: tuple[Latency, ...]

    @property
    def scenarios(self) -> list[str]:
        return sorted({run.info.scenario for run in self.archive.runs})


def verdict_word(run: SealedRun) -> str:
    return UNJUDGED if run.verdict is None else run.verdict.word


def total(counts: Iterable[FateCount], *fates: str) -> int:
    return sum(count.values for count in counts if count.fate in fates)


def lost_per_million(lost: int, acknowledged: int) -> str:
    """The share of acknowledged writes that were lost; where none was, what that is worth."""
    if not acknowledged:
        return "nothing acknowledged"
    if lost:
        return f"{lost / acknowledged * _MILLION:,.1f}"
    return f"< {_RULE_OF_THREE / acknowledged * _MILLION:,.1f}"


def quantile(values: Sequence[int], share: float) -> int | None:
    """The nearest-rank quantile; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(-int(-share * len(ordered) // 1), 1) - 1]
