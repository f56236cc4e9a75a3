"""Whoever changes voters asks leaders who votes: what they say has to fit what was done.

A leader goes by the set that its log ends with, committed or not. So two things hold of all that
it says of a replica. What it said once in its epoch holds, for it cuts nothing off its own log. And
a change that was acknowledged is in the log of every leader of that epoch or a later one (Raft,
Leader Completeness). Either ends only by a change that somebody asked for meanwhile, or whose fate
nobody knows. A leader that was deposed and does not know it is held to what it knew itself.

In which epoch a change was acknowledged no answer says. Not in a later one than its leader tells
afterwards, nor than the last in which such a change stands in the log.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.evidence.voter_history import VoterHistory
from checkers.history.tables import NO_DIRECTORY, VOTER_CHANGES
from checkers.quorum.voter_sets import AUTO_JOIN, replica_of
from checkers.verdict import CheckResult, EventValue

_Row = Mapping[str, Any]
_ADD, _REMOVE = VOTER_CHANGES
_DUPLICATE_VOTER, _VOTER_NOT_FOUND = "error-126", "error-127"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Saying:
    """What a leader said of a replica between two moments, in an epoch from `least` to `most`."""

    votes: bool
    asked: int
    answered: int
    least: float
    most: float
    lasts: bool  # beyond its epoch: it is committed
    shown: Mapping[str, EventValue]

    def binds(self, later: "_Saying") -> bool:
        """Whether it was said before, by the same leader or, as it lasts, by an earlier one."""
        if self.answered >= later.asked:
            return False
        one_epoch = self.least == self.most == later.least == later.most
        return one_epoch or (self.lasts and self.most <= later.least)


@check(
    "voters-as-told",
    applies=everywhere,
    source="KIP-856, DescribeQuorum; Raft, Leader Completeness",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS),
)
def voters_as_told(evidence: Evidence) -> CheckResult:
    """What leaders tell of the voters changes only as somebody asked for.

    From answers to DescribeQuorum and to whoever asked for a change, and from the epochs of the
    log. A replica that a leader named as a voter, or left out, stays so in its epoch; one that was
    added or removed with an acknowledgement stays so in that epoch and all later ones; until a
    change that may have happened since. Refusals say as much: that it is a voter already, or none.
    (KIP-856, DescribeQuorum; Raft, Leader Completeness)
    """
    answers, asked = _answers(evidence.tables["probes"]), _asked(evidence.tables["ops"])
    by_themselves = evidence.info.settings.get(AUTO_JOIN) == "true"
    said = {} if by_themselves else _sayings(answers, asked, evidence.voters)
    violations = [
        found for replica, rows in sorted(said.items()) for found in _against(replica, rows, asked)
    ]
    return conclude(
        looked_at=sum(map(len, said.values())),
        unit="statements of leaders about voters",
        violations=violations,
        needs="answers to DescribeQuorum",
        holds="each fits what was asked for and acknowledged before",
        algorithm="of each replica, pairs of statements of which one binds the other",
        nothing="controllers join by themselves" if by_themselves else "nobody asked who votes",
    )


def _answers(probes: pa.Table) -> list[_Row]:
    """Of leaders whose voters are known with their disks: with `voters`, a set of replicas."""
    rows = probes.filter(pc.and_(pc.equal(probes["kind"], "quorum"), pc.is_valid(probes["detail"])))
    found = [
        {**row, "voters": frozenset(json.loads(row["detail"])["voters"])}
        for row in rows.sort_by("t0").to_pylist()
    ]
    return [row for row in found if not any(NO_DIRECTORY in voter for voter in row["voters"])]


def _asked(ops: pa.Table) -> list[_Row]:
    rows: list[_Row] = ops.filter(pc.is_in(ops["f"], pa.array(VOTER_CHANGES))).to_pylist()
    return rows


def _sayings(
    answers: Sequence[_Row], asked: Sequence[_Row], log: VoterHistory
) -> Mapping[str, list[_Saying]]:
    """By replica. Every answer speaks of all replicas that were ever named: those that it leaves
    out are none of the voters."""
    replicas = {voter for row in answers for voter in row["voters"]}.union(
        row["key"] for row in asked
    )
    found: dict[str, list[_Saying]] = defaultdict(list)
    for row in answers:
        for replica in replicas:
            found[replica].append(_of_answer(row, replica))
    for row in asked:
        votes = _said_of(row, replicas, answers)
        if votes is not None:
            found[row["key"]].append(_of_change(row, answers, log, votes=votes))
    return found


def _of_answer(row: _Row, replica: str) -> _Saying:
    votes = replica in row["voters"]
    told = {name: row[name] for name in ("node", "epoch")}
    what = f"it tells {'that it is a voter' if votes else 'of no such voter'}"
    return _Saying(
        votes=votes,
        asked=row["t0"],
        answered=row["t1"],
        least=row["epoch"],
        most=row["epoch"],
        lasts=False,
        shown={"what": what, "t_ns": row["t0"], **told},
    )


def _said_of(row: _Row, replicas: set[str], answers: Sequence[_Row]) -> bool | None:
    """Whether the leader says by its answer that the replica votes; None: it says nothing of it.

    Apache Kafka calls a voter a duplicate if its node votes by another disk, and says that there is
    no such voter where it is the last one (KIP-853).
    """
    if row["outcome"] == "ok":
        return bool(row["f"] == _ADD)
    node = row["key"].partition(":")[0]
    if row["error"] == _DUPLICATE_VOTER:
        disks = [each for each in replicas if each.partition(":")[0] == node]
        return True if len(disks) == 1 else None
    if row["error"] == _VOTER_NOT_FOUND:
        return None if any(len(each["voters"]) < 2 for each in answers) else False
    return None


def _of_change(row: _Row, answers: Sequence[_Row], log: VoterHistory, *, votes: bool) -> _Saying:
    is_done = row["outcome"] == "ok"
    changed = _epochs_of(log, row["key"], votes=votes) if is_done else iter(())
    last = max(changed, default=inf)
    own = [each for each in answers if each["leader"] == row["node"]]
    later = [each["epoch"] for each in own if each["t0"] > row["t1"]]
    shown = {name: row[name] for name in ("f", "key", "outcome", "error", "node")}
    return _Saying(
        votes=votes,
        asked=row["t0"],
        answered=row["t1"],
        least=max((each["epoch"] for each in own if each["t1"] < row["t0"]), default=-inf),
        most=min([*later, last]),
        lasts=is_done,  # who refuses may be deposed, and know of nothing since
        shown={"what": "it answers a change", "t_ns": row["t0"], **shown},
    )


def _epochs_of(log: VoterHistory, replica: str, *, votes: bool) -> Iterator[int]:
    """In which this replica was made a voter, or none; of a log whose head is there."""
    if log.known > 0:
        return
    for offset, (before, after) in zip(log.offsets[1:], pairwise(log.sets), strict=True):
        changed = {f"{key.node}:{key.directory}" for key in before.keys ^ after.keys}
        if replica in changed and after.includes(replica_of(replica)) is votes:
            yield log.epochs[bisect_right(log.starts, offset) - 1]


def _against(replica: str, rows: Sequence[_Saying], asked: Sequence[_Row]) -> Iterator[Violation]:
    """Statements that contradict an earlier one, each with the first that it contradicts."""
    if len({row.votes for row in rows}) == 1:
        return
    changes = [row for row in asked if row["key"] == replica and row["outcome"] != "fail"]
    for later in rows:
        earlier = (row for row in rows if row.votes is not later.votes and row.binds(later))
        for row in earlier:
            if not any(_may_be_between(change, row, later) for change in changes):
                state = "a voter" if later.votes else "no voter"
                text = f"node {later.shown['node']} says that {replica} is {state}, and nobody had "
                text += f"asked for that since node {row.shown['node']} said the opposite"
                yield Violation(text, [row.shown, later.shown])
                break


def _may_be_between(change: _Row, earlier: _Saying, later: _Saying) -> bool:
    """Whether a change may have happened since the one and have led to the other; of what has no
    certain end nobody knows when it happens."""
    ended = change["outcome"] == "ok" and change["t1"] < earlier.asked
    is_towards = (change["f"] == _ADD) is later.votes
    return is_towards and change["t0"] <= later.answered and not ended
