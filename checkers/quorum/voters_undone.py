"""At most one change in a leader's answer about the voters is uncommitted, and may be undone.

A change is written once the one before it is committed (KIP-856, "Voter Changes"). So all later
leaders have all the changes in a leader's answer except perhaps the newest one, which may be
truncated with the end of the log. An unacknowledged answer proves nothing about one replica; about
all of them together it does.

`V2-one-change-uncommitted` judges the same for nodes that trace what they write; this is what
clients see of it, for any target.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import pyarrow.compute as pc

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.history.asked_by_clients import asked_by_clients
from checkers.quorum.voter_answers import ToldQuorum, VoterAnswer, VoterChange
from checkers.verdict import CheckResult, EventValue


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """A set of voters in a leader's answers in its epoch: when last, and when first."""

    last: VoterAnswer
    first: VoterAnswer

    @property
    def epoch(self) -> int:
        return self.last.epoch

    @property
    def voters(self) -> frozenset[str]:
        return self.last.voters


@check(
    "one-told-change-undone",
    applies=everywhere,
    source="KIP-856, Voter Changes; Raft, Leader Completeness",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS),
)
def one_told_change_undone(evidence: Evidence) -> CheckResult:
    """Later leaders undo at most one change of the voters that a leader answered.

    From answers to DescribeQuorum, each against all of later epochs: replicas of which the two say
    the opposite, though no client asked for that in between. Not before the first acknowledgement
    of the run, for the first voters of a quorum are written all at once. (KIP-856, "Voter Changes":
    one at a time)
    """
    told = evidence.once(ToldQuorum)
    views = [] if told.by_themselves else _views(_of_a_quorum(evidence, told.answers))
    pairs = [(a, b) for a in views for b in views if a.epoch < b.epoch]
    return conclude(
        looked_at=len(pairs),
        unit="pairs of sets that leaders answered",
        violations=[found for a, b in pairs for found in _undone(a, b, told.changes)],
        needs="answers to DescribeQuorum",
        holds="the later leader has all of the earlier one's voters, except for one change at most",
        algorithm="sets by epoch, each against those of later epochs",
        gaps=told.gaps,
        nothing="controllers join by themselves"
        if told.by_themselves
        else "voters were not answered in more than one epoch",
    )


def _of_a_quorum(evidence: Evidence, answers: Sequence[VoterAnswer]) -> Sequence[VoterAnswer]:
    """Those that were asked for once anything had been acknowledged."""
    ops = asked_by_clients(evidence.tables["ops"])
    first = pc.min(ops.filter(pc.equal(ops["outcome"], "ok"))["t1"]).as_py()
    return [each for each in answers if each.asked > (inf if first is None else first)]


def _views(answers: Sequence[VoterAnswer]) -> list[_View]:
    found: dict[tuple[int, frozenset[str]], list[VoterAnswer]] = {}
    for each in answers:
        found.setdefault((each.epoch, each.voters), []).append(each)
    return [
        _View(
            last=max(alike, key=lambda each: each.asked),
            first=min(alike, key=lambda each: each.answered),
        )
        for alike in found.values()
    ]


def _undone(earlier: _View, later: _View, changes: Sequence[VoterChange]) -> Iterator[Violation]:
    undone = [
        replica
        for replica in sorted(earlier.voters ^ later.voters)
        if not any(_explains(each, replica, earlier, later) for each in changes)
    ]
    if len(undone) > 1:
        a, b = earlier.last, later.first
        text = f"node {b.node} leads epoch {b.epoch} by voters that differ from those of node "
        text += f"{a.node} in epoch {a.epoch} by {' and '.join(undone)}, but no client had asked "
        text += "for that: more than one change was not committed"
        yield Violation(text, [_shown(a), _shown(b)])


def _explains(change: VoterChange, replica: str, earlier: _View, later: _View) -> bool:
    """Whether it may follow the earlier answer. A change that was acknowledged before, in that
    epoch at the latest, does not."""
    towards = change.replica == replica and change.adds is (replica in later.voters)
    before = change.ended < earlier.last.asked and change.most <= earlier.epoch
    in_time = change.asked <= later.first.answered
    return towards and change.may_be_done and in_time and not before


def _shown(answer: VoterAnswer) -> Mapping[str, EventValue]:
    return {"what": f"it says {' '.join(sorted(answer.voters))}", **answer.shown}
