"""Events that nodes do not trace, found by other nodes' traces, clients and disks.

A node that traces nothing of some kind of event would escape judgement. So effects seen from
outside are compared with the lines that must have been traced: a line is written before its effect
is visible to others. Processes with missing trace lines are left out.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.array_types import Flags, Ints
from checkers.check import check, of_registers, traced, traced_quorum
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.lives import NEED, Life, NodeEvent, Process, first_of, gaps, witness
from checkers.evidence.voter_history import ReplicaKey, TracedVoters, VoterSet
from checkers.history.sealed_run import RunInfo
from checkers.quorum.fsync import UNLIMITED, fetches
from checkers.verdict import CheckResult, EventValue, counted

_SERVED = ("read", "write", "delete")

_Shown = dict[str, EventValue]


# --- votes ---


@check(
    "granted-votes-are-traced",
    applies=traced_quorum,
    source="Raft thesis 3.4",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def granted_votes_are_traced(evidence: Evidence) -> CheckResult:
    """Each voter that a LeaderChange names as having granted its vote traced that it did, and the
    leader traced that it stood for election.

    From LeaderChange records on the disks, q.vote of voters and q.state of leaders.
    """
    granted = {
        (line.node, line.epoch, line.replica)
        for life in evidence.lives
        for line in life.events("q.vote")
        if line.outcome == "granted"
    }
    stood = {
        (line.node, line.epoch, line.node)
        for life in evidence.lives
        for line in life.events("q.state")
        if line.state == "candidate"
    }
    whole = {life.node for life in evidence.lives} - {
        life.node for life in evidence.lives if life.gap
    }
    votes = {vote: shown for vote, shown in _ballots(evidence) if vote[0] in whole}
    return conclude(
        looked_at=len(votes),
        unit="votes that leaders name",
        violations=[
            _ungranted(*vote, shown)
            for vote, shown in sorted(votes.items(), key=lambda each: each[0])
            if vote not in (stood if vote[0] == vote[2] else granted)
        ],
        needs=f"{NEED}, and disks read after the run",
        holds="each was traced by its voter",
        algorithm="voters that LeaderChange records name, against q.vote and q.state",
        gaps=gaps(evidence.lives),
        nothing=evidence.below_snapshots,
    )


def _ballots(evidence: Evidence) -> Iterator[tuple[tuple[int, int, int], _Shown]]:
    """Voter, epoch and leader of each vote that is named, and the record that names it."""
    records = evidence.tables["log_records"]
    changes = records.filter(pc.equal(records["type"], "LeaderChange"))
    names = ["node", "offset", "epoch", "leader", "detail"]
    for row in changes.filter(changes["detail"].is_valid()).select(names).to_pylist():
        for voter in json.loads(row.pop("detail"))["grantingVoters"]:
            vote = voter["voterId"], row["epoch"], row["leader"]
            yield vote, {"what": "LeaderChange record", **row}


def _ungranted(voter: int, epoch: int, leader: int, shown: _Shown) -> Violation:
    text = f"the LeaderChange of epoch {epoch} names the vote of node {voter} for node {leader}, "
    what = "that it stood for election" if voter == leader else "such a vote"
    return Violation(f"{text}but node {voter} did not trace {what}", [shown])


# --- voters ---


@check(
    "voters-are-traced",
    applies=traced,
    source="KIP-856: the voters are those in the log",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def voters_are_traced(evidence: Evidence) -> CheckResult:
    """A process traces the voters before it takes a role, and again with each record of voters that
    it appends.

    From q.voters, q.state and q.append of each process, and the records on its disk. A record that
    names the same voters as before changes nothing.
    """
    looked_at = 0
    violations: list[Violation] = []
    for process in (one for life in evidence.lives for one in life.processes if not one.gap):
        told = [TracedVoters.of(line) for line in process.events("q.voters")]
        roles = process.rows("q.state")
        if len(roles):
            looked_at += 1
            if not len(told) or told[0].line.seq > process.traces.line(roles[0]).seq:
                violations.append(_role_without(process.traces.line(roles[0])))
        for offset, voters, line in _appended(process, evidence):
            looked_at += 1
            before = [each for each in told if each.line.seq < line.seq]
            as_before = bool(before) and before[-1].voters.keys == voters.keys
            if not as_before and all(each.offset != offset for each in told):
                violations.append(_record_without(line, offset))
    return conclude(
        looked_at=looked_at,
        unit="roles, and records of voters",
        violations=violations,
        needs=NEED,
        holds="each process traced the voters by then",
        algorithm="first q.state and appended records of voters, against q.voters",
        gaps=gaps(evidence.lives),
        nothing="no node took a role" if evidence.lives else "",
    )


def _appended(process: Process, evidence: Evidence) -> Iterator[tuple[int, VoterSet, NodeEvent]]:
    """The sets of voters in the log on the process's disk that it appended, without those that a
    later record of the same batch changes; each with its offset, and the line of the last batch of
    it."""
    if evidence.disks.get(process.node) != ReplicaKey(process.node, process.directory):
        return
    history = evidence.voters_on(process.node)
    stored = evidence.metadata_logs.get(process.node, [])
    rows = process.rows("q.append")
    base, epoch, crc = (process.traces.column(name)[rows] for name in ("base", "epoch", "crc"))
    nexts = [*history.offsets[1:], UNLIMITED][1:]
    for offset, after, voters in zip(history.offsets[1:], nexts, history.sets[1:], strict=True):
        if offset == history.known:
            continue  # a snapshot names them all, below which no record tells the voters
        place = bisect_right(stored, offset, key=lambda one: one.base) - 1
        if place < 0 or not offset <= stored[place].last < after:
            continue
        batch = stored[place]
        # Records that it appended there before, of another epoch, were truncated since.
        at = np.flatnonzero((base == batch.base) & (epoch == batch.epoch) & (crc == batch.crc))
        if len(at):
            yield offset, voters, process.traces.line(rows[at[-1]])


def _role_without(line: NodeEvent) -> Violation:
    text = f"node {line.node} became {line.state} in epoch {line.epoch}, but had traced no voters"
    return Violation(text, [witness(line, "takes a role")])


def _record_without(line: NodeEvent, offset: int) -> Violation:
    text = f"node {line.node} appended the record of voters at {offset}, but traced no voters"
    return Violation(f"{text} by it", [witness(line, "appends it")])


# --- snapshots ---


@check(
    "stored-snapshots-are-traced",
    applies=traced,
    source="KIP-630",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def stored_snapshots_are_traced(evidence: Evidence) -> CheckResult:
    """For each snapshot on a disk, a process of its node traced that it was taken, fetched or
    found.

    From snapshots on the disks and q.snapshot. The one at 0 with which a disk was formatted is left
    out.
    """
    records = evidence.tables["snapshot_records"]
    stored = records.group_by(["node", "directory", "end"]).aggregate([]).to_pylist()
    told = {
        (life.node, life.directory, line.log_end)
        for life in evidence.lives
        for line in life.events("q.snapshot")
    }
    broken = {(life.node, life.directory) for life in evidence.lives if life.gap}
    found = [
        row for row in stored if row["end"] > 0 and (row["node"], row["directory"]) not in broken
    ]
    return conclude(
        looked_at=len(found),
        unit="snapshots on disks",
        violations=[
            _untold_snapshot(row)
            for row in found
            if (row["node"], row["directory"], row["end"]) not in told
        ],
        needs=f"{NEED}, and disks read after the run",
        holds="each was traced",
        algorithm="ends of stored snapshots, against q.snapshot of that disk",
        gaps=gaps(evidence.lives),
        nothing="no snapshot with records is on a disk" if evidence.lives else "",
    )


def _untold_snapshot(row: Mapping[str, Any]) -> Violation:
    text = f"node {row['node']} has a snapshot that ends at {row['end']}, but its trace has none"
    return Violation(f"{text} that does", [{"what": "on the disk", **row}])


# --- fetches ---


@check(
    "fetches-are-traced",
    applies=traced,
    source="KIP-595: followers fetch",
    rests_on=(Kind.TRACES,),
)
def fetches_are_traced(evidence: Evidence) -> CheckResult:
    """The first record that a follower appends in an epoch had been asked for, by the trace of a
    leader of that epoch.

    From q.append and q.state of followers, and q.fetch of leaders. Observers are followers too.
    """
    asked = evidence.once(fetches)
    violations: list[Violation] = []
    looked_at = 0
    for life in evidence.lives:
        mine = {(each.epoch, each.offset) for each in asked.get((life.node, life.directory), ())}
        for process in (one for one in life.processes if not one.gap):
            for row, epoch in _first_in_epochs(process):
                looked_at += 1
                line = process.traces.line(row)
                if (epoch, line.base) not in mine:
                    violations.append(_unasked(line, epoch))
    return conclude(
        looked_at=looked_at,
        unit="epochs in which a follower appended",
        violations=violations,
        needs=NEED,
        holds="a leader traced the Fetch for the first batch of each",
        algorithm="base of a follower's first append in an epoch, against q.fetch",
        gaps=gaps(evidence.lives),
        nothing="no follower appended anything" if evidence.lives else "",
    )


def _first_in_epochs(process: Process) -> Iterator[tuple[int, int]]:
    """The rows of a follower's first append in each epoch, and that epoch."""
    traces, states = process.traces, process.rows("q.state")
    appends = process.rows("q.append")
    appends = appends[traces.has("state", "follower", appends)]
    at = np.searchsorted(states, appends) - 1
    appends, epochs = appends[at >= 0], traces.column("epoch")[states[at[at >= 0]]]
    first, _ = first_of(epochs)
    yield from zip(appends[first].tolist(), epochs[first].tolist(), strict=True)


def _unasked(line: NodeEvent, epoch: int) -> Violation:
    text = f"node {line.node} appended what begins at {line.base} as a follower in epoch {epoch}, "
    text += "but no leader of that epoch traced a Fetch for it"
    return Violation(text, [witness(line, "appended first in that epoch")])


# --- claims ---


def _traced_registers(info: RunInfo) -> bool:
    """Applies where clients use registers, and nodes write traces."""
    return of_registers(info) and traced(info)


@check(
    "claims-are-traced",
    applies=_traced_registers,
    source="KIP-631: the active controller",
    rests_on=(Kind.FAULTS, Kind.OPERATIONS, Kind.TRACES),
)
def claims_are_traced(evidence: Evidence) -> CheckResult:
    """A controller that serves a client is active at some moment meanwhile, by its own trace; and
    one that no longer leads traced that it resigned.

    From operations that succeeded, c.active, c.resign and q.state. A node is left out if a fault
    makes its clock wrong, as its times of service are unknown.
    """
    shifted = {n for fault in evidence.faults if fault.shifts_clock for n in fault.nodes}
    violations = [found for life in evidence.lives for found in _silent_resignations(life)]
    looked_at = 0
    ops = evidence.tables["ops"]
    is_served = pc.is_in(ops["f"], pa.array(_SERVED))
    served = ops.filter(pc.and_(pc.equal(ops["outcome"], "ok"), is_served))
    broken = {life.node for life in evidence.lives if life.gap}
    for node in sorted({life.node for life in evidence.lives} - shifted - broken):
        mine = served.filter(pc.equal(served["node"], node))
        looked_at += mine.num_rows
        t0, t1 = mine["t0"].to_numpy(), mine["t1"].to_numpy()
        for at in np.flatnonzero(~_during(_claims(evidence, node), t0, t1))[:1]:
            violations.append(_unclaimed(node, mine.slice(int(at), 1).to_pylist()[0]))
    return conclude(
        looked_at=looked_at,
        unit="operations that succeeded",
        violations=violations,
        needs=f"{NEED}, and operations that succeeded",
        holds="each was served by a controller that traced that it is active",
        algorithm="times between c.active and c.resign, against those of operations",
        gaps=gaps(evidence.lives),
        nothing=f"the clocks of {counted(len(shifted), 'node')} were wrong" if shifted else "",
    )


def _claims(evidence: Evidence, node: int) -> list[tuple[int, int]]:
    """From when to when a node was active, in order."""
    found = []
    for process in (one for life in evidence.lives if life.node == node for one in life.processes):
        since: int | None = None
        for line in process.events("c.active", "c.resign"):
            if line.event == "c.active":
                since = line.t
            elif since is not None:
                found.append((since, line.t))
                since = None
        if since is not None:
            found.append((since, process.last_ns))
    return sorted(found)


def _during(claims: list[tuple[int, int]], t0: Ints, t1: Ints) -> Flags:
    """Whether each time from t0 to t1 overlaps with a claim."""
    begins = np.array([begin for begin, _ in claims], np.int64)
    ends = np.append(np.int64(-1), np.array([end for _, end in claims], np.int64))
    found: Flags = ends[np.searchsorted(begins, t1, side="right")] >= t0
    return found


def _unclaimed(node: int, op: Mapping[str, Any]) -> Violation:
    text = (
        f"node {node} served a {op['f']} of process {op['process']}, but did not trace that it is "
    )
    names = ("op_id", "process", "node", "f", "key", "value")
    shown = {"what": "served", "t_ns": op["t0"], "t1_ns": op["t1"]}
    return Violation(f"{text}active then", [{**shown, **{name: op[name] for name in names}}])


def _silent_resignations(life: Life) -> Iterator[Violation]:
    """Claims of a process that took another role later, went on, and did not trace that it
    resigned."""
    for process in (one for one in life.processes if not one.gap):
        resigned = [line.epoch for line in process.events("c.resign")]
        states = process.events("q.state")
        for claim in process.events("c.active"):
            later = (state for state in states if state.seq > claim.seq)
            left = next((state for state in later if state.state != "leader"), None)
            if left is not None and left.t < process.last_ns and claim.epoch not in resigned:
                text = f"node {claim.node} was the active controller in epoch {claim.epoch} and "
                text += f"became {left.state} in epoch {left.epoch}, but did not trace that it "
                shown = [witness(claim, "active"), witness(left, "leads no more")]
                yield Violation(f"{text}resigned", shown)
