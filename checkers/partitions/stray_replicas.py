"""P18: replicas that were taken from a broker are off its disk; a running broker is not fenced."""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from checkers.check import check
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact, Kind
from checkers.evidence.image import Broker, Change
from checkers.evidence.lives import Process, gaps
from checkers.history.sealed_run import RunInfo
from checkers.partitions.leaders import shown
from checkers.partitions.replica_agreement import ReplicaRow
from checkers.partitions.traced_replicas import METADATA, histories, traces_replicas
from checkers.verdict import CheckResult, EventValue

_LEAVING = ("pending-controlled-shutdown", "shutting-down", "vouching")


@check(
    "no-stray-replicas",
    applies=traces_replicas,
    source="KAFKA-14616; KIP-516",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_LOGS, Kind.TRACES),
)
def no_stray_replicas(evidence: Evidence) -> CheckResult:
    """A broker keeps no replica of a topic that was deleted, or of a partition that was moved to
    other brokers.

    Also if that happened while it was off. Judged are brokers that ran, had replayed it, and were
    stopped in good order later. (KAFKA-14616)
    """
    found, unit = evidence.timeline, "stored replicas"
    if found is None:
        return unread(unit, METADATA)
    newest = {at: changes[-1] for at, changes in histories(found).items()}
    stored = evidence.tables["replicas"].to_pylist()
    last = {life.node: life.processes[-1] for life in evidence.lives if life.processes}
    violations = []
    for row in stored:
        change = newest.get((row["topic_id"], int(row["key"].rpartition("-")[2])))
        if change is None or (change.after is not None and row["node"] in change.after.replicas):
            continue
        if row["node"] in last and _has_followed(last[row["node"]], change.offset):
            violations.append(_stray(row, change))
    return conclude(
        looked_at=len(stored),
        unit=unit,
        violations=violations,
        needs=METADATA,
        holds="each belongs to its broker, or did until just before the end",
        algorithm="replicas on disks against the metadata log, as far as c.record has it",
        gaps=gaps(evidence.lives),
        nothing="no replica is on any disk",
    )


def _has_followed(process: Process, offset: int) -> bool:
    """Whether it ran, and had replayed the record there before it began to leave."""
    is_running, replayed = False, -1
    for event in process.events("b.life", "c.record"):
        if event.event == "c.record":
            replayed = event.offset
        elif event.state in _LEAVING:
            return is_running and replayed >= offset
        else:
            is_running = is_running or event.state == "running"
    return False


def _stray(row: ReplicaRow, change: Change) -> Violation:
    what = "was deleted" if change.after is None else "belongs to other brokers"
    text = f"{row['key']}: node {row['node']} keeps a replica of a partition that {what}, as it "
    text += f"replayed at offset {change.offset}"
    at: dict[str, EventValue] = {
        "what": "on its disk",
        "node": row["node"],
        "key": row["key"],
        "log_end": row["log_end"],
    }
    return Violation(text, [shown(change, "committed"), at])


# P18, for running brokers: none is fenced because their controller was paused.


_SECOND = 1_000_000_000
_WINDOW_S = 15  # before it: anything that happened in it may be the reason
_HANGS_UP_S = 1.45  # a broker that waits longer for an answer looks for another controller
_Lives = dict[int, list[tuple[int, bool]]]  # by broker: from when on it leaves, or is back


class _Fenced(NamedTuple):
    broker: Broker
    offset: int
    at_ns: int  # when the first node had replayed it


def _simulated(info: RunInfo) -> bool:
    """Applies to brokers in virtual time, where no machine is late."""
    return traces_replicas(info) and info.is_simulated


@check(
    "P18-heard-brokers-are-kept",
    applies=_simulated,
    source="KIP-631; KAFKA-15019",
    rests_on=(Kind.METADATA_LOGS, Kind.FAULTS, Kind.TRACES),
)
def live_brokers_stay_unfenced(evidence: Evidence) -> CheckResult:
    """P18: A broker that was hit by no fault is not fenced, also after its controller was paused
    for less than 1.45 s.

    Its heartbeats wait in the socket, and are handled before silent brokers are looked for. Fencing
    breaks the promise if no other fault was under way in the last 15 s. (KIP-631, KAFKA-15019)
    """
    unit = "brokers that were fenced"
    if evidence.timeline is None:
        return unread(unit, METADATA)
    fenced = list(_fenced(evidence))
    lives = _lives(evidence)
    wrong = [one for one in fenced if not _has_reason(evidence, one, lives)]
    return conclude(
        looked_at=len(fenced),
        unit=unit,
        violations=[_violation(one) for one in wrong],
        needs=METADATA,
        holds="each had a reason",
        algorithm="fencing in the metadata log, by when it was replayed first, against the faults",
        gaps=gaps(evidence.lives),
        nothing="no broker was fenced" if evidence.lives else "",
    )


def _fenced(evidence: Evidence) -> Iterator[_Fenced]:
    """Brokers that become fenced by another record than their registration."""
    found = evidence.timeline
    assert found is not None
    times = _replayed(evidence)
    offsets = sorted(times)
    before: dict[int, Broker] = {}
    for batch in found.batches:
        for node, broker in batch.brokers.items():
            known = before.get(node)
            was_up = known is not None and known.epoch == broker.epoch and not known.fenced
            following = bisect_left(offsets, batch.base)
            if was_up and broker.fenced and following < len(offsets):
                yield _Fenced(broker, batch.base, times[offsets[following]])
        before = dict(batch.brokers)


def _replayed(evidence: Evidence) -> dict[int, int]:
    """When the first node had replayed each record, by offset."""
    times: dict[int, int] = {}
    for life in evidence.lives:
        for process in life.processes:
            for event in process.events("c.record"):
                times[event.offset] = min(event.t, times.get(event.offset, event.t))
    return times


def _lives(evidence: Evidence) -> _Lives:
    lives: _Lives = {}
    for life in evidence.lives:
        for process in life.processes:
            for event in process.events("b.life"):
                marks = lives.setdefault(event.node, [])
                marks.append((event.t, event.state in _LEAVING))
    return {node: sorted(marks) for node, marks in lives.items()}


def _has_reason(evidence: Evidence, one: _Fenced, lives: _Lives) -> bool:
    leaves = [is_leaving for t, is_leaving in lives.get(one.broker.node, ()) if t <= one.at_ns]
    is_over = one.at_ns > evidence.info.duration_ns  # the run is over, and nodes are stopped
    if one.broker.stopping or is_over or (leaves and leaves[-1]):
        return True
    since = one.at_ns - _WINDOW_S * _SECOND
    near = [f for f in evidence.faults if f.t_start <= one.at_ns and f.over_ns >= since]
    return not all(_is_short_halt(evidence, fault) for fault in near)


def _is_short_halt(evidence: Evidence, fault: FaultFact) -> bool:
    """A pause of controllers alone, which lose nothing by it, not even a connection."""
    roles = evidence.info.roles
    are_controllers = all(roles.get(str(node)) == "controller" for node in fault.nodes)
    is_pause = fault.halts and not fault.ends_process and not fault.links
    return is_pause and are_controllers and fault.over_ns - fault.t_start <= _HANGS_UP_S * _SECOND


def _violation(one: _Fenced) -> Violation:
    text = f"node {one.broker.node} was fenced at offset {one.offset}, but no fault had hit "
    text += "it: it had sent heartbeats all the while"
    at: dict[str, EventValue] = {
        "what": "fenced",
        "node": one.broker.node,
        "offset": one.offset,
        "epoch": one.broker.epoch,
        "t_ns": one.at_ns,
    }
    return Violation(text, [at])
