"""P18, for fenced brokers: by the brokers' own traces of their lives (b.life), in times of calm."""

from collections.abc import Iterator

from checkers.check import check
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NodeEvent, Process, gaps, witness
from checkers.evidence.planned import Kind
from checkers.partitions.traced_replicas import told
from checkers.quorum.leadership import SECOND, Calm, bounds_of, calms
from checkers.quorum.moments import processes_of
from checkers.verdict import CheckResult, EventValue

# Beyond an election: a broker asks again, replays what it missed, and sends some heartbeats.
_LET_IN_S = 8.0
_UNREGISTERED = -1
_LEAVING = ("pending-controlled-shutdown", "shutting-down", "vouching")


@check(
    "P18-brokers-are-let-in",
    applies=told,
    source="KIP-631, KIP-966 liveness",
    rests_on=(Kind.FAULTS, Kind.TRACES),
)
def brokers_are_let_in(evidence: Evidence) -> CheckResult:
    """P18: A broker that runs while nothing is wrong is registered and unfenced within a bounded
    time.

    By the controllers' answers to it. The bound is that of an election, and 8 s for the broker.
    (KIP-631, KIP-966 liveness)
    """
    within_s = bounds_of(evidence).leader_within_s + _LET_IN_S
    limit = int(within_s * SECOND)
    quiet = [calm for calm in calms(evidence, since=0) if calm.fault is None]
    looked_at, violations = 0, []
    for process in evidence.once(processes_of):
        for by, last in _ends_of_waits(process, quiet, limit):
            looked_at += 1
            if last.more["fenced"]:
                text = f"node {last.node} ran for {within_s:g} s in which nothing was wrong, but "
                text += (
                    "was not registered"
                    if last.epoch == _UNREGISTERED
                    else "was fenced at their end"
                )
                at: dict[str, EventValue] = {"what": "nothing was wrong until then", "t_ns": by}
                violations.append(Violation(text, [witness(last, "said last"), at]))
    return conclude(
        looked_at=looked_at,
        unit="brokers in times of calm",
        violations=violations,
        needs=NEED,
        holds=f"each was unfenced within {within_s:g} s",
        algorithm="the last b.life of each process once it had been undisturbed for long enough",
        gaps=gaps(evidence.lives),
        nothing=f"no broker was undisturbed for {within_s:g} s" if evidence.lives else "",
    )


def _ends_of_waits(
    process: Process, quiet: list[Calm], limit: int
) -> Iterator[tuple[int, NodeEvent]]:
    """When a process had been undisturbed for long enough, and its last line by then."""
    lines = process.events("b.life")
    leaves = next((line.t for line in lines if line.state in _LEAVING), process.last_ns)
    for calm in quiet:
        by = max(calm.begin, process.first_ns) + limit
        before = [line for line in lines if line.t <= by]
        if before and by < min(calm.end, leaves):
            yield by, before[-1]
