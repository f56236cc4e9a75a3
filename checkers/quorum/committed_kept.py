"""Voters keep committed records: one that a disk lacks was lost, or never reached it.

A majority has all committed records, and survival is judged by that; this is about each voter. How
far one had the log is known, without its trace, from

* leaders' answers about it (DescribeQuorum): it was durable up to there;
* acknowledgements while so many voters were off, or cut off from the leader, that all others
  were needed;
* the snapshots on its own disk;
* the time at which missing records were written, if nothing kept it from following for long enough.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, several_nodes, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact, Kind
from checkers.evidence.left_disks import is_damaged_by_fault, may_have_lost, went_on
from checkers.evidence.lives import NEED, NONE, Process, gaps, witness
from checkers.evidence.voter_history import ReplicaKey
from checkers.history.tables import NO_DIRECTORY
from checkers.quorum.elections import leader_changes
from checkers.quorum.leadership import SECOND, Calm, bounds_of, calms
from checkers.registers.stored_values import stored_records
from checkers.verdict import CheckResult, EventValue

_MS = 1_000_000
_REAL_S = 20.0  # additional time for a voter to follow, in real time, as a machine may be busy
_LATE_NS = 2 * SECOND  # for the last records to reach all
_STORED = pa.schema(
    [("key", pa.string()), ("value", pa.string()), ("offset", pa.int64()), ("epoch", pa.int64())]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Had:
    """A voter had the log up to `end`, all of it committed, and the reason why that is known."""

    node: int
    end: int
    why: str
    shown: Sequence[dict[str, EventValue]]


@check(
    "voters-keep-the-committed",
    applies=several_nodes,
    source="Raft thesis 3.8: persisted before it is acknowledged; KIP-595",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS, Kind.OPERATIONS, Kind.QUORUM_PROBES),
)
def voters_keep_the_committed(evidence: Evidence) -> CheckResult:
    """Each voter's disk holds all committed records that the voter had or must have had.

    Needs: disks, log_batches, log_records, snapshot_records, ops, probes.

    It had the records that a leader said it has, and those that were acknowledged when no majority
    was possible without it. It must have had those that were committed before the end of a time in
    which it was up, connected and undisturbed for as long as a follower may take to follow again. A
    leader of a target without traces may have been counted before it had synced, and lose those
    records with its power. Lost disks, and disks with synced bytes that a fault damages, are not
    judged.
    """
    ends = {row["node"]: row["log_end"] for row in evidence.tables["disks"].to_pylist()}
    committed = evidence.committed_log.end if evidence.committed_log is not None else 0
    most: dict[int, _Had] = {}
    for had in (
        *_told(evidence, committed),
        *_needed(evidence),
        *_snapshots(evidence),
        *_calm(evidence, committed),
    ):
        if had.end > 0 and _may_be_judged(evidence, had.node, ends):
            known = most.get(had.node, had)
            most[had.node] = had if had.end > known.end else known
    violations = [
        _lacks(had, ends[node]) for node, had in sorted(most.items()) if ends[node] < had.end
    ]
    return conclude(
        looked_at=len(most),
        unit="voters that had committed records",
        violations=violations,
        needs="the disks of a majority of the voters",
        holds="each still has them",
        algorithm="the lowest possible log end of each voter, against that on its disk",
        nothing=_nothing(evidence),
    )


def _may_be_judged(evidence: Evidence, node: int, ends: Mapping[int, int | None]) -> bool:
    lost = any(fault.wipes and node in fault.nodes for fault in evidence.faults)
    return ends.get(node) is not None and not lost and not is_damaged_by_fault(evidence, node)


def _nothing(evidence: Evidence) -> str:
    if evidence.committed_log is None or not evidence.committed_log.end:
        return ""
    return "nothing shows how far any voter had the log"


def _lacks(had: _Had, end: int) -> Violation:
    text = (
        f"node {had.node} had the log up to {had.end}, all of it committed, but that on its disk "
    )
    text += f"ends at {end}: {had.why}"
    return Violation(text, had.shown)


# --- by the answers of leaders ---


def _told(evidence: Evidence, committed: int) -> Iterator[_Had]:
    """In a leader's answer, a voter's end is its fetch offset, and durable."""
    probes = evidence.tables["probes"]
    committed = max(committed, pc.max(probes["high_watermark"]).as_py() or 0)
    for row in probes.filter(pc.equal(probes["kind"], "quorum")).to_pylist():
        for replica, end in json.loads(row["detail"] or "{}").get("ends", {}).items():
            node, _, directory = replica.partition(":")
            key = ReplicaKey(int(node), directory)
            mine = evidence.disks.get(key.node)
            same = mine is not None and NO_DIRECTORY in (key.directory, mine.directory)
            if mine != key and not same:
                continue
            if key.node == row["leader"] and _may_be_unsynced(evidence, key.node):
                continue
            why = f"node {row['leader']}, leader of epoch {row['epoch']}, said so"
            shown: dict[str, EventValue] = {
                "what": "answer to DescribeQuorum",
                "t_ns": row["t0"],
                "node": row["node"],
                "leader": row["leader"],
                "epoch": row["epoch"],
            }
            yield _Had(node=key.node, end=min(end, committed), why=why, shown=[shown])


def _may_be_unsynced(evidence: Evidence, leader: int) -> bool:
    """KafkaRaftClient.flushLeaderLog counts a leader's records before they are flushed."""
    return Kind.TRACES not in evidence.info.gives and may_have_lost(evidence, leader)


# --- by commits that needed the voter ---


def _needed(evidence: Evidence) -> Iterator[_Had]:
    """Voters that were needed for an acknowledgement while others were out of reach."""
    faults = [fault for fault in evidence.faults if fault.cuts or fault.halts]
    marks = {mark for f in faults for mark in (f.t_start, f.begin_ns, f.end_ns, f.over_ns)}
    if not marks:
        return
    written = _written(evidence)
    leaders = {row["epoch"]: row["leader"] for row in evidence.once(leader_changes)}
    for begin, end in pairwise(sorted(marks)):
        active = [f for f in faults if f.begin_ns <= begin and end <= f.end_ns and f.bit]
        if not active:
            continue
        here = written.filter(
            pc.and_(pc.greater_equal(written["t0"], begin), pc.less_equal(written["t1"], end))
        )
        for row in _last_of_each_epoch(here):
            leader, sets = leaders.get(row["epoch"]), evidence.voters.since(row["offset"])
            if leader is None or len(sets) > 1 or row["offset"] < evidence.voters.known:
                continue
            voters = sets[0].keys
            reached = [key for key in voters if not _is_out(key.node, leader, active)]
            if len(reached) > sets[0].majority:
                continue
            names = ", ".join(f"node {key.node}" for key in sorted(reached))
            why = f"a write was acknowledged when only the voters {names} could be reached"
            shown: dict[str, EventValue] = {"what": "acknowledged", "t_ns": row["t0"], **row}
            cause = [fault.shown("held", fault.t_bit) for fault in active]
            for key in reached:
                if key.node != leader or not _may_be_unsynced(evidence, leader):
                    yield _Had(node=key.node, end=row["offset"] + 1, why=why, shown=[shown, *cause])


def _is_out(node: int, leader: int, active: Sequence[FaultFact]) -> bool:
    """Whether no record that a leader wrote meanwhile can be counted on that node."""
    links = {(node, leader), (leader, node)}
    return any(
        (fault.halts and node in fault.nodes)
        or (fault.cuts and node != leader and not links.isdisjoint(fault.links))
        for fault in active
    )


def _written(evidence: Evidence) -> pa.Table:
    """Acknowledged writes of registers that were asked for once, with the offset and epoch of the
    record in the newest log: `key`, `value`, `t0`, `t1`, `offset`, `epoch`. A record in a snapshot
    has lost its offset."""
    ops = evidence.tables["ops"].select(["f", "key", "value", "outcome", "t0", "t1"])
    writes = ops.filter(pc.equal(ops["f"], "write"))
    times = writes.group_by(["key", "value"]).aggregate([([], "count_all")])
    once = times.filter(pc.equal(times["count_all"], 1)).select(["key", "value"])
    done = writes.filter(pc.equal(writes["outcome"], "ok")).drop(["f", "outcome"])
    known = done.join(once, ["key", "value"], join_type="inner")
    known = known.set_column(
        known.schema.get_field_index("value"), "value", known["value"].cast(pa.string())
    )
    log = evidence.committed_log
    in_log = [
        {"key": each.key, "value": each.value, "offset": each.offset, "epoch": each.epoch}
        for each in evidence.once(stored_records)
        if log is not None and each.node == log.node and not each.in_snapshot
    ]
    stored = pa.Table.from_pylist(in_log, schema=_STORED)
    return known.join(stored, ["key", "value"], None, "inner")


def _last_of_each_epoch(written: pa.Table) -> Iterator[dict[str, int]]:
    if not written.num_rows:
        return
    offset, epoch = written["offset"].to_numpy(), written["epoch"].to_numpy()
    for each in np.unique(epoch).tolist():
        rows = np.flatnonzero(epoch == each)
        yield written.slice(int(rows[offset[rows].argmax()]), 1).to_pylist()[0]


# --- by its own snapshots ---


def _snapshots(evidence: Evidence) -> Iterator[_Had]:
    """A log ends no lower than the snapshots on its own disk."""
    records = evidence.tables["snapshot_records"]
    newest = records.group_by("node").aggregate([("end", "max")])
    for row in newest.to_pylist():
        if row["end_max"] > 0 and went_on(evidence, row["node"]):
            why = "a snapshot on that disk covers it"
            shown: dict[str, EventValue] = {"what": "snapshot", "node": row["node"]}
            yield _Had(node=row["node"], end=row["end_max"], why=why, shown=[shown])


# --- by time in which nothing hindered it ---


def _calm(evidence: Evidence, committed: int) -> Iterator[_Had]:
    """Voters that were up and connected for as long as a follower may take to follow again."""
    if any(fault.shifts_clock for fault in evidence.faults):
        return  # it is unknown when the records were written
    virtual = evidence.info.runtime == "sim"
    settles = int((bounds_of(evidence).steady_s + (0.0 if virtual else _REAL_S)) * SECOND)
    log = evidence.once(_timed_log)
    for calm in calms(evidence, log.began):
        until = calm.end - _LATE_NS
        found = log.led_at(until)
        if found is None or found.leader not in calm.nodes:
            continue
        if max(calm.begin, found.since) + settles > until:
            continue
        end = min(log.end_by(until), committed)
        why = f"nothing kept it from following node {found.leader} for {settles / SECOND:g} s"
        for key in evidence.voters.at(end).keys & evidence.voters.newest.keys:
            if key.node in calm.nodes:
                yield _Had(node=key.node, end=end, why=why, shown=[_of(calm)])


def _of(calm: Calm) -> dict[str, EventValue]:
    return {"what": "undisturbed from here on", "t_ns": calm.begin, "until_ns": calm.end}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reign:
    leader: int
    since: int  # in ns


@dataclass(frozen=True, slots=True, kw_only=True)
class _TimedLog:
    """The newest log with the times at which its batches were written, in ns since the start."""

    t: np.ndarray[tuple[int], np.dtype[np.int64]]  # never goes down
    ends: np.ndarray[tuple[int], np.dtype[np.int64]]
    reigns: Sequence[_Reign]

    @property
    def began(self) -> int | None:
        """When its first batch was written."""
        return int(self.t[0]) if len(self.t) else None

    def end_by(self, at: int) -> int:
        """The log's end at a moment."""
        count = int(np.searchsorted(self.t, at, side="right"))
        return int(self.ends[count - 1]) if count else 0

    def led_at(self, at: int) -> _Reign | None:
        return next((one for one in reversed(self.reigns) if one.since <= at), None)


def _timed_log(evidence: Evidence) -> _TimedLog:
    node = evidence.committed_log.node if evidence.committed_log is not None else -1
    batches = evidence.tables["log_batches"]
    mine = batches.filter(pc.and_(pc.equal(batches["node"], node), batches["crc_ok"]))
    mine = mine.filter(mine["timestamp"].is_valid())
    started_ms = int(datetime.fromisoformat(evidence.info.started_utc).timestamp() * 1000)
    t = np.maximum.accumulate((mine["timestamp"].to_numpy() - started_ms) * _MS)
    base, ends = mine["base_offset"].to_numpy(), mine["last_offset"].to_numpy() + 1
    reigns = []
    for row in evidence.once(leader_changes):
        at = int(np.searchsorted(base, row["offset"]))
        if row["node"] == node and at < len(base) and base[at] == row["offset"]:
            reigns.append(_Reign(leader=row["leader"], since=int(t[at])))
    return _TimedLog(t=t, ends=ends, reigns=reigns)


# A log grows at its end, and truncations of it are traced.


_ENDS = ("n.start", "q.append", "q.truncate", "q.loaded")


@check(
    "appends-follow-the-log",
    applies=traced,
    source="KIP-595: a Fetch asks for what begins at the log's end",
    rests_on=(Kind.TRACES,),
)
def appends_follow_the_log(evidence: Evidence) -> CheckResult:
    """A node appends each batch at the end of its log: the end when the process began, or of the
    previous batch, of a truncation, or of the snapshot that replaced the log.

    From n.start, q.append, q.truncate and q.loaded of each process. A batch below the end
    overwrites without a truncation, one above it leaves offsets out.
    """
    looked_at = 0
    violations: list[Violation] = []
    for process in (one for life in evidence.lives for one in life.processes if not one.gap):
        found, broken = _breaks(process)
        looked_at += found
        violations += broken
    return conclude(
        looked_at=looked_at,
        unit="appended batches",
        violations=violations,
        needs=NEED,
        holds="each begins where its log ended",
        algorithm="base offsets against the log end of the line before, process by process",
        gaps=gaps(evidence.lives),
        nothing="no node appended anything" if evidence.lives else "",
    )


def _breaks(process: Process) -> tuple[int, Iterator[Violation]]:
    """How many batches it appended after another line, and those that do not follow it."""
    traces, rows = process.traces, process.rows(*_ENDS)
    last, log_end = traces.column("last")[rows], traces.column("log_end")[rows]
    ends, base = np.where(log_end == NONE, last + 1, log_end), traces.column("base")[rows]
    appends = base != NONE
    wrong = np.flatnonzero(appends[1:] & (base[1:] != ends[:-1])) + 1
    return int(appends[1:].sum()), (
        _break(process, int(rows[at - 1]), int(rows[at]), int(ends[at - 1])) for at in wrong
    )


def _break(process: Process, before: int, row: int, end: int) -> Violation:
    told, append = process.traces.lines([before, row])
    text = f"node {append.node} appended a batch at {append.base} as {append.state}, but its log "
    how = (
        "no line says that it was truncated"
        if append.base < end
        else "the records between are missing"
    )
    return Violation(
        f"{text}ended at {end}: {how}",
        [witness(told, f"the log ends at {end}"), witness(append, "does not begin there")],
    )
