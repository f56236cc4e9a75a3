"""Two programs in one quorum, and neither complains about the other's records or answers.

Each follower has to replay what a leader writes. One that cannot may go on as a replica: no log
differs then, and no acknowledged write is lost until it should lead. Its complaints are in its own
log: for Apache Kafka in lines of ERROR and FATAL, its fault handlers' among them (`Encountered
metadata loading fault: ...`), for our node in its trace.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check
from checkers.conclusion import Violation, conclude
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.history.sealed_run import RunInfo
from checkers.run.kept_running import may_end
from checkers.verdict import CheckResult

_Row = Mapping[str, Any]
SECOND = 1_000_000_000


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
