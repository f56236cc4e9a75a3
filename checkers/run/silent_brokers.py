"""P18, for silent and for fenced brokers: the fault log, times of calm, registrations in the
metadata log, and the brokers' traces."""

from collections.abc import Iterator

from checkers.check import check
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.lives import NEED, NodeEvent, Process, gaps, witness
from checkers.evidence.restarts import Restart, restarts
from checkers.evidence.starvation import Suspicion, sort_out
from checkers.partitions.traced_replicas import METADATA, traces_replicas
from checkers.quorum.leadership import LATENCY_S, SECOND, Calm, bounds_of, calms, processes_of
from checkers.verdict import CheckResult, EventValue

# P18, for fenced brokers: by the brokers' own traces of their lives (b.life), in times of calm.


# More than an election: a broker asks again, replays what it missed, and sends some heartbeats.
_LET_IN_S = 8.0
_UNREGISTERED = -1
_LEAVING = ("pending-controlled-shutdown", "shutting-down", "vouching")


@check(
    "P18-brokers-are-let-in",
    applies=traces_replicas,
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
    looked_at, found = 0, list[Suspicion]()
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
                violation = Violation(text, [witness(last, "said last"), at])
                found.append(Suspicion(violation, by - limit, by))
    sorted_out = sort_out(evidence.info, found)
    return conclude(
        looked_at=looked_at,
        unit="brokers in times of calm",
        violations=sorted_out.accused,
        starved=sorted_out.starved,
        needs=NEED,
        holds=f"each was unfenced within {within_s:g} s",
        algorithm="the last b.life of each process once it had been undisturbed for long enough",
        gaps=[*sorted_out.unmeasured, *gaps(evidence.lives)],
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


_SESSION = "broker.session.timeout.ms"
_KAFKAS_OWN_MS = 9000


@check(
    "P18-silent-brokers-are-fenced",
    applies=traces_replicas,
    source="KIP-631, KAFKA-18138",
    rests_on=(Kind.METADATA_LOGS, Kind.FAULTS, Kind.TRACES),
)
def silent_brokers_are_fenced(evidence: Evidence) -> CheckResult:
    """P18: A broker that is off while a controller is active is fenced when its session is over.

    Whichever node leads the quorum meanwhile. By the broker's state in the metadata log when its
    next process registers. The bound is an election and a session during which a majority of the
    controllers was up and connected. (KIP-631, KAFKA-18138)
    """
    unit = "brokers that were off for longer than a session"
    if evidence.timeline is None:
        return unread(unit, METADATA)
    within_s = bounds_of(evidence).leader_within_s + session_s(evidence) + LATENCY_S
    times = list(calms(evidence, since=0))
    looked_at, found = 0, list[Suspicion]()
    for restart in _off_for(evidence, times, int(within_s * SECOND)):
        looked_at += 1
        before = restart.registration.before
        if before is not None and not before.fenced:
            text = f"node {before.node} was off for more than {within_s:g} s in which a majority "
            text += "of the controllers was up, but it was not fenced when it registered again"
            at: dict[str, EventValue] = {
                "what": "registered",
                "node": before.node,
                "offset": restart.registration.offset,
                "epoch": restart.registration.after.epoch,
            }
            ended = restart.fault.shown("ended the process before", restart.fault.t_start)
            off = (restart.fault.begin_ns, restart.fault.end_ns)
            found.append(Suspicion(Violation(text, [ended, at]), *off))
    sorted_out = sort_out(evidence.info, found)
    return conclude(
        looked_at=looked_at,
        unit=unit,
        violations=sorted_out.accused,
        starved=sorted_out.starved,
        gaps=sorted_out.unmeasured,
        needs=METADATA,
        holds=f"each was fenced within {within_s:g} s",
        algorithm="registrations in the metadata log, matched with the fault log by their number",
        nothing=f"no broker was off for {within_s:g} s of calm",
    )


def session_s(evidence: Evidence) -> float:
    """For how long a broker may be silent."""
    return int(evidence.info.settings.get(_SESSION, _KAFKAS_OWN_MS)) / 1000


def _off_for(evidence: Evidence, times: list[Calm], limit: int) -> Iterator[Restart]:
    """Processes that followed such a silence."""
    for restart in evidence.once(restarts):
        fault = restart.fault
        spans = (min(it.end, fault.end_ns) - max(it.begin, fault.begin_ns) for it in times)
        if max(spans, default=0) >= limit:
            yield restart
