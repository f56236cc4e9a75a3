"""What leaders tell of themselves and of the voters, against the metadata logs: never what none of
them ever had.

A leader goes by the set with which its log ends, committed or not, and it only appends. So what it
tells in its epoch are sets that were in force there, by a log that holds any of that epoch, one
after another; and behind the last of them perhaps one that comes of a change which somebody asked
for, and which was written and cut off again.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

import pyarrow.compute as pc

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.evidence.voter_history import ReplicaKey, VoterHistory, VoterSet
from checkers.quorum.epochs import leader_changes
from checkers.quorum.voter_answers import ToldQuorum, VoterAnswer
from checkers.quorum.voter_sets import replica_of
from checkers.verdict import CheckResult, EventValue

_NEED = "answers to DescribeQuorum, and metadata logs on disks"


@check(
    "told-voters-were",
    applies=everywhere,
    source="KIP-595, DescribeQuorum; KIP-853 and KIP-856: the set in force is the log's last one",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS),
)
def told_voters_were(evidence: Evidence) -> CheckResult:
    """Who tells of an epoch of the quorum as its leader led it, never after it has told of a later
    one, and the voters that it tells of were in force then.

    By a log on any disk: in that epoch, or where it began, and later answers of later sets; or,
    behind the last of them, they were so but for one change that was asked for by then and did not
    stay. Where nodes trace, it had traced before that it leads, and a high watermark as high as it
    tells. A node whose disk was taken may begin anew. (KIP-853, KIP-856)
    """
    told = evidence.once(ToldQuorum)
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
        holds="each led, and told of a set that was in force in its epoch",
        algorithm="sets of voters by epoch, of all logs on disks, against each answer",
        nothing="nobody was told who votes",
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
    text = f"node {answer.node} tells who votes as the leader of epoch {answer.epoch}, "
    if leader != answer.node:
        row: dict[str, EventValue] = {"what": "LeaderChange record", "epoch": answer.epoch}
        yield Violation(f"{text}which node {leader} led", [shown, row | {"leader": leader}])
    elif traced is not None:
        began = traced.get((answer.node, answer.epoch))
        if began is None or began > answer.answered:
            yield Violation(f"{text}and had not traced that it leads", [shown])


def _epochs_that_go_back(evidence: Evidence, told: ToldQuorum) -> Iterator[Violation]:
    """Of one node, whoever asked it."""
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
            text = f"node {answer.node} tells that it leads epoch {answer.epoch}, and had told of "
            text += f"epoch {before.epoch} before"
            rows = [{"what": "an answer", **each.shown} for each in (before, answer)]
            yield Violation(text, rows)
        heappush(waiting, (answer.answered, place, answer))


def _marks_that_were_not(evidence: Evidence) -> Iterator[Violation]:
    """High watermarks that a leader told and had not traced."""
    traces, probes = evidence.traces, evidence.tables["probes"]
    rows = traces.rows("q.hwm")
    rows = rows[traces.has("state", "leader", rows)]
    names = ("node", "epoch", "hwm", "t")
    node, epoch, hwm, t = (traces.column(name)[rows] for name in names)
    asked = probes.filter(pc.equal(probes["kind"], "quorum"))
    for row in asked.filter(pc.is_valid(asked["high_watermark"])).to_pylist():
        mine = (node == row["node"]) & (epoch == row["epoch"]) & (t <= row["t1"])
        if row["high_watermark"] > hwm[mine].max(initial=-1):
            text = f"node {row['node']}, leader of epoch {row['epoch']}, tells that all below "
            text += f"{row['high_watermark']} is committed, and had not traced that"
            told = {name: row[name] for name in ("node", "epoch", "high_watermark")}
            yield Violation(text, [{"what": "an answer", "t_ns": row["t0"], **told}])


def _began(answer: VoterAnswer, told: ToldQuorum, traced: dict[tuple[int, int], int] | None) -> int:
    """When it began to lead that epoch at the earliest: without traces, not before it told of an
    earlier one."""
    if traced is not None:
        return traced.get((answer.node, answer.epoch), 0)
    before = (
        each.asked
        for each in told.all_answers
        if each.node == answer.node and each.epoch < answer.epoch
    )
    return max(before, default=0)


class _Reign:
    """The sets that a leader may go by in an epoch, in their order."""

    def __init__(
        self, epoch: int, began: int, histories: Sequence[VoterHistory], told: ToldQuorum
    ) -> None:
        having = [each for each in histories if epoch in each.epochs]
        found = [s for each in having or histories for s in _in_force(each, epoch)]
        self.sets = list(dict.fromkeys(found))
        # By the one log that holds the most of it; a set may be in force twice.
        longest = list(having[0].during(epoch)) if having else []
        self._order = longest + [s for s in self.sets if s not in longest]
        self._is_open = not having  # which of the sets was the last is not known
        self._by_themselves = told.by_themselves
        # What was over before it led is in its log, or was never written.
        self._changes = [each for each in told.changes if each.may_be_done and each.ended >= began]

    def place(self, answer: VoterAnswer, least: int) -> int | None:
        """Where the set stands that it tells of, not before another place; None: nowhere."""
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
    """Of one leader in one epoch, in the order in which they were asked for. An answer that had
    come before another was asked for is of no later set."""
    if not reign.sets:
        return
    least = 0
    waiting: list[tuple[int, int]] = []  # when it had come, and its place
    for answer in answers:
        while waiting and waiting[0][0] <= answer.asked:
            least = max(least, heappop(waiting)[1])
        place = reign.place(answer, least)
        if place is not None:
            heappush(waiting, (answer.answered, place))
            continue
        told = " ".join(sorted(answer.voters))
        text = f"node {answer.node}, leader of epoch {answer.epoch}, tells that {told} vote; "
        if reign.place(answer, 0) is not None:
            text += "it had told of a later set before"
        else:
            text += "by the logs it was " + ", or ".join(_words(each) for each in reign.sets[:4])
        yield Violation(text, [{"what": f"tells {told}", **answer.shown}])


def _in_force(history: VoterHistory, epoch: int) -> Iterator[VoterSet]:
    """In an epoch. Of one of which nothing is in that log, its leader may have lacked the change
    that is the last before, which others committed later."""
    yield from history.during(epoch)
    if epoch not in history.epochs and history.known == 0:
        later = [s for at, s in zip(history.epochs, history.starts, strict=True) if at > epoch]
        yield history.before(later[0] if later else history.offsets[-1])


def _are(named: frozenset[ReplicaKey], voters: VoterSet) -> bool:
    return len(named) == len(voters.keys) and all(map(voters.includes, named))


def _words(voters: VoterSet) -> str:
    return " ".join(f"{key.node}:{key.directory}" for key in sorted(voters.keys))
