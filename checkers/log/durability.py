"""Nothing that was promised is lost, and enough was read at the end to know."""

from collections.abc import Iterator

import numpy as np

from checkers.array_types import Ints
from checkers.check import check, of_logs
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.loss_budget import UNDECIDED
from checkers.history.calls import Outcome
from checkers.log.arrays import NO_OFFSET, NONE, Acks
from checkers.log.findings import Findings, findings_of
from checkers.log.log_witness import WitnessRow, fault, operation
from checkers.verdict import CheckResult, EventValue, Verdict, counted

CHECK = "log-durability"
ALGORITHM = "acknowledged and polled values against final reads, then against all replicas' disks"
_LOST_SHOWN, _FAULTS_SHOWN = 6, 10


@check(
    "log-durability",
    applies=of_logs,
    source="KIP-966, Eligible Leader Replicas",
    rests_on=(Kind.OPERATIONS, Kind.PARTITION_LOGS, Kind.FAULTS),
)
def log_durability(evidence: Evidence) -> CheckResult:
    """Every record that all in-sync replicas acknowledged, or that a consumer was given, is in the
    log at the end.

    lost-write, and vanished: polled, then gone. Needs: ops, spans, faults; if the final reads fell
    short, replicas and replica_spans. Records of acks=0 and acks=1 were promised nothing and are
    counted apart, as are losses that `checkers.evidence.loss_budget` allows.
    """
    findings = evidence.once(findings_of)
    sent = findings.log.sent
    if len(sent) and not (sent.acks == Acks.ALL).any() and not findings.fates.promised.any():
        return CheckResult(
            verdict=Verdict.VALID, message="nothing to judge: no record was sent with acks=all"
        )
    lost = np.flatnonzero(findings.lost_within_budget())
    verdict, message = _verdict(findings, lost)
    return CheckResult(
        verdict=verdict,
        message=message,
        looked_at=int(findings.fates.promised.sum()),
        count=len(lost),
        witness=list(_witness(evidence, findings, lost)) if len(lost) else (),
        algorithm=ALGORITHM,
        facts=_facts(findings, lost),
    )


def _verdict(findings: Findings, lost: Ints) -> tuple[Verdict, str]:
    fates = findings.fates
    acknowledged = int(fates.acknowledged.sum())
    if len(lost):
        return Verdict.INVALID, _accusation(findings, lost)
    undecided = int((fates.promised & fates.undecided).sum())
    if undecided:
        return Verdict.UNKNOWN, (
            f"{undecided:,} of {acknowledged:,} acknowledged records were not read at the end, "
            "and the disks do not show whether they are lost or late"
        )
    lost_undecided = int((fates.lost & ~findings.lost_beyond_budget()).sum())
    if lost_undecided:
        return Verdict.UNKNOWN, (
            f"lost: {counted(lost_undecided, 'acknowledged or polled record')}; whether that is "
            f"allowed cannot be decided: {UNDECIDED}"
        )
    if not fates.promised.any():
        return Verdict.UNKNOWN, "no record was acknowledged by all in-sync replicas"
    allowed = int(fates.lost.sum())
    late = int((fates.promised & fates.late).sum())
    there = int((fates.acknowledged & ~fates.gone).sum())
    message = f"{there:,} of {acknowledged:,} acknowledged records are there at the end"
    message += f", {late:,} of them only on disks" if late else ""
    if allowed:
        written = int((fates.lost & fates.acknowledged).sum())
        polled = f", with {allowed - written:,} that were only polled" if written < allowed else ""
        message += f"; {written:,} are an allowed loss{polled} ({findings.budget.said()})"
    return Verdict.VALID, message


def _accusation(findings: Findings, lost: Ints) -> str:
    fates, log = findings.fates, findings.log
    written = lost[fates.acknowledged[lost]]
    name = "lost-write" if len(written) else "vanished"
    first = written[0] if len(written) else lost[0]
    offset = fates.offset[first]
    place = f"offset {offset} of " if offset != NO_OFFSET else ""
    promised = "acknowledged" if len(written) else "polled"
    more = f", and so are {len(lost) - 1:,} more" if len(lost) > 1 else ""
    return (
        f"{name}: {log.name(int(first))}, {promised} at {place}{log.keys[log.sent.key[first]]}, "
        f"is lost{more} ({findings.budget.said()})"
    )


def _facts(findings: Findings, lost: Ints) -> dict[str, EventValue]:
    fates, sent = findings.fates, findings.log.sent
    outcome = findings.log.ops.outcome[sent.op]
    info, ok = outcome == Outcome.INFO, outcome == Outcome.OK
    found = fates.kept | fates.late | findings.order.read[: len(sent)]
    by_leader, unacknowledged = ok & (sent.acks == Acks.LEADER), ok & (sent.acks == Acks.NONE)
    counts = {
        "sent": np.ones(len(sent), np.bool_),
        "acknowledged": fates.acknowledged,
        "acknowledged_by_leader": by_leader,
        "sent_without_acknowledgement": unacknowledged,
        "late": fates.promised & fates.late,
        "undecided": fates.promised & fates.undecided,
        "info": info,
        "recovered": info & found,
        "not_happened": info & fates.gone & ~found,
        "gone_of_acks_1": by_leader & fates.gone & ~fates.promised,
        "gone_of_acks_0": unacknowledged & fates.gone & ~fates.promised,
    }
    facts: dict[str, EventValue] = {name: int(chosen.sum()) for name, chosen in counts.items()}
    facts["lost"] = len(lost)
    allowed = int(findings.lost_beyond_budget().sum())
    facts["allowed_loss"] = allowed
    facts["lost_undecided"] = int(fates.lost.sum()) - len(lost) - allowed
    facts["budget"] = findings.budget.said()
    return facts


def _witness(evidence: Evidence, findings: Findings, lost: Ints) -> Iterator[WitnessRow]:
    """The first lost records, the processes that polled past them at the end, and the faults
    before."""
    log, fates = findings.log, findings.fates
    for code in lost[:_LOST_SHOWN]:
        promised = "acknowledged" if fates.acknowledged[code] else "polled by others"
        part = f"sent {log.name(int(code))}, {promised}: lost"
        yield operation(evidence.run, int(log.sent.op[code]), part, log.keys[log.sent.key[code]])
    key = int(log.sent.key[lost[0]])
    polled = log.polled
    past = np.flatnonzero(
        log.ops.final[polled.op] & (polled.key == key) & (polled.offset == fates.reached[key])
    )
    if len(past):
        row, part = int(polled.op[past[-1]]), f"read {log.keys[key]} at the end, up to "
        yield operation(evidence.run, row, f"{part}{fates.reached[key]}", log.keys[key])
    since = findings.began_ns[log.sent.op[lost[0]]]
    for row in evidence.tables["faults"].to_pylist()[:_FAULTS_SHOWN]:
        if row["t_healed"] is None or row["t_healed"] > since:
            yield fault(row)


@check("log-final-reads", applies=of_logs, source="Jepsen's Kafka workload")
def log_final_reads(evidence: Evidence) -> CheckResult:
    """After all faults were healed, every partition was read up to its last promised record.

    Otherwise a record lost at the end would go unseen. Needs: ops, spans. Records that are known to
    be lost need not have been reached.
    """
    findings = evidence.once(findings_of)
    end = _ends(findings)
    short = [
        f"{findings.log.keys[key]} {_reached(int(findings.fates.reached[key]))} of {end[key]}"
        for key in np.flatnonzero(end > findings.fates.reached).tolist()
    ]
    keys = int((end != NONE).sum())
    message = f"each of {keys:,} partitions was read to its last record at the end"
    if not keys:
        message = "no partition holds a record that was promised"
    elif short:
        message = f"{len(short):,} of {keys:,} partitions were not read to their end: "
        message += ", ".join(short[:5]) + (" ..." if len(short) > 5 else "")
    return CheckResult(
        verdict=Verdict.UNKNOWN if short or not keys else Verdict.VALID,
        message=message,
        looked_at=keys,
    )


def _reached(offset: int) -> str:
    return "not at all" if offset == NONE else f"to offset {offset}"


def _ends(findings: Findings) -> Ints:
    """By key: the highest offset of a promised record that is not known to be lost; else NONE."""
    fates, sent = findings.fates, findings.log.sent
    there = np.flatnonzero(fates.promised & ~fates.gone)
    end = np.full(len(findings.log.keys), NONE, np.int64)
    np.maximum.at(end, sent.key[there], fates.offset[there])
    return end
