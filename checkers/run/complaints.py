"""Nodes run until they are stopped; and of two programs in one quorum, neither complains about the
other's records or answers.

Each follower has to replay what a leader writes. One that cannot may go on as a replica: no log
differs then, and no acknowledged write is lost until it should lead. Its complaints are in its own
log: for Apache Kafka in lines of ERROR and FATAL, its fault handlers' among them (`Encountered
metadata loading fault: ...`), for our node in its trace.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact, Kind
from checkers.history.sealed_run import RunInfo
from checkers.verdict import CheckResult, EventValue, counted

# Processes that end by themselves, or fail when asked to stop: they are accused, whatever follows.
#
# The cure of a later fault may have started another process in its place, and the quorum may have
# done without it: neither excuses it.


SECOND = 1_000_000_000
_WORDS = 8  # lines of a log, in a witness


@check(
    "nodes-kept-running",
    applies=everywhere,
    source="Raft thesis 3.2: a server that stops comes back from what its disk holds",
    rests_on=(Kind.FAULTS,),
)
def nodes_kept_running(evidence: Evidence) -> CheckResult:
    """No process of a node ends by itself, refuses to start, or fails when asked to stop, unless a
    fault may cause that; and each finishes the steps that it begins.

    A failing or full disk may cause it while it lasts, and a disk that lost synced bytes may from
    then on. Nothing else may: after a kill, a power cut or a pause, a node goes on from what is on
    its disk. No fault excuses a step that never ends, or that eats the machine's memory, so that
    the simulator had to halt it.
    """
    excused: list[Violation] = []
    unexcused: list[Violation] = []
    for end in evidence.info.unasked_ends:
        node, at = int(end["node"]), int(end["t_ns"])
        before = [f for f in evidence.faults if node in f.nodes and f.t_start <= at]
        may_have = not end.get("halted") and any(may_end(fault, at) for fault in before)
        found = excused if may_have else unexcused
        found.append(_ended(end, before))
    return conclude(
        looked_at=sum(evidence.info.starts.values()) or evidence.info.nodes,
        unit="processes",
        violations=unexcused,
        allowed=excused,
        needs="run.json",
        holds="none ended by itself" if not excused else "none ended by itself for no reason",
        algorithm="processes that ended unasked, against the faults that may end one",
    )


def _ended(end: Mapping[str, int | str], before: Sequence[FaultFact]) -> Violation:
    node, at = int(end["node"]), int(end["t_ns"])
    words = [line for line in str(end["words"]).splitlines() if line.strip()]
    # An error is followed by indented lines: where it was and what to do.
    told = [line for line in words if not line[0].isspace()]
    after, code = f"after {at / SECOND:.1f} s", f"with exit code {end['exit_code']}"
    text = f"node {node} ended by itself {after}, {code}"
    if end.get("told_to_stop"):
        text = f"node {node} was asked to stop, but failed {after}, {code}"
    if end.get("halted"):
        text = f"node {node} {end['halted']}, and was halted {after}"
    text += f"; its last words: {told[-1] if told else 'nothing'}"
    said: list[dict[str, EventValue]] = [
        {"what": f"it said: {line.strip()}", "node": node} for line in words[-_WORDS:]
    ]
    return Violation(
        text,
        [
            *(fault.shown("the last fault before", fault.t_start) for fault in before[-1:]),
            *said,
            {"what": "its process ended", "t_ns": at, "node": node},
        ],
    )


def may_end(fault: FaultFact, at: int) -> bool:
    """Whether a fault may make a process of its victims end by itself at this moment.

    A fault that ends processes, and not by halting them, may make them end by themselves while it
    lasts. So may a power cut that left no evidence: it may have taken the disk from under a process
    that ran on, and such a run is void. Damaged bytes may keep a process from starting for ever
    after.
    """
    misfired = fault.may_lose and fault.bit is False
    ends_by_itself = fault.ends_process and (not fault.halts or misfired) and at <= fault.end_ns
    return fault.t_start <= at and (ends_by_itself or fault.damages_bytes)


_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A line that is no complaint about another node's records or answers, and the reason.

    `text` is somewhere in the line, `cause` in the one below it.
    """

    text: str
    cause: str = ""
    why: str

    def explains(self, row: _Row) -> bool:
        return self.text in row["text"] and self.cause in (row["cause"] or "")


# Each was seen with 4.3.1 in quorums of Apache Kafka alone as well.
EXPLAINED = (
    Explained(
        text="Exceptionally slow controller event ",
        why="it is about time: the machine, or a disk, was slow",
    ),
    Explained(
        text="Encountered quorum controller fault: incrementalAlterConfigs: event failed with "
        "NullPointerException",
        why="a client asked for an operation that does not exist: judged by no-request-unseats",
    ),
    Explained(
        text="Unexpected error handling request RequestHeader(apiKey=",  # whatever is asked
        cause="org.apache.kafka.common.errors.NotControllerException: ",
        why="the receiver is not the active controller yet, or any more; it is sent again",
    ),
    Explained(
        text="RegistrationResponseHandler: channel manager timed out before sending the request.",
        why="there was no leader that it could have sent it to; it is sent again",
    ),
    Explained(
        text="Error processing append operation on partition ",
        cause="org.apache.kafka.common.errors.NotEnoughReplicasException: ",
        why="a broker refused what the ISR of that moment could not promise",
    ),
    Explained(
        text="Unexpected error REQUEST_TIMED_OUT in UPDATE_RAFT_VOTER response",
        why="LeaderChange, or another change of voters, was not committed yet; it is sent again",
    ),
)

# Complaints of our node about records and answers, in words for a reader.
_OWN = {
    "q.unfit": "its log holds a record that it cannot replay",
    "q.garbled": "a voter's answer makes no sense to it",
    "n.unanswered": "it hung up on a request that it cannot answer",
    "n.oversized": "it hung up on a message for its size",
}


def of_two_programs(info: RunInfo) -> bool:
    """Applies where our nodes and Apache Kafka's controllers share a quorum."""
    return Kind.NODE_LOGS in info.gives


@check(
    "no-complaint-in-logs",
    applies=of_two_programs,
    source="KIP-595: all replicas of the metadata log apply the same records",
    rests_on=(Kind.FAULTS,),
)
def no_complaint_in_logs(evidence: Evidence) -> CheckResult:
    """Each program accepts the other's records and answers: no node of Apache Kafka logs an error,
    and no node of ours traces a record that it cannot replay, or a message that it cannot read or
    answer.

    A few errors of Apache Kafka's have other reasons (`EXPLAINED`, each with its own). Nor does an
    error count that a node logs while a fault may end it. If a log is missing, or lacks a process
    that answered, its complaints are unknown. Needs: log_errors, node_events, faults.
    """
    logged, own = evidence.tables["log_errors"], evidence.tables["node_events"]
    began = pc.sum(pc.equal(logged["level"], "INFO")).as_py() or 0
    began += pc.sum(pc.equal(own["event"], "n.start")).as_py() or 0
    errors = logged.filter(pc.not_equal(logged["level"], "INFO")).to_pylist()
    unexplained = [row for row in errors if not any(each.explains(row) for each in EXPLAINED)]
    complaints = [*map(_of_kafka, unexplained), *map(_of_ours, _own_complaints(own))]
    found = [each for each in complaints if not _may_end(evidence, each)]
    explained = len(errors) - len(unexplained)
    lacking = [each for each in evidence.missing if each.kind is Kind.NODE_LOGS]
    return conclude(
        looked_at=began,
        unit="processes",
        violations=[each.violation for each in sorted(found, key=lambda each: each.t)],
        gaps=[f"not all of their logs is there ({each})" for each in lacking[:1]],
        needs="the logs of nodes",
        holds="none logged a complaint about the other program"
        + (f" ({counted(explained, 'error')} of other reasons)" if explained else ""),
        algorithm="lines of ERROR and FATAL, except those with another reason; trace lines",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Complaint:
    node: int
    t: int
    said: str
    below: str = ""

    @property
    def violation(self) -> Violation:
        lines = [line for line in (self.said, self.below) if line]
        message = f"node {self.node} complains after {self.t / SECOND:.1f} s: {': '.join(lines)}"
        return Violation(
            message, [{"what": line, "t_ns": self.t, "node": self.node} for line in lines]
        )


def _of_kafka(row: _Row) -> _Complaint:
    said = f"{row['level']} {row['text']}"
    return _Complaint(node=row["node"], t=row["t"], said=said, below=row["cause"] or "")


def _of_ours(row: _Row) -> _Complaint:
    at = "" if row["offset"] is None else f" at offset {row['offset']}"
    said = f"{row['event']}{at}: {_OWN[row['event']]}"
    return _Complaint(node=row["node"], t=row["t"], said=said, below=row["detail"] or "")


def _own_complaints(events: pa.Table) -> Iterator[_Row]:
    rows = events.filter(pc.is_in(events["event"], pa.array(list(_OWN)))).to_pylist()
    return (row for row in rows if not _is_taken_back(row))


def _is_taken_back(row: _Row) -> bool:
    """q.unfit without an offset: the record that could not be replayed was truncated again."""
    return bool(row["event"] == "q.unfit" and row["offset"] == -1)


def _may_end(evidence: Evidence, complaint: _Complaint) -> bool:
    return any(
        complaint.node in fault.nodes and may_end(fault, complaint.t) for fault in evidence.faults
    )
