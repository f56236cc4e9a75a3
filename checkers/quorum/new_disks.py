"""A disk that replaces a lost one is another replica: V8, for elections. (For commits: V6.)"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from checkers.check import check, traced_quorum
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NodeEvent, Process, gaps, witness
from checkers.evidence.planned import Kind
from checkers.evidence.told_voters import ToldVoters
from checkers.evidence.voter_history import ReplicaKey
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


def _elected(process: Process) -> Iterator[tuple[NodeEvent, ToldVoters]]:
    """Each line by which it began to lead, and the voters by its log then."""
    told: ToldVoters | None = None
    for event in process.events("q.voters", "q.state"):
        if event.event == "q.voters":
            told = ToldVoters.of(event)
        elif event.state == "leader" and told is not None:
            yield event, told


def _judge(
    process: Process, leads: NodeEvent, told: ToldVoters, ballots: _Ballots
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
