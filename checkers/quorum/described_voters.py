"""Clients that change voters also ask leaders for the voters: the answers fit the changes.

A leader uses the set with which its log ends, committed or not. So three things hold for its
answers about a replica. What it said in its epoch remains so, for it truncates nothing of its own
log. An acknowledged change is in the log of every leader of that epoch or a later one (Raft, Leader
Completeness). So is everything that its leader had answered in that epoch before it was asked for
that change: it is before it in the log. Each ends only by a change that was asked for meanwhile, or
is of unknown fate. A deposed leader that does not know it is held to its own knowledge.

No answer says in which epoch a change was acknowledged: not in a later one than that of its
leader's next answer, nor than the last in which the log has such a change.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import pyarrow.compute as pc

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.history.asked import asked_by_clients
from checkers.quorum.voter_sets import DescribedQuorum, VoterAnswer, VoterChange
from checkers.verdict import CheckResult, EventValue

_DUPLICATE_VOTER, _VOTER_NOT_FOUND = "DUPLICATE_VOTER", "VOTER_NOT_FOUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Saying:
    """What a leader said about a replica between two moments, in an epoch from `least` to
    `most`."""

    votes: bool
    asked: int
    answered: float
    least: float
    most: float
    lasts: bool  # beyond its epoch: it is committed
    shown: Mapping[str, EventValue]

    def binds(self, later: "_Saying") -> bool:
        """Whether it was said before, by the same leader or, as it lasts, by an earlier one."""
        if self.answered > later.asked:
            return False
        one_epoch = self.least == self.most == later.least == later.most
        return one_epoch or (self.lasts and self.most <= later.least)


@check(
    "voters-as-told",
    applies=everywhere,
    source="KIP-856, DescribeQuorum; Raft, Leader Completeness",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS),
)
def described_voters_fit_changes(evidence: Evidence) -> CheckResult:
    """Leaders' answers about the voters change only as was asked for.

    From answers to DescribeQuorum and to requests for a change, and from the epochs of the log. A
    replica that a leader named as a voter, or left out, stays so in its epoch; one that was added
    or removed with an acknowledgement stays so in that epoch and all later ones, and with it all
    earlier answers of its leader; until a change that may have happened since. Refusals say as
    much: that it is a voter already, or none. (KIP-856, DescribeQuorum; Raft, Leader Completeness)
    """
    told = evidence.once(DescribedQuorum)
    said = {} if told.by_themselves else _sayings(told)
    violations = [
        found for replica, rows in said.items() for found in _against(replica, rows, told.changes)
    ]
    return conclude(
        looked_at=sum(map(len, said.values())),
        unit="statements of leaders about voters",
        violations=violations,
        needs="answers to DescribeQuorum",
        holds="each fits what was asked for and acknowledged before",
        algorithm="for each replica, pairs of statements of which one binds the other",
        gaps=told.gaps,
        nothing="controllers join by themselves"
        if told.by_themselves
        else "no client asked for the voters",
    )


def _sayings(told: DescribedQuorum) -> Mapping[str, list[_Saying]]:
    """By replica. Every answer is about all replicas that were ever named: those that it leaves out
    are no voters."""
    found: dict[str, list[_Saying]] = {replica: [] for replica in told.replicas}
    behind = _last_written(told.changes)
    for answer in told.answers:
        lasts = answer.answered < behind.get(answer.epoch, -1)
        for replica, said in found.items():
            said.append(_of_answer(answer, replica, lasts=lasts))
    for change in told.changes:
        votes = _said_of(change, told)
        if votes is not None:
            found[change.replica].append(_of_change(change, votes=votes))
    return found


def _last_written(changes: Sequence[VoterChange]) -> Mapping[float, int]:
    """By epoch, when the last change was asked for that was certainly written and acknowledged in
    it: everything that its leader had answered before is committed with it."""
    found: dict[float, int] = defaultdict(lambda: -1)
    for change in changes:
        if change.epoch is not None:
            found[change.epoch] = max(found[change.epoch], change.asked)
    return found


def _of_answer(answer: VoterAnswer, replica: str, *, lasts: bool) -> _Saying:
    votes = replica in answer.voters
    what = f"it says {'that it is a voter' if votes else 'that there is no such voter'}"
    return _Saying(
        votes=votes,
        asked=answer.asked,
        answered=answer.answered,
        least=answer.epoch,
        most=answer.epoch,
        lasts=lasts,
        shown={"what": what, **answer.shown},
    )


def _said_of(change: VoterChange, told: DescribedQuorum) -> bool | None:
    """Whether the leader says by its answer that the replica is a voter; None: it says nothing
    about it.

    Apache Kafka calls a voter a duplicate if its node is a voter by another disk, and says that
    there is no such voter if it is the last one (KIP-853).
    """
    if change.is_done:
        return change.adds
    node = change.replica.partition(":")[0]
    if change.error == _DUPLICATE_VOTER:
        disks = [each for each in told.replicas if each.partition(":")[0] == node]
        return True if len(disks) == 1 else None
    if change.error == _VOTER_NOT_FOUND:
        return None if any(len(each.voters) < 2 for each in told.answers) else False
    return None


def _of_change(change: VoterChange, *, votes: bool) -> _Saying:
    return _Saying(
        votes=votes,
        asked=change.asked,
        answered=change.ended,
        least=change.least,
        most=change.most,
        lasts=change.is_done,  # a node that refuses may be deposed, and know of nothing since
        shown=change.shown,
    )


def _against(
    replica: str, rows: Sequence[_Saying], changes: Sequence[VoterChange]
) -> Iterator[Violation]:
    """Statements that contradict an earlier one, each with the first that it contradicts."""
    if len({row.votes for row in rows}) == 1:
        return
    mine = [each for each in changes if each.replica == replica and each.may_be_done]
    for later in rows:
        since = _may_have_led_to(later, mine)
        for row in rows:
            if row.votes is not later.votes and row.asked > since and row.binds(later):
                state = "a voter" if later.votes else "no voter"
                text = f"node {later.shown['node']} says that {replica} is {state}, but no client "
                text += f"had asked for that since node {row.shown['node']} said the opposite"
                yield Violation(text, [row.shown, later.shown])
                break


def _may_have_led_to(later: _Saying, changes: Sequence[VoterChange]) -> float:
    """Until when a change with that effect may have happened; FOREVER if its end is uncertain."""
    towards = (each for each in changes if each.adds is later.votes)
    return max((each.ended for each in towards if each.asked <= later.answered), default=-inf)


# At most one change in a leader's answer about the voters is uncommitted, and may be undone.
#
# A change is written once the one before it is committed (KIP-856, "Voter Changes"). So all later
# leaders have all the changes in a leader's answer except perhaps the newest one, which may be
# truncated with the end of the log. An unacknowledged answer proves nothing about one replica;
# about all of them together it does.
#
# `V2-one-change-uncommitted` judges the same for nodes that trace what they write; this is what
# clients see of it, for any target.


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
def one_described_change_undone(evidence: Evidence) -> CheckResult:
    """Later leaders undo at most one change of the voters that a leader answered.

    From answers to DescribeQuorum, each against all of later epochs: replicas of which the two say
    the opposite, though no client asked for that in between. Not before the first acknowledgement
    of the run, for the first voters of a quorum are written all at once. (KIP-856, "Voter Changes":
    one at a time)
    """
    told = evidence.once(DescribedQuorum)
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
