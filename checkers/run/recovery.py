"""Recovery and speed: a healed cluster goes on, else a node or the machine is to blame; changes of
voters end (V11); in calm, operations are quick."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.check import check, everywhere
from checkers.conclusion import STARVED, Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact, Kind
from checkers.evidence.starvation import NOT_MEASURED, Suspicion, in_words, sort_out, why_in_doubt
from checkers.history.asked import REASSIGN, asked_by_clients
from checkers.history.events import is_kafkas
from checkers.history.sealed_run import RunInfo
from checkers.history.tables import VOTER_CHANGES
from checkers.quorum.leadership import SECOND, bounds_of
from checkers.verdict import WITNESS_LIMIT, CheckResult, EventValue, Verdict, counted


@check("recovers-when-healed", applies=everywhere, source="SIM", rests_on=(Kind.FAULTS,))
def recovers_when_healed(evidence: Evidence) -> CheckResult:
    """Once everything is healed and all processes run, the cluster is whole and writes are
    acknowledged within a bounded time, unless the machine had no time for the nodes.

    Before that, undisturbed nodes elect a leader if they are a majority of a quorum, and one of
    them leads each partition if they have members of its ISR, or of its ELR if the ISR is empty.
    Figures show whether the machine had time: how late the harness' own timers were, and for how
    long processes waited for CPU, disk and memory; if it had none, the run is an error. Nothing
    excuses a node that ends by itself whenever it is started. In a simulated run time is virtual,
    and no machine is slow. If no majority of the voters' disks is left, nothing may come about any
    more, which `stops-without-a-majority` judges. Needs: run.json.
    """
    info = evidence.info
    lost = evidence.lost_majority
    if info.stuck and lost is not None and not info.unasked_ends:
        message = f"{info.stuck}; nor may it be: {lost}, and no majority is left"
        return CheckResult(verdict=Verdict.VALID, message=message, looked_at=1)
    if info.stuck:
        return _stuck(info)
    if not info.finished:
        message = "the run broke off before the cluster could be whole again"
        return CheckResult(verdict=Verdict.UNKNOWN, message=message)
    message = "the cluster was whole again in time, and writes were acknowledged"
    return CheckResult(verdict=Verdict.VALID, message=message, looked_at=1)


def _stuck(info: RunInfo) -> CheckResult:
    doubt = "" if info.stuck_for_sure else why_in_doubt(info.pressure)
    if doubt:
        is_starved = doubt != NOT_MEASURED
        blame = "no node is accused" if is_starved else "it cannot be decided which is to blame"
        return CheckResult(
            verdict=Verdict.ERROR if is_starved else Verdict.UNKNOWN,
            message=f"{info.stuck}; but {doubt}: {blame}",
            looked_at=1,
            facts={STARVED: 1} if is_starved else {},
        )
    told = (
        "" if info.stuck_for_sure else f"; the machine had time for it: {in_words(info.pressure)}"
    )
    return CheckResult(
        verdict=Verdict.INVALID,
        message=f"{info.stuck}{told}",
        looked_at=1,
        count=1,
        witness=tuple(_said_last(info))[:WITNESS_LIMIT],
    )


def _said_last(info: RunInfo) -> Iterator[Mapping[str, EventValue]]:
    for node, lines in info.last_words.items():
        for line in lines or ("it said nothing",):
            yield {"what": f"node {node} said last: {line}", "node": int(node)}


# Changes of the voters end, and the quorum goes on after them: V11.


_VOTERS_AFTER = "voters_after"  # the suffix of a fact that only changes of voters have
_Row = Mapping[str, Any]


@check(
    "V11-changes-come-to-an-end",
    applies=everywhere,
    source="KR ReconfigurationNotStuck; KAFKA-17608",
    rests_on=(Kind.OPERATIONS, Kind.FAULTS),
)
def changes_come_to_an_end(evidence: Evidence) -> CheckResult:
    """V11: A leader answers each request to change the voters; and once the change is done, the
    quorum acknowledges an operation within the time of an election.

    If nothing else is done to the cluster meanwhile, and the machine had time for the nodes then.
    From the operations of operators and clients. (KR ReconfigurationNotStuck)
    """
    rows = evidence.tables["ops"]
    asked = rows.filter(pc.is_in(rows["f"], pa.array(VOTER_CHANGES))).to_pylist()
    undisturbed = [row for row in asked if not _is_disturbed(evidence, row, _end(evidence, row))]
    found = [
        Suspicion(_unanswered(row), int(row["t0"]), _end(evidence, row))
        for row in undisturbed
        if _lacks_answer(row)
    ]
    found += _standstills(evidence, rows, asked)
    told = sort_out(evidence.info, found)
    return conclude(
        looked_at=len(undisturbed),
        unit="changes of voters, with nothing else done to the cluster",
        violations=told.accused,
        starved=told.starved,
        gaps=told.unmeasured,
        needs="operations",
        holds="each was answered, and the quorum went on",
        algorithm="answers of the leader, and the next acknowledgement after each",
        nothing="no change was asked for while nothing else was done",
    )


def _end(evidence: Evidence, row: _Row) -> int:
    """When it was answered, or by when it should have been: later events are no excuse."""
    within_ns = int(bounds_of(evidence).leader_within_s * SECOND)
    due = min(evidence.info.duration_ns, int(row["t0"]) + within_ns)
    return due if row["t1"] is None else int(row["t1"])


def _is_disturbed(evidence: Evidence, row: _Row, until: int) -> bool:
    """Whether anything is wrong from the request on, except the fault that it is itself a part
    of."""
    return any(
        fault.may_harm and fault.overlaps(row["t0"], until) and not _is_part_of(fault, row)
        for fault in evidence.faults
    )


def _is_part_of(fault: FaultFact, row: _Row) -> bool:
    """Whether the change was requested to inject the fault, or to cure it. A fault that ends a
    process, or changes no voters, requests none: an operator may be waiting for a leader's answer
    at the moment when it is killed."""
    if not any(name.endswith(_VOTERS_AFTER) for name in fault.facts):
        return False
    asked = int(row["t0"])
    injects = not fault.ends_process and fault.t_start <= asked <= fault.begin_ns
    return injects or fault.end_ns <= asked <= fault.over_ns


def _lacks_answer(row: _Row) -> bool:
    return not is_kafkas(row["error"]) and str(row["outcome"]) == "info"


def _unanswered(row: _Row) -> Violation:
    text = f"node {row['node']} led, but never answered the request for {row['f']} of {row['key']}"
    return Violation(f"{text}: {row['error'] or 'no answer'}", [_shown(row, "asked for")])


def _standstills(evidence: Evidence, rows: pa.Table, asked: list[_Row]) -> Iterator[Suspicion]:
    """Changes after which nothing is acknowledged any more."""
    within_s = bounds_of(evidence).leader_within_s
    done = rows.filter(pc.equal(rows["outcome"], "ok"))
    began, ended = done["t0"].to_numpy(), done["t1"].to_numpy()
    tried = rows["t0"].to_numpy()
    for row in (row for row in asked if row["outcome"] == "ok"):
        since, until = int(row["t1"]), int(row["t1"]) + int(within_s * SECOND)
        is_over = until > evidence.info.duration_ns or _is_disturbed(evidence, row, until)
        if is_over or not ((since < tried) & (tried < until)).any():
            continue
        if not ((since <= began) & (ended <= until)).any():
            text = f"{row['f']} of {row['key']} was acknowledged, but nothing that was asked for "
            text += f"in the {within_s:g} s after it"
            yield Suspicion(Violation(text, [_shown(row, "acknowledged")]), since, until)


def _shown(row: _Row, what: str) -> dict[str, EventValue]:
    shown = {name: row[name] for name in ("f", "key", "outcome", "node", "process")}
    return {"what": what, "t_ns": row["t0"], **shown}


# In calm a cluster is quick: an undisturbed operation takes about a round trip.


MULTIPLE = 25  # of the median: a dozen simulated runs had 10 at most
LEAST_S = {"sim": 0.1}  # below it nothing is slow
LEAST_REAL_S = 5.0  # where a machine may be busy for a while
ENOUGH = 50
# How long Kafka waits by default before it gives up a silent peer, or removes a replica from the
# ISR: controller.socket.timeout.ms, replica.socket.timeout.ms, replica.lag.time.max.ms.
STOCK_WAIT_S = 30.0
WAITS = ("controller.socket.timeout.ms", "replica.socket.timeout.ms", "replica.lag.time.max.ms")
# After the first success, if nothing was done to the cluster before: there are leaders then, and
# the rest settles. A follower that asks before its leader knows of its role waits for
# replica.fetch.backoff.ms, 1 s, until it asks again, and is answered within 0.5 s.
BEGINS_S = {"sim": 2.0}
BEGINS_REAL_S = 5.0
HOPS = 4  # client, leader, follower, leader, client: each message may be a slow one
FLUSHES = 2  # the one that is under way as a record is appended, and the record's own
_SHOWN = ("process", "node", "f", "key", "outcome")


@check(
    "calm-operations-are-quick",
    applies=everywhere,
    source="a purgatory or a retry that waits for a time-out instead of an event",
    rests_on=(Kind.FAULTS, Kind.OPERATIONS),
)
def calm_operations_are_quick(evidence: Evidence) -> CheckResult:
    """In calm no operation takes more than 25 times the median.

    Nor does it count below 0.1 s, or four of the slowest messages of a simulated network and two of
    the latest flushes of its disks; nor, in real time, where the machine may be busy, below 5 s.
    Calm begins 2 s after the first success, or 5 s in real time; and after each cure, or after the
    first operation if something was done before, as long as followers may take to follow again, and
    Kafka waits by its configuration before it gives up a silent peer. It ends with the next fault,
    or with a process that ended by itself. There is none if the cluster did not heal (`recovers-
    when-healed`), nor on a log that an operator moves from broker to broker all the time, with its
    leader. If the machine was starved during a slow operation, or just before it, the run is an
    error. Most runs with faults are too short to have any calm, and their row says so.
    """
    main = _undisturbed(evidence)
    since, is_calm = _calm(evidence, main)
    calm, since = main.filter(pa.array(is_calm)), since[is_calm]
    t0 = calm["t0"].to_numpy()
    taken = calm["t1"].fill_null(evidence.info.duration_ns).to_numpy() - np.maximum(t0, since)
    limit = _limit_ns(evidence.info, taken[t0 >= since])
    slow = np.flatnonzero(taken > limit) if len(taken) >= ENOUGH else np.empty(0, np.int64)
    found = [_slow(calm, int(at), int(taken[at]), limit) for at in slow]
    ends = t0[slow] + taken[slow] + np.maximum(since[slow] - t0[slow], 0)
    spans = zip(found, t0[slow].tolist(), ends.tolist(), strict=True)
    told = sort_out(evidence.info, [Suspicion(*span) for span in spans])
    return conclude(
        looked_at=len(taken) if len(taken) >= ENOUGH else 0,
        unit="operations in calm",
        violations=told.accused,
        starved=told.starved,
        gaps=told.unmeasured,
        needs="operations",
        holds=f"none took longer than {limit / 1e9:.3g} s",
        algorithm="latencies away from faults, against a multiple of their median",
        nothing=f"{counted(len(taken), 'operation')} in calm, {ENOUGH} are enough; it begins "
        f"{_settles_ns(evidence) / 1e9:.3g} s after each cure",
    )


def _undisturbed(evidence: Evidence) -> pa.Table:
    """Operations of the main phase, on logs that stay where they are."""
    ops = asked_by_clients(evidence.tables["ops"])
    main = ops.filter(pc.equal(ops["phase"], "main"))
    moved = pc.unique(main.filter(pc.equal(main["f"], REASSIGN))["key"])
    return main.filter(pc.invert(pc.is_in(main["key"], moved)))


def _calm(evidence: Evidence, main: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each operation, since when it was calm as it ended, and whether it was calm then: an
    operation that was invoked before has had all that time since."""
    t1 = main["t1"].fill_null(evidence.info.duration_ns).to_numpy()
    settles = _settles_ns(evidence)
    since = np.full(len(t1), _begins_ns(evidence, main), np.int64)
    for fault in evidence.faults:
        calm_again = min(fault.over_ns, evidence.info.duration_ns) + settles
        since = np.where(fault.t_start <= t1, np.maximum(since, calm_again), since)
    calm = t1 > since
    for end in evidence.info.unasked_ends:
        calm &= t1 < int(end["t_ns"])
    if evidence.info.stuck:
        calm &= t1 < max((fault.t_start for fault in evidence.faults), default=0)
    return since, calm


def _begins_ns(evidence: Evidence, main: pa.Table) -> int:
    info = evidence.info
    succeeded = pc.min(main.filter(pc.equal(main["outcome"], "ok"))["t1"]).as_py()
    if succeeded is None:
        return info.duration_ns
    if any(fault.t_start <= succeeded for fault in evidence.faults):
        return int(pc.min(main["t0"]).as_py()) + _settles_ns(evidence)
    return int(succeeded + BEGINS_S.get(info.runtime, BEGINS_REAL_S) * 1e9)


def _settles_ns(evidence: Evidence) -> int:
    return int(max(bounds_of(evidence).leader_within_s, _waits_s(evidence.info)) * 1e9)


def _waits_s(info: RunInfo) -> float:
    """The longest of a broker's configured waits; 0 if there is none."""
    told = [int(info.settings[name]) / 1000 for name in WAITS if name in info.settings]
    stock = info.settings.get("defaults") == "stock"
    return max([*told, STOCK_WAIT_S if stock else 0.0])


def _limit_ns(info: RunInfo, taken: NDArray[np.int64]) -> int:
    slowest_s = slowest_answer_s(info) + FLUSHES * _latest_flush_s(info)
    least = max(LEAST_S.get(info.runtime, LEAST_REAL_S), slowest_s) * 1e9
    return int(max(least, MULTIPLE * float(np.median(taken)))) if len(taken) else int(least)


def _latest_flush_s(info: RunInfo) -> float:
    """By the settings of simulated disks; in real time it is not bounded."""
    if info.runtime != "sim" or not info.conditions.get("late_flushes", 0):
        return 0.0
    return info.conditions.get("late_most_us", 0) / 1e6


def slowest_answer_s(info: RunInfo) -> float:
    """The time for a request to a leader, which asks others."""
    return HOPS * _slowest_message_s(info)


def _slowest_message_s(info: RunInfo) -> float:
    """By the settings of a simulated network; in real time it is not bounded."""
    if info.runtime != "sim":
        return 0.0
    told = info.conditions
    return told.get("latency_most_us", 0) * told.get("spike_factor", 0) / 1e6


def _slow(calm: pa.Table, at: int, taken: int, limit: int) -> Violation:
    row = calm.slice(at, 1).to_pylist()[0]
    text = f"a {row['f']} of process {row['process']} took {taken / 1e9:.3g} s, though nothing was "
    text += f"disturbed, and others take a fraction of {limit / 1e9:.3g} s"
    shown: dict[str, EventValue] = {name: row[name] for name in _SHOWN}
    return Violation(text, [{"what": "slow", "t_ns": row["t0"], "t1_ns": row["t1"], **shown}])
