"""Two programs in one quorum, and neither complains of what the other one wrote or answered.

What a leader writes, each follower has to replay. One that cannot may go on as a replica: no log
differs then, and no acknowledged write is lost until it should have led. What it says of that
stands in its own log: of Apache Kafka in lines of ERROR and FATAL, its fault handlers' among them
(`Encountered metadata loading fault: ...`), of our node in its trace.
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
    """A line that tells nothing of what another node wrote or answered wrongly, and why not.

    `text` stands somewhere in the line, `cause` in the one below it.
    """

    text: str
    cause: str = ""
    why: str

    def explains(self, row: _Row) -> bool:
        return self.text in row["text"] and self.cause in (row["cause"] or "")


# Each was seen, of 4.3.1, in quorums of Apache Kafka alone as well.
EXPLAINED = (
    Explained(
        text="Exceptionally slow controller event ",
        why="it tells of time: the machine, or a disk, was slow",
    ),
    Explained(
        text="Encountered quorum controller fault: incrementalAlterConfigs: event failed with "
        "NullPointerException",
        why="a client asked for an operation that there is not: judged by no-request-unseats",
    ),
    Explained(
        text="Unexpected error handling request RequestHeader(apiKey=",  # whatever is asked
        cause="org.apache.kafka.common.errors.NotControllerException: ",
        why="who got it is not the active controller yet, or any more; it is sent again",
    ),
    Explained(
        text="RegistrationResponseHandler: channel manager timed out before sending the request.",
        why="nobody led whom it could have sent it to; it is sent again",
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

# What our node says of records and answers, and by which words a reader knows it.
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
    """What one program writes and answers, the other takes: no node of Apache Kafka logs an error,
    and no node of ours tells of a record that it cannot replay, or of a message that it cannot
    read or answer.

    A few errors of Apache Kafka's have other reasons (`EXPLAINED`, each with its own). Nor is one
    held against anybody that a node logs while a fault may end it. Where a log is not there, or
    does not tell of a process that answered, nobody knows what it said. Needs: log_errors,
    node_events, faults.
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
        gaps=[f"not all that they logged is there ({each})" for each in lacking[:1]],
        needs="the logs of nodes",
        holds="none logged a complaint of the other program"
        + (f" ({counted(explained, 'error')} of other reasons)" if explained else ""),
        algorithm="lines of ERROR and FATAL, but for those with another reason; trace lines",
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
    """q.unfit without an offset: what could not be replayed was cut off again."""
    return bool(row["event"] == "q.unfit" and row["offset"] == -1)


def _may_end(evidence: Evidence, complaint: _Complaint) -> bool:
    return any(
        complaint.node in fault.nodes and may_end(fault, complaint.t) for fault in evidence.faults
    )
