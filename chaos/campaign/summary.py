"""A campaign as a whole: verdicts, findings, coverage, and the verdict of the campaign. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from chaos.campaign import coverage
from chaos.campaign.coverage import Cell, Fingerprint
from chaos.campaign.job import SeedRow
from checkers.verdict import Verdict, counted, in_words, worst

_SHOWN_SEEDS = 12
_ENOUGH_SHARE = 0.5  # the share of seeds that must have a verdict on the nodes
_DECIDED = (Verdict.VALID, Verdict.INVALID)
# The share of runs that may be void: a drawn fault sometimes cannot bite, for example when a torn
# cut happens to forget nothing. Short runs leave less time for faults and load.
_VOID_SHARE, _VOID_SHARE_OF_SHORT = 0.05, 0.15
_SHORT_S = 10.0
# In this many runs of a swarm, each with the length that its seed says, every check that applies
# must find something to judge.
_MANY = 1000


def tolerated_void_share(hurting_s: float | None) -> float:
    """For a fault phase of this length; None: the length that each seed says, which is not
    short."""
    return _VOID_SHARE_OF_SHORT if hurting_s is not None and hurting_s < _SHORT_S else _VOID_SHARE


@dataclass(slots=True, kw_only=True)
class Summary:
    """Grows with each row, but its size does not depend on their number; `kinds` are the kinds of
    faults that a run may have."""

    asked: int
    kinds: tuple[str, ...]
    void_share: float = _VOID_SHARE  # the tolerated share of void runs
    expected: str = ""  # expected of every run, in words; "" if that is a valid run
    as_expected: int = 0
    counted: Counter[Verdict] = field(default_factory=Counter)  # as rows count in a campaign
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    struck: Counter[Cell] = field(default_factory=Counter)
    findings: dict[Fingerprint, list[SeedRow]] = field(default_factory=dict)
    # Whether there are enough runs that every check must have had something to judge.
    is_to_judge_all: bool = False
    without_subject: frozenset[str] = frozenset()  # checks that by the plan need not judge anything
    looked_at: Counter[str] = field(default_factory=Counter)  # by check, in all runs
    judged_by: Counter[str] = field(default_factory=Counter)  # by check, the runs
    operations: int = 0
    faults: int = 0
    virtual_s: float = 0.0
    busy_s: float = 0.0  # summed over all processes

    def add(self, row: SeedRow) -> None:
        self.verdicts[row.verdict] += 1
        self.counted[row.counts_as] += 1
        self.as_expected += row.unlike == ""
        self.struck.update(row.struck)
        self.looked_at.update(row.looked_at)
        self.judged_by.update(row.looked_at.keys())
        self.operations += row.operations
        self.faults += row.faults
        self.virtual_s += row.virtual_s
        self.busy_s += row.real_s
        if row.fingerprint is not None and row.counts_as is not Verdict.VALID:
            self.findings.setdefault(row.fingerprint, []).append(row)

    @property
    def runs(self) -> int:
        return self.verdicts.total()

    @property
    def tolerated_void(self) -> int:
        """How many runs may be void: their share, rounded up, so that even a few runs may have
        one."""
        return ceil(self.void_share * self.runs)

    @property
    def idle(self) -> list[str]:
        """The rules that had nothing to judge in so many runs that this is an error of the
        tests."""
        if not self.is_to_judge_all:
            return []
        often = {name for name, runs in self.judged_by.items() if runs >= _MANY}
        return sorted(n for n in often - self.without_subject if not self.looked_at[n])

    @property
    def lacking(self) -> str:
        """Why too little happened for the campaign to show anything; "" if enough did."""
        decided = sum(self.verdicts[verdict] for verdict in _DECIDED)
        if not decided or decided < _ENOUGH_SHARE * self.runs:
            return f"only {decided} of {self.runs} runs came to a verdict on the nodes"
        if self.verdicts[Verdict.VOID] > self.tolerated_void:
            return _void(self)
        if not self.operations:
            return "no operation succeeded"
        if self.kinds and not self.faults:
            return "no fault had an effect"
        return ""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the runs that show something; void if those are too few for a good
        one, or if more are void than is tolerated; an error if a rule is idle."""
        shown: list[Verdict] = [one for one in self.counted if one is not Verdict.VOID]
        shown += [Verdict.VOID] * bool(self.lacking) + [Verdict.ERROR] * bool(self.idle)
        return worst(shown)

    def by_weight(self) -> list[tuple[Fingerprint, list[SeedRow]]]:
        """Findings, the worst verdict first, then the most frequent."""
        return sorted(
            self.findings.items(),
            key=lambda item: (-item[1][0].verdict.value, -len(item[1]), item[0]),
        )


def as_text(summary: Summary, real_s: float) -> str:
    """The report that a person reads at the end."""
    lines = [f"{_word(summary)}: {_counts(summary)}", _effort(summary, real_s)]
    if summary.expected:
        lines.insert(
            1, f"  as expected: {in_words(summary.as_expected, summary.runs)}, {summary.expected}"
        )
    if idle := summary.idle:
        often = f"in {_MANY:,} runs and more"
        lines.append(
            f"error of the tests: {often} these rules looked at nothing: {', '.join(idle)}"
        )
    if summary.lacking:
        lines.append(f"too little happened: {summary.lacking}")
    elif summary.verdicts[Verdict.VOID]:
        lines.append(f"  {_void(summary)}")
    for found, rows in summary.by_weight():
        lines += ["", *_finding(found, rows)]
    if summary.kinds:
        lines += ["", coverage.as_text(summary.struck, summary.kinds)]
    if summary.looked_at:
        lines += ["", coverage.as_rules(summary.looked_at, summary.runs)]
        if summary.without_subject:
            named = ", ".join(sorted(summary.without_subject))
            lines.append(f"without a subject, by the scenario's plan: {named}")
    return "\n".join(lines)


def as_json(summary: Summary, real_s: float) -> dict[str, Any]:
    """One object for scripts."""
    return {
        "verdict": summary.verdict.word,
        "runs": summary.runs,
        "asked": summary.asked,
        "expected": summary.expected,
        "as_expected": summary.as_expected,
        "verdicts": {verdict.word: summary.verdicts[verdict] for verdict in Verdict},
        "lacking": summary.lacking,
        "idle": summary.idle,
        "void_tolerated": summary.tolerated_void,
        "operations": summary.operations,
        "faults": summary.faults,
        "virtual_s": round(summary.virtual_s, 1),
        "real_s": round(real_s, 1),
        "busy_s": round(summary.busy_s, 1),
        "findings": [_finding_json(found, rows) for found, rows in summary.by_weight()],
        "struck": {str(cell): count for cell, count in sorted(summary.struck.items())},
        "looked_at": dict(sorted(summary.looked_at.items())),
        "empty": [str(cell) for cell in coverage.empty(summary.struck, summary.kinds)],
    }


def _word(summary: Summary) -> str:
    is_good = summary.verdict is Verdict.VALID
    return "AS EXPECTED" if summary.expected and is_good else summary.verdict.name


def _counts(summary: Summary) -> str:
    found = ", ".join(
        f"{summary.verdicts[verdict]:,} {verdict.word}"
        for verdict in reversed(Verdict)
        if summary.verdicts[verdict]
    )
    return f"{summary.runs:,} of {summary.asked:,} seeds: {found or 'none ran'}"


def _void(summary: Summary) -> str:
    tolerated, share = summary.tolerated_void, 100 * summary.void_share
    return (
        f"{summary.verdicts[Verdict.VOID]:,} of {summary.runs:,} runs were void; at most "
        f"{tolerated:,} are tolerated ({share:g} %)"
    )


def _effort(summary: Summary, real_s: float) -> str:
    speed = summary.virtual_s / summary.busy_s if summary.busy_s else 0.0
    return (
        f"  {summary.virtual_s:,.0f} virtual s in {real_s:,.0f} s "
        f"({speed:.1f} virtual s a second and process); "
        f"{counted(summary.operations, 'operation')} succeeded, "
        f"{counted(summary.faults, 'fault')} bit"
    )


def _finding(found: Fingerprint, rows: Sequence[SeedRow]) -> list[str]:
    seeds = sorted(row.seed for row in rows)
    shown = ", ".join(map(str, seeds[:_SHOWN_SEEDS])) + (
        " ..." if len(seeds) > _SHOWN_SEEDS else ""
    )
    first = min(rows, key=lambda row: row.seed)
    lines = [
        f"{first.verdict.word} x {len(rows)}  {found}",
        f"  seeds  {shown}",
        f"  first  {first.sentence}",
        f"  again  {first.command}",
    ]
    return [*lines, f"  kept   {first.directory}"] if first.directory else lines


def _finding_json(found: Fingerprint, rows: Sequence[SeedRow]) -> Mapping[str, Any]:
    first = min(rows, key=lambda row: row.seed)
    return {
        "check": found.check,
        "anomaly": found.anomaly,
        "role": found.role,
        "verdict": first.verdict.word,
        "seeds": sorted(row.seed for row in rows),
        "command": first.command,
        "directory": first.directory,
    }
