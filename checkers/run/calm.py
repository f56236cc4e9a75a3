"""In calm a cluster is quick: an undisturbed operation takes about a round trip."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.history.asked_by_clients import asked_by_clients
from checkers.history.asked_topics import REASSIGN
from checkers.history.sealed_run import RunInfo
from checkers.quorum.leadership import bounds_of
from checkers.run.recovery import why_in_doubt
from checkers.verdict import CheckResult, EventValue

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
_SHOWN = ("process", "node", "f", "key", "outcome")


@check(
    "calm-operations-are-quick",
    applies=everywhere,
    source="a purgatory or a retry that waits for a time-out instead of an event",
    rests_on=(Kind.FAULTS, Kind.OPERATIONS),
)
def calm_operations_are_quick(evidence: Evidence) -> CheckResult:
    """In calm no operation takes more than 25 times the median.

    Nor does it count below 0.1 s, or four of the slowest messages of a simulated network; nor, in
    real time, where the machine may be busy, below 5 s. Calm begins 2 s after the first success, or
    5 s in real time; and after each cure, or after the first operation if something was done
    before, as long as followers may take to follow again, and Kafka waits by its configuration
    before it gives up a silent peer. It ends with the next fault, or with a process that ended by
    itself. There is none if the cluster did not heal (`recovers-when-healed`), nor on a log that an
    operator moves from broker to broker all the time, with its leader. On a starved machine the
    cause of a slow operation is unknown. Most runs with faults are too short to have any calm, and
    their row says so.
    """
    main = _undisturbed(evidence)
    since, is_calm = _calm(evidence, main)
    calm, since = main.filter(pa.array(is_calm)), since[is_calm]
    t0 = calm["t0"].to_numpy()
    taken = calm["t1"].fill_null(evidence.info.duration_ns).to_numpy() - np.maximum(t0, since)
    limit = _limit_ns(evidence.info, taken[t0 >= since])
    slow = np.flatnonzero(taken > limit) if len(taken) >= ENOUGH else np.empty(0, np.int64)
    found = [_slow(calm, int(at), int(taken[at]), limit) for at in slow]
    real = evidence.info.runtime != "sim"
    starved = why_in_doubt(evidence.info.pressure) if found and real else ""
    return conclude(
        looked_at=len(taken) if len(taken) >= ENOUGH else 0,
        unit="operations in calm",
        violations=[] if starved else found,
        gaps=[f"{found[0].message}; but {starved}"] if starved else [],
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
    least = max(LEAST_S.get(info.runtime, LEAST_REAL_S), slowest_answer_s(info)) * 1e9
    return int(max(least, MULTIPLE * float(np.median(taken)))) if len(taken) else int(least)


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
