"""Committed records were durable on a majority: Q9.

A leader counts a voter up to its fetch offset, and the Fetch carries the leader's epoch: so the
voter was in that epoch when it had so much. Whatever the leader says, the voter's own trace shows
how far it was durable in that epoch at best. No order between nodes is needed.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from checkers.check import check, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NodeEvent, Process, gaps, witness
from checkers.evidence.planned import Kind
from checkers.evidence.told_voters import ToldVoters
from checkers.evidence.voter_history import ReplicaKey
from checkers.quorum.fsync import UNLIMITED, durable_in_epochs
from checkers.verdict import CheckResult

_Durable = Mapping[ReplicaKey, Mapping[int, int]]


@check(
    "Q9-committed-by-majority",
    applies=traced,
    source="SIM MajorityReachedHighWatermark, KIP-856",
    rests_on=(Kind.TRACES,),
)
def committed_by_majority(evidence: Evidence) -> CheckResult:
    """Q9: Records below a leader's high watermark are durable on a majority of the voters in force.

    From q.hwm and q.voters of leaders, the highest for each set of voters, and from how far every
    voter, with its disk, was durable in the leader's epoch by its own q.fsync. (SIM, KIP-856, "High
    Watermark")
    """
    durable: _Durable = {
        ReplicaKey(life.node, life.directory): durable_in_epochs(life)
        for life in evidence.lives
        if life.gap is None
    }
    looked_at = 0
    violations: list[Violation] = []
    for life in evidence.lives if not gaps(evidence.lives) else ():
        for process in life.processes:
            for commits, told in _highest(process):
                looked_at += 1
                violations += _judge(commits, told, durable)
    return conclude(
        looked_at=looked_at,
        unit="sets of voters by which a leader committed",
        violations=violations,
        needs=NEED,
        holds="a majority of each had it, durably",
        algorithm="highest durable end per voter and epoch, against high watermarks",
        gaps=gaps(evidence.lives),
        nothing="no leader committed anything" if evidence.lives else "",
    )


def _highest(process: Process) -> Iterator[tuple[NodeEvent, ToldVoters]]:
    """For each epoch that it led and each set of voters, the highest high watermark."""
    traces = process.traces
    rows = process.rows("q.hwm")
    rows = rows[traces.has("state", "leader", rows)]
    epochs, marks = traces.column("epoch")[rows], traces.column("hwm")[rows]
    begins = process.rows("q.voters").tolist()
    for since, until in pairwise([*begins, process.end]):
        told = ToldVoters.of(traces.line(since))
        here = (since < rows) & (rows < until)
        for epoch in sorted(set(epochs[here].tolist())):
            led = here & (epochs == epoch)
            yield traces.line(rows[led][marks[led].argmax()]), told


def _judge(commits: NodeEvent, told: ToldVoters, durable: _Durable) -> Iterator[Violation]:
    best = {key: ends.get(commits.epoch, -1) for key, ends in durable.items()}
    if told.voters.has_majority(key for key, end in best.items() if end >= commits.hwm):
        return
    ends = ", ".join(_in_words(key, best.get(key, -1)) for key in sorted(told.voters.keys))
    what = f"node {commits.node} committed all below {commits.hwm} in epoch {commits.epoch}"
    text = f"{what}, but no majority of the voters had that durably in that epoch: {ends} at best"
    yield Violation(text, [witness(told.line, "voters"), witness(commits, "commits")])


def _in_words(key: ReplicaKey, end: int) -> str:
    how_far = "to an unknown end" if end == UNLIMITED else f"up to {end}"
    return f"node {key.node} {how_far}"
