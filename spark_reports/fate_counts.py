"""The fate of all records and writes of one run, counted by fault phase.

A kernel: plain Python and numpy over one sealed run, which Spark maps over many of them. The fates
are those that the checks find, so that no page contradicts a verdict.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Flags
from checkers.evidence.evidence import Evidence
from checkers.history.calls import Outcome
from checkers.history.events import HistoryKind
from checkers.log.anomalies import Anomaly
from checkers.log.findings import Findings, findings_of
from checkers.registers.survival import Fate, fates_of_writes
from spark_reports.phases import phases_of

_Phases = NDArray[np.str_]

RECORDS, WRITES = "records", "register writes"  # contents of logs and of registers
CULPRITS_A_RUN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FateCounts:
    """Counts of one kind (`RECORDS`, `WRITES`) and fault phase.

    An acknowledged one is there, or it is `lost`, `allowed` (lost after more failures than are
    survived), `lost_undecided` (either of these) or `undecided`; `late` ones are only on disks.
    `polled_lost` and `polled_allowed` were not acknowledged, but a consumer got them before they
    were lost. `recovered` and `not_happened` are the fates of those that timed out, `unexpected`
    those that were refused and are there.
    """

    kind: str
    fault_phase: str
    attempted: int = 0
    acknowledged: int = 0
    lost: int = 0
    polled_lost: int = 0
    lost_undecided: int = 0
    allowed: int = 0
    polled_allowed: int = 0
    late: int = 0
    undecided: int = 0
    recovered: int = 0
    not_happened: int = 0
    unexpected: int = 0
    duplicated: int = 0


COUNTS = tuple(
    field.name for field in fields(FateCounts) if field.name not in ("kind", "fault_phase")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """One that was lost, or that is there although it was refused. `t0` in ns since the start."""

    run_id: str
    kind: str
    key: str
    value: str
    outcome: str
    fault_phase: str
    t0: int
    fate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The counts of one run, and its first culprits.

    `problem`: why it could not be counted; it is not a run without losses then.
    """

    run_id: str
    problem: str = ""
    counts: tuple[FateCounts, ...] = ()
    culprits: tuple[Culprit, ...] = ()


def account_of(evidence: Evidence) -> Account:
    """Raises the same as the checks: a run that cannot be counted is not one without losses."""
    phases = phases_of(evidence.tables["ops"], evidence.tables["faults"])
    if evidence.info.history == HistoryKind.LOG:
        return _of_records(evidence, phases)
    return _of_writes(evidence, phases)


def _of_records(evidence: Evidence, phases: _Phases) -> Account:
    findings = evidence.once(findings_of)
    flags = _record_flags(findings)
    own = phases[findings.log.sent.op]
    duplicated = _duplicated(findings, phases)
    counts = tuple(
        FateCounts(
            kind=RECORDS,
            fault_phase=phase,
            duplicated=int((duplicated == phase).sum()),
            **{name: int((chosen & (own == phase)).sum()) for name, chosen in flags.items()},
        )
        for phase in sorted({*own.tolist(), *duplicated.tolist()})
    )
    lost = np.flatnonzero(flags["lost"] | flags["polled_lost"])[:CULPRITS_A_RUN]
    culprits = tuple(_lost(evidence, findings, lost, own))
    return Account(run_id=evidence.info.run_id, counts=counts, culprits=culprits)


def _record_flags(findings: Findings) -> Mapping[str, Flags]:
    """By row of `Sent`; the sums equal the facts of log-durability."""
    fates, sent = findings.fates, findings.log.sent
    outcome = findings.log.ops.outcome[sent.op]
    lost, allowed = findings.lost_within_budget(), findings.lost_beyond_budget()
    told = fates.acknowledged
    found = fates.kept | fates.late | findings.order.read[: len(sent)]
    info = outcome == Outcome.INFO
    return {
        "attempted": np.ones(len(sent), np.bool_),
        "acknowledged": told,
        "lost": lost & told,
        "polled_lost": lost & ~told,
        "lost_undecided": fates.lost & ~lost & ~allowed,
        "allowed": allowed & told,
        "polled_allowed": allowed & ~told,
        "late": fates.promised & fates.late,
        "undecided": fates.promised & fates.undecided,
        "recovered": info & found,
        "not_happened": info & fates.gone & ~found,
        "unexpected": (outcome == Outcome.FAIL) & found,
    }


def _duplicated(findings: Findings, phases: _Phases) -> _Phases:
    """The phase of each record at two offsets: the time of the second acknowledgement."""
    return np.concatenate(
        [phases[:0], *(phases[c.other] for c in findings.found if c.anomaly is Anomaly.DUPLICATE)]
    )


def _lost(
    evidence: Evidence, findings: Findings, rows: NDArray[np.int64], own: _Phases
) -> Iterator[Culprit]:
    log = findings.log
    for row in rows.tolist():
        told = bool(findings.fates.acknowledged[row])
        yield Culprit(
            run_id=evidence.info.run_id,
            kind=RECORDS,
            key=log.keys[log.sent.key[row]],
            value=log.name(row),
            outcome="ok" if told else "polled",
            fault_phase=str(own[row]),
            t0=int(findings.began_ns[log.sent.op[row]]),
            fate="lost",
        )


_COUNTED_AS: Mapping[Fate, Sequence[str]] = {
    Fate.SURVIVED: ("acknowledged",),
    Fate.OVERWRITTEN: ("acknowledged",),
    Fate.LOST: ("acknowledged", "lost"),
    Fate.GONE: ("acknowledged", "allowed"),
    Fate.UNDECIDED: ("acknowledged", "undecided"),
    Fate.RECOVERED: ("recovered",),
    Fate.NOT_HAPPENED: ("not_happened",),
    Fate.UNEXPECTED: ("unexpected",),
    Fate.REFUSED: (),
    Fate.OPEN: (),
}


def _of_writes(evidence: Evidence, phases: _Phases) -> Account:
    by_phase: dict[str, dict[str, int]] = {}
    culprits: list[Culprit] = []
    op_ids = evidence.tables["ops"]["op_id"].to_pylist()
    phase_by_id = dict(zip(op_ids, phases.tolist(), strict=True))
    for row, fate in fates_of_writes(evidence):
        phase = phase_by_id[row["op_id"]]
        mine = by_phase.setdefault(phase, dict.fromkeys(COUNTS, 0))
        for name in ("attempted", *_COUNTED_AS[fate]):
            mine[name] += 1
        if fate in (Fate.LOST, Fate.UNEXPECTED) and len(culprits) < CULPRITS_A_RUN:
            culprits.append(
                Culprit(
                    run_id=evidence.info.run_id,
                    kind=WRITES,
                    key=str(row["key"]),
                    value=str(row["value"]),
                    outcome=str(row["outcome"]),
                    fault_phase=phase,
                    t0=int(row["t0"] or 0),
                    fate=str(fate),
                )
            )
    counts = (
        FateCounts(kind=WRITES, fault_phase=phase, **mine)
        for phase, mine in sorted(by_phase.items())
    )
    return Account(run_id=evidence.info.run_id, counts=tuple(counts), culprits=tuple(culprits))
