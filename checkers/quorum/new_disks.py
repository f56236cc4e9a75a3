"""Disks and majorities: a new disk is another replica (V8, for elections; for commits: V6), and
committed records were durable on a majority (Q9)."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise

from checkers.check import check, traced, traced_quorum
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.lives import NEED, NodeEvent, Process, gaps, witness
from checkers.evidence.voter_history import ReplicaKey, TracedVoters
from checkers.quorum.fsync import UNLIMITED, durable_in_epochs
from checkers.verdict import CheckResult

_Ballots = Mapping[tuple[ReplicaKey, int], list[tuple[ReplicaKey, NodeEvent]]]


@check(
    "V8-new-disk-is-no-voter",
    applies=traced_quorum,
    source="KIP-856, motivation",
    rests_on=(Kind.TRACES,),
)
def new_disk_is_no_voter(evidence: Evidence) -> CheckResult:
    """V8: A node with a new disk is not the voter that it was: without its vote, a majority of the
    voters, each with its disk, elects the leader.

    In runs in which a node had more than one disk. From q.vote (granted) of all replicas, q.state
    of leaders, and q.voters that each traced before, by the log that it was elected with. (KIP-856,
    motivation)
    """
    looked_at = 0
    violations: list[Violation] = []
    if _is_any_replaced(evidence):
        ballots = _granted(evidence)
        for life in evidence.lives:
            for process in life.processes:
                for leads, told in _elected(process):
                    looked_at += 1
                    violations += _judge(process, leads, told, ballots)
    return conclude(
        looked_at=looked_at,
        unit="elections",
        violations=violations,
        needs=NEED,
        holds="each was won by the votes of voters with their known disks",
        algorithm="votes as they were cast, by node and disk, against the leader's voters",
        gaps=gaps(evidence.lives) if looked_at else (),
        nothing="no disk was replaced" if evidence.lives else "",
    )


def _is_any_replaced(evidence: Evidence) -> bool:
    return any(disks > 1 for disks in Counter(life.node for life in evidence.lives).values())


def _granted(evidence: Evidence) -> _Ballots:
    """By candidate and epoch, the replicas that voted for it."""
    found = defaultdict(list)
    for life in evidence.lives:
        for event in life.events("q.vote"):
            if event.outcome == "granted":
                candidate = ReplicaKey(event.replica, event.replica_directory)
                found[candidate, event.epoch].append((ReplicaKey(life.node, life.directory), event))
    return found


def _elected(process: Process) -> Iterator[tuple[NodeEvent, TracedVoters]]:
    """Each line by which it began to lead, and the voters by its log then."""
    told: TracedVoters | None = None
    for event in process.events("q.voters", "q.state"):
        if event.event == "q.voters":
            told = TracedVoters.of(event)
        elif event.state == "leader" and told is not None:
            yield event, told


def _judge(
    process: Process, leads: NodeEvent, told: TracedVoters, ballots: _Ballots
) -> Iterator[Violation]:
    own = ReplicaKey(process.node, process.directory)
    votes = ballots.get((own, leads.epoch), [])
    if told.voters.has_majority({own, *(voter for voter, _ in votes)}):
        return
    by = ", ".join(f"node {voter.node}" for voter, _ in votes) or "no other node"
    text = f"node {leads.node} leads epoch {leads.epoch} by its own vote and those of {by}: with "
    text += f"their disks these are no majority of the voters, {told.in_words}"
    shown = [witness(event, f"node {voter.node} votes for it") for voter, event in votes]
    yield Violation(text, [witness(told.line, "voters"), *shown, witness(leads, "leads")])


# Committed records were durable on a majority: Q9.
#
# A leader counts a voter up to its fetch offset, and the Fetch carries the leader's epoch: so the
# voter was in that epoch when it had so much. Whatever the leader says, the voter's own trace shows
# how far it was durable in that epoch at best. No order between nodes is needed.


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
                violations += _judge_majority(commits, told, durable)
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


def _highest(process: Process) -> Iterator[tuple[NodeEvent, TracedVoters]]:
    """For each epoch that it led and each set of voters, the highest high watermark."""
    traces = process.traces
    rows = process.rows("q.hwm")
    rows = rows[traces.has("state", "leader", rows)]
    epochs, marks = traces.column("epoch")[rows], traces.column("hwm")[rows]
    begins = process.rows("q.voters").tolist()
    for since, until in pairwise([*begins, process.end]):
        told = TracedVoters.of(traces.line(since))
        here = (since < rows) & (rows < until)
        for epoch in sorted(set(epochs[here].tolist())):
            led = here & (epochs == epoch)
            yield traces.line(rows[led][marks[led].argmax()]), told


def _judge_majority(
    commits: NodeEvent, told: TracedVoters, durable: _Durable
) -> Iterator[Violation]:
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
