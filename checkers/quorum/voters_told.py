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

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.quorum.voter_answers import ToldQuorum, VoterAnswer, VoterChange
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
def voters_as_told(evidence: Evidence) -> CheckResult:
    """Leaders' answers about the voters change only as was asked for.

    From answers to DescribeQuorum and to requests for a change, and from the epochs of the log. A
    replica that a leader named as a voter, or left out, stays so in its epoch; one that was added
    or removed with an acknowledgement stays so in that epoch and all later ones, and with it all
    earlier answers of its leader; until a change that may have happened since. Refusals say as
    much: that it is a voter already, or none. (KIP-856, DescribeQuorum; Raft, Leader Completeness)
    """
    told = evidence.once(ToldQuorum)
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


def _sayings(told: ToldQuorum) -> Mapping[str, list[_Saying]]:
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


def _said_of(change: VoterChange, told: ToldQuorum) -> bool | None:
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
