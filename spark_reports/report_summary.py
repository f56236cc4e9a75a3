"""The contents of a report as plain values: rows that Spark computed, without Spark types."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from checkers.verdict import Verdict, wilson, worst
from spark_reports.fate_counts import Culprit, FateCounts
from spark_reports.phases import PHASES
from spark_reports.sealed_archive import Archive, SealedRun

_MILLION = 1_000_000

CULPRITS_LIMIT = 200  # named in a report; all are counted
UNJUDGED = "not judged"
VERDICT_WORDS = (*(verdict.word for verdict in Verdict), UNJUDGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCounts:
    """The sums of one scenario (with its side) and target version, of one kind and fault phase."""

    scenario: str
    version: str
    counts: FateCounts

    @property
    def order(self) -> tuple[str, str, str, int]:
        counts = self.counts
        return counts.kind, self.scenario, self.version, PHASES.index(counts.fault_phase)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """The availability of one run: its longest time without a success, and all such times."""

    run_id: str
    scenario: str
    longest_ns: int
    unavailable_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderLoss:
    """A fault that hit the leader, and the time to the next one; None: not before the end."""

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
class ReportSummary:
    """All of a report. Void and unknown runs are among the numbers: a void run hides no loss.

    `problems`: runs with durability that could not be counted, by run id, and why. `lost`: the
    number of losses of the others, by run id.
    """

    archive: Archive
    cells: tuple[GroupCounts, ...] = ()
    culprits: tuple[Culprit, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    outages: tuple[Outage, ...] = ()
    elections: tuple[LeaderLoss, ...] = ()
    latencies: tuple[Latency, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst of all but expected losses and planted bugs; a run that cannot be read is an
        error, one that was not judged is unknown."""
        archive = self.archive
        if self.contradicted or any(run.is_surprise for run in archive.runs):
            return Verdict.INVALID
        return worst(
            [
                *(_counts_as(run) for run in archive.runs),
                *(each.verdict for each in archive.skipped if each.verdict is not None),
                *(rows.verdict for rows in archive.campaigns if not rows.mutation),
            ]
        )

    def counted_cells(self, kind: str) -> list[GroupCounts]:
        """The cells of one kind that enter totals: no node of theirs had a planted bug."""
        planted = {run.scenario for run in self.archive.runs if run.info.mutation}
        return [
            cell for cell in self.cells if cell.counts.kind == kind and cell.scenario not in planted
        ]

    @property
    def scenarios(self) -> list[str]:
        return sorted({run.scenario for run in self.archive.runs})

    @property
    def contradicted(self) -> list[tuple[SealedRun, str]]:
        """The runs with tables that count other losses than their verdicts, or losses that were not
        judged, and what each says."""
        found = ((run, self._contradiction(run)) for run in self.archive.runs)
        return [(run, words) for run, words in found if words]

    def _contradiction(self, run: SealedRun) -> str:
        counted = self.lost.get(run.key)
        if counted is None or counted == (run.verdict_lost or 0):
            return ""
        if run.verdict is None:
            return f"it is not judged, and its tables count {counted:,} lost"
        told = (
            "counts no losses" if run.verdict_lost is None else f"counts {run.verdict_lost:,} lost"
        )
        return f"its verdict {told}, and its tables {counted:,}"

    def doubtful(self, runs: Iterable[SealedRun]) -> list[tuple[SealedRun, str]]:
        """The runs in which losses are undecided, and why."""
        reasons = ((run, self._doubt(run)) for run in runs)
        return [(run, reason) for run, reason in reasons if reason]

    def _doubt(self, run: SealedRun) -> str:
        if run.key in self.problems:
            return f"not counted: {self.problems[run.key]}"
        if run.verdict is None:
            return UNJUDGED
        return ", ".join(run.undecided)


def _counts_as(run: SealedRun) -> Verdict:
    return Verdict.VALID if run.is_expected_invalid else run.verdict or Verdict.UNKNOWN


def verdict_word(run: SealedRun) -> str:
    return UNJUDGED if run.verdict is None else run.verdict.word


def total(cells: Iterable[GroupCounts], *names: str) -> int:
    """The sum of these counts."""
    return sum(getattr(cell.counts, name) for cell in cells for name in names)


def share_of(lost: int, acknowledged: int) -> str:
    """`3.2 % (2.1-4.8 %)`, or so many per million where it is rare; with its 95 % interval.

    Where nothing was lost, the rate that would still go unnoticed.
    """
    if not acknowledged:
        return "nothing acknowledged"
    low, high = wilson(lost, acknowledged)
    if not lost:
        return f"< {_rate(high)}"
    share = lost / acknowledged
    return f"{_rate(share)} ({_rate(low)} to {_rate(high)})"


def _rate(share: float) -> str:
    """Per cent down to one, per million below: a bound rounded down to 0 would be none."""
    if share >= 0.01:
        return f"{100 * share:.1f} %"
    return f"{share * _MILLION:,.1f} per million"


def quantile(values: Sequence[int], share: float) -> int | None:
    """The nearest-rank quantile; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(-int(-share * len(ordered) // 1), 1) - 1]
