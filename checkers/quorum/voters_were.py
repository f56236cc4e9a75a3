"""Leaders' answers about themselves and the voters, against the metadata logs: none has what no log
ever had.

A leader uses the set with which its log ends, committed or not, and it only appends. So its answers
in its epoch are sets that were in force there, by a log that holds any of that epoch, one after
another; and after the last of them perhaps one from a change that was asked for, and which was
written and truncated again.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, everywhere, several_nodes
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.lives import witness
from checkers.evidence.voter_history import LostMajority, ReplicaKey, VoterHistory, VoterSet
from checkers.history.sealed_run import LINEARIZABLE_READS
from checkers.history.tables import VOTER_CHANGES
from checkers.quorum.elections import leader_changes
from checkers.quorum.leadership import SECOND, bounds_of, processes_of
from checkers.quorum.voter_sets import DescribedQuorum, VoterAnswer, replica_of
from checkers.verdict import CheckResult, EventValue

_NEED = "answers to DescribeQuorum, and metadata logs on disks"


@check(
    "told-voters-were",
    applies=everywhere,
    source="KIP-595, DescribeQuorum; KIP-853 and KIP-856: the set in force is the log's last one",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS),
)
def described_voters_were(evidence: Evidence) -> CheckResult:
    """A node that answers as the leader of an epoch led it and has not answered in a later one, and
    the voters in its answer were in force in that epoch.

    By a log on any disk: in that epoch, or at its beginning, and later answers have later sets; or,
    after the last of them, they differ by one change that was asked for by then and did not stay.
    If nodes write traces, it had traced before that it leads, and a high watermark as high as in
    its answer. A node with a wiped disk may begin again. (KIP-853, KIP-856)
    """
    told = evidence.once(DescribedQuorum)
    histories = [evidence.voters, *map(evidence.voters_on, sorted(evidence.metadata_logs))]
    led = {row["epoch"]: row["leader"] for row in evidence.once(leader_changes)}
    traced = _traced(evidence) if evidence.gives(Kind.TRACES) else None
    violations = list[Violation]()
    reigns: dict[tuple[int, int], list[VoterAnswer]] = defaultdict(list)
    for answer in told.all_answers:
        violations += _no_leader(answer, led.get(answer.epoch, answer.node), traced)
        reigns[answer.epoch, answer.node].append(answer)
    for answers in reigns.values():
        began = _began(answers[0], told, traced)
        violations += _no_such_sets(answers, _Reign(answers[0].epoch, began, histories, told))
    violations += _epochs_that_go_back(evidence, told)
    violations += _marks_that_were_not(evidence) if traced is not None else ()
    return conclude(
        looked_at=len(told.all_answers),
        unit="answers of leaders about voters",
        violations=violations,
        needs=_NEED,
        holds="each led, and answered a set that was in force in its epoch",
        algorithm="sets of voters by epoch, of all logs on disks, against each answer",
        nothing="no client was answered about voters",
    )


def _traced(evidence: Evidence) -> dict[tuple[int, int], int]:
    """By node and epoch, when it first traced that it leads."""
    traces = evidence.traces
    rows = traces.rows("q.state")
    rows = rows[traces.has("state", "leader", rows)]
    columns = (traces.column(name)[rows].tolist() for name in ("node", "epoch", "t"))
    found: dict[tuple[int, int], int] = {}
    for node, epoch, t in zip(*columns, strict=True):
        found[node, epoch] = min(t, found.get((node, epoch), t))
    return found


def _no_leader(
    answer: VoterAnswer, leader: int, traced: dict[tuple[int, int], int] | None
) -> Iterator[Violation]:
    shown = {"what": "an answer", **answer.shown}
    text = f"node {answer.node} answers voters as the leader of epoch {answer.epoch}, "
    if leader != answer.node:
        row: dict[str, EventValue] = {"what": "LeaderChange record", "epoch": answer.epoch}
        yield Violation(f"{text}which node {leader} led", [shown, row | {"leader": leader}])
    elif traced is not None:
        began = traced.get((answer.node, answer.epoch))
        if began is None or began > answer.answered:
            yield Violation(f"{text}but had not traced that it leads", [shown])


def _epochs_that_go_back(evidence: Evidence, told: DescribedQuorum) -> Iterator[Violation]:
    """Of one node, whichever client asked it."""
    wiped = {node for fault in evidence.faults if fault.wipes for node in fault.nodes}
    highest: dict[int, VoterAnswer] = {}
    waiting: list[tuple[int, int, VoterAnswer]] = []
    for place, answer in enumerate(told.all_answers):
        while waiting and waiting[0][0] <= answer.asked:
            came = heappop(waiting)[2]
            known = highest.get(came.node, came)
            highest[came.node] = max(known, came, key=lambda each: each.epoch)
        before = highest.get(answer.node, answer)
        if before.epoch > answer.epoch and answer.node not in wiped:
            text = f"node {answer.node} answers that it leads epoch {answer.epoch}, but had "
            text += f"answered epoch {before.epoch} before"
            rows = [{"what": "an answer", **each.shown} for each in (before, answer)]
            yield Violation(text, rows)
        heappush(waiting, (answer.answered, place, answer))


def _marks_that_were_not(evidence: Evidence) -> Iterator[Violation]:
    """High watermarks that a leader answered and had not traced."""
    traces, probes = evidence.traces, evidence.tables["probes"]
    rows = traces.rows("q.hwm")
    rows = rows[traces.has("state", "leader", rows)]
    names = ("node", "epoch", "hwm", "t")
    node, epoch, hwm, t = (traces.column(name)[rows] for name in names)
    asked = probes.filter(pc.equal(probes["kind"], "quorum"))
    for row in asked.filter(pc.is_valid(asked["high_watermark"])).to_pylist():
        mine = (node == row["node"]) & (epoch == row["epoch"]) & (t <= row["t1"])
        if row["high_watermark"] > hwm[mine].max(initial=-1):
            text = f"node {row['node']}, leader of epoch {row['epoch']}, answers that all below "
            text += f"{row['high_watermark']} is committed, but had not traced that"
            told = {name: row[name] for name in ("node", "epoch", "high_watermark")}
            yield Violation(text, [{"what": "an answer", "t_ns": row["t0"], **told}])


def _began(
    answer: VoterAnswer, told: DescribedQuorum, traced: dict[tuple[int, int], int] | None
) -> int:
    """When it began to lead that epoch at the earliest: without traces, not before it answered in
    an earlier one."""
    if traced is not None:
        return traced.get((answer.node, answer.epoch), 0)
    before = (
        each.asked
        for each in told.all_answers
        if each.node == answer.node and each.epoch < answer.epoch
    )
    return max(before, default=0)


class _Reign:
    """The sets that a leader may use in an epoch, in order."""

    def __init__(
        self, epoch: int, began: int, histories: Sequence[VoterHistory], told: DescribedQuorum
    ) -> None:
        having = [each for each in histories if epoch in each.epochs]
        found = [s for each in having or histories for s in _in_force(each, epoch)]
        self.sets = list(dict.fromkeys(found))
        # By the one log that holds the most of it; a set may be in force twice.
        longest = list(having[0].during(epoch)) if having else []
        self._order = longest + [s for s in self.sets if s not in longest]
        self._is_open = not having  # it is unknown which of the sets was the last
        self._by_themselves = told.by_themselves
        # Changes that were over before it led are in its log, or were never written.
        self._changes = [each for each in told.changes if each.may_be_done and each.ended >= began]

    def place(self, answer: VoterAnswer, least: int) -> int | None:
        """The index of the set that it answers, not before another index; None: there is none."""
        named = frozenset(map(replica_of, answer.voters))
        for place, voters in enumerate(self._order):
            if (place >= least or self._is_open) and _are(named, voters):
                return place
        asked = [each for each in self._changes if each.asked <= answer.answered]
        for voters in self._order if self._is_open else self._order[-1:]:
            if self._by_themselves and len(named ^ voters.keys) == 1:
                return len(self._order)
            for change in asked:
                one = frozenset({replica_of(change.replica)})
                keys = voters.keys | one if change.adds else voters.keys - one
                if _are(named, VoterSet(keys)):
                    return len(self._order)
        return None


def _no_such_sets(answers: Sequence[VoterAnswer], reign: _Reign) -> Iterator[Violation]:
    """For one leader in one epoch, in the order in which they were asked for. An answer that had
    come before another was asked for has no later set."""
    if not reign.sets:
        return
    least = 0
    waiting: list[tuple[int, int]] = []  # when it had come, and its index
    for answer in answers:
        while waiting and waiting[0][0] <= answer.asked:
            least = max(least, heappop(waiting)[1])
        place = reign.place(answer, least)
        if place is not None:
            heappush(waiting, (answer.answered, place))
            continue
        told = " ".join(sorted(answer.voters))
        text = f"node {answer.node}, leader of epoch {answer.epoch}, answers voters {told}; "
        if reign.place(answer, 0) is not None:
            text += "it had answered a later set before"
        else:
            text += "by the logs they were " + ", or ".join(_words(each) for each in reign.sets[:4])
        yield Violation(text, [{"what": f"answers {told}", **answer.shown}])


def _in_force(history: VoterHistory, epoch: int) -> Iterator[VoterSet]:
    """In an epoch. If that log has no record of it, its leader may have lacked the last change
    before it, which others committed later."""
    yield from history.during(epoch)
    if epoch not in history.epochs and history.known == 0:
        later = [s for at, s in zip(history.epochs, history.starts, strict=True) if at > epoch]
        yield history.before(later[0] if later else history.offsets[-1])


def _are(named: frozenset[ReplicaKey], voters: VoterSet) -> bool:
    return len(named) == len(voters.keys) and all(map(voters.includes, named))


def _words(voters: VoterSet) -> str:
    return " ".join(f"{key.node}:{key.directory}" for key in sorted(voters.keys))


# Once a majority of the voters' disks is lost, the quorum stops rather than forgets (KIP-856).


# What a leader may acknowledge only when a majority has it.
_COMMITTED = ("write", "delete", "create-topic", "delete-topic", *VOTER_CHANGES)
_SHOWN = ("f", "key", "value", "node", "process")


@check(
    "stops-without-a-majority",
    applies=several_nodes,
    source="KIP-856, Motivation",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS),
)
def stops_without_a_majority(evidence: Evidence) -> CheckResult:
    """Once no majority of the voters' disks is left, no leader is elected, and no operation that
    was asked for later is acknowledged.

    The losses are taken from the faults, which have the directory ids of the lost disks, and the
    voters from the newest log; a run in which a majority is left has nothing to judge. Elections
    are those of candidates that stood for election later, by traces; reads count if the target
    promises linearizable ones. `durability` judges what the remaining disks have to hold. (KIP-856,
    Motivation)
    """
    lost = evidence.lost_majority
    if lost is None:
        return conclude(
            looked_at=0,
            unit="operations",
            violations=(),
            needs="faults",
            holds="",
            algorithm="",
            nothing="a majority of the voters' disks was left",
        )
    ops = evidence.tables["ops"]
    later = ops.filter(pc.greater(ops["t0"], lost.since_ns))
    stood_s = (evidence.info.duration_ns - lost.since_ns) / SECOND
    return conclude(
        looked_at=later.num_rows,
        unit="operations that were asked for later",
        violations=[*_elected(evidence, lost), *_acknowledged(evidence, lost, later)],
        needs="clients that go on",
        holds=f"none was acknowledged and no node elected for {stood_s:.1f} s, since {lost}",
        algorithm="operations and candidacies after the loss",
        gaps=_gaps(evidence, stood_s),
    )


def _gaps(evidence: Evidence, stood_s: float) -> Sequence[str]:
    """A forbidden election would have taken its time."""
    within_s = bounds_of(evidence).leader_within_s
    if stood_s >= within_s:
        return ()
    return (f"the run ended {stood_s:.1f} s later, but an election may take {within_s:g} s",)


def _acknowledged(evidence: Evidence, lost: LostMajority, later: pa.Table) -> Iterator[Violation]:
    reads = ("read",) if LINEARIZABLE_READS in evidence.info.promises else ()
    decided = pc.is_in(later["f"], pa.array([*_COMMITTED, *reads]))
    done = later.filter(pc.and_(decided, pc.equal(later["outcome"], "ok")))
    for row in done.to_pylist():
        after_s = (row["t0"] - lost.since_ns) / SECOND
        text = f"node {row['node']} acknowledged a {row['f']} of {row['key']} that was asked for "
        text += f"{after_s:.1f} s after no majority was left: {lost}"
        shown = {"what": "acknowledged", "t_ns": row["t1"], **{n: row[n] for n in _SHOWN}}
        yield Violation(text, [_shown(lost), shown])


def _elected(evidence: Evidence, lost: LostMajority) -> Iterator[Violation]:
    """Leaders by votes that were all asked for when no majority was left to grant them."""
    for process in evidence.once(processes_of):
        for stood, event in pairwise(process.events("q.state")):
            if (stood.state, event.state) != ("candidate", "leader") or stood.t <= lost.since_ns:
                continue
            after_s = (event.t - lost.since_ns) / SECOND
            text = f"node {event.node} was elected for epoch {event.epoch} {after_s:.1f} s "
            text += f"after no majority was left: {lost}"
            rows = [witness(stood, "stands for election"), witness(event, "leads")]
            yield Violation(text, [_shown(lost), *rows])


def _shown(lost: LostMajority) -> Mapping[str, EventValue]:
    return lost.last.fault.shown("the disk without which no majority was left", lost.since_ns)
