"""The checks of logs, one row per family of promises; without sends and polls they have nothing to
judge."""

from collections.abc import Iterable, Mapping

from checkers.check import check, of_logs
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.loss_budget import UNDECIDED
from checkers.log.anomalies import Anomaly, Cases
from checkers.log.findings import Findings, findings_of
from checkers.log.log_witness import of_case
from checkers.log.sweep import ALGORITHM
from checkers.verdict import CheckResult, EventValue, Verdict, counted

OFFSETS = (Anomaly.INCONSISTENT_OFFSETS, Anomaly.DUPLICATE)
POLLS = (
    Anomaly.CORRUPT,
    Anomaly.PHANTOM,
    Anomaly.FUTURE_READ,
    Anomaly.G1A,
    Anomaly.PRECOMMITTED_READ,
    Anomaly.PAST_HIGH_WATERMARK,
    Anomaly.HIGH_WATERMARK_BACK,
    Anomaly.INT_NONMONOTONIC_POLL,
    Anomaly.INT_POLL_SKIP,
    Anomaly.NONMONOTONIC_POLL,
    Anomaly.POLL_SKIP,
    Anomaly.G1B,
    Anomaly.G1C,
    Anomaly.G1C_REALTIME,
    Anomaly.G_SINGLE,
    Anomaly.G_SINGLE_REALTIME,
    Anomaly.G2,
    Anomaly.G2_REALTIME,
)
SENDS = (
    Anomaly.NONMONOTONIC_SEND,
    Anomaly.REALTIME_SEND,
    Anomaly.INT_NONMONOTONIC_SEND,
    Anomaly.G0,
    Anomaly.G0_REALTIME,
)


@check(
    "log-offsets",
    applies=of_logs,
    source="Jepsen's Kafka workload",
    rests_on=(Kind.OPERATIONS, Kind.FAULTS),
)
def log_offsets(evidence: Evidence) -> CheckResult:
    """Each offset of a partition holds one record for ever, and each record has one offset.

    inconsistent-offsets, duplicate. Needs: ops, spans. After an allowed loss offsets are given
    again, which is counted apart. A duplicate is never allowed: our clients send nothing twice,
    except with an idempotent producer, which the broker must notice.
    """
    findings = evidence.once(findings_of)
    places = len(findings.order.entries.slot)
    holds = f"{counted(places, 'sighting')} of records, which agree on where each of them is"
    return _conclude(evidence, findings, OFFSETS, places, holds)


@check(
    "log-polls",
    applies=of_logs,
    source="Jepsen's Kafka workload",
    rests_on=(Kind.OPERATIONS, Kind.FAULTS),
)
def log_polls(evidence: Evidence) -> CheckResult:
    """A consumer is given every record that was sent and committed, once, in the order of the log,
    and no other.

    corrupt, phantom, future-read, G1a, precommitted-read, poll-past-high-watermark,
    nonmonotonic-high-watermark, {int-,}poll-skip, {int-,}nonmonotonic-poll; and of transactions
    G1b, G1c, G-single and G2, as far as the run's `isolation` forbids them. Needs: ops, spans.
    """
    findings = evidence.once(findings_of)
    polled = len(findings.log.polled)
    holds = f"{polled:,} polled records were sent, committed, and polled in order"
    return _conclude(evidence, findings, POLLS, polled, holds)


@check(
    "log-sends",
    applies=of_logs,
    source="Jepsen's Kafka workload",
    rests_on=(Kind.OPERATIONS, Kind.FAULTS),
)
def log_sends(evidence: Evidence) -> CheckResult:
    """A record that is sent later has a higher offset: than the sender's own earlier records, and
    than every record known to be in the log.

    nonmonotonic-send, int-nonmonotonic-send, nonmonotonic-send-realtime; and of transactions G0,
    if the run's `isolation` forbids it. Needs: ops, spans.
    """
    findings = evidence.once(findings_of)
    known = int((findings.order.first_rank[: len(findings.log.sent)] >= 0).sum())
    holds = f"{known:,} sent records stand after whatever was there when they were sent"
    return _conclude(evidence, findings, SENDS, known, holds)


def _conclude(
    evidence: Evidence,
    findings: Findings,
    names: Iterable[Anomaly],
    looked_at: int,
    holds: str,
) -> CheckResult:
    truncated = evidence.run.truncated
    found = [one for one in findings.found if one.anomaly in names]
    accusing = {one.anomaly: one.where(findings.accusing(one)) for one in found}
    facts = dict(_facts(found, accusing))
    suspects = [one for one in accusing.values() if len(one)]
    if truncated and suspects and {one.anomaly for one in suspects} == {Anomaly.PHANTOM}:
        cut = (
            f"records were truncated ({truncated[0]}), and the polled ones may have been among them"
        )
        return _result(Verdict.UNKNOWN, cut, looked_at, facts)
    if suspects:
        first = of_case(evidence.run, findings.log, suspects[0], 0)
        count = sum(map(len, suspects))
        others = ", ".join(f"{len(one):,} {one.anomaly}" for one in suspects)
        return CheckResult(
            verdict=Verdict.INVALID,
            message=f"{suspects[0].anomaly}: {first.message} (in all {others})",
            looked_at=looked_at,
            count=count,
            witness=first.rows,
            algorithm=ALGORITHM,
            facts=facts,
        )
    if not looked_at:
        return _result(Verdict.UNKNOWN, "there is nothing to judge", 0, facts)
    undecided = {one.anomaly: int(findings.undecided(one).sum()) for one in found}
    if sum(undecided.values()):
        told = ", ".join(f"{count:,} {name}" for name, count in undecided.items() if count)
        message = f"{told}, which an allowed loss may explain: {UNDECIDED}"
        return _result(Verdict.UNKNOWN, message, looked_at, facts)
    excused = sum(len(one) for one in found)
    more = f"; {counted(excused, 'exception is', 'exceptions are')} allowed" if excused else ""
    return _result(Verdict.VALID, holds + more, looked_at, facts)


def _facts(
    found: Iterable[Cases], accusing: Mapping[Anomaly, Cases]
) -> Iterable[tuple[str, EventValue]]:
    for one in found:
        accused = len(accusing[one.anomaly])
        yield one.anomaly.value, accused
        if len(one) > accused:
            yield f"allowed_{one.anomaly.value}", len(one) - accused


def _result(
    verdict: Verdict, message: str, looked_at: int, facts: Mapping[str, EventValue]
) -> CheckResult:
    return CheckResult(
        verdict=verdict,
        message=message,
        looked_at=looked_at,
        algorithm=ALGORITHM,
        facts=facts,
    )
