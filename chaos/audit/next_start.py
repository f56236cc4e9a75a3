"""What a node made of a difference when it started from the disk that had it.

Bytes do not decide: indexes are made anew, and files that are as they were may be believed wrongly.
The answers do. A difference is blamed for a changed answer if the answer is read from the file's
log, and a file that is derived from its log only where the log itself is whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from chaos.audit.copies import ComparedFile
from chaos.audit.file_kinds import KindOfFile
from chaos.audit.questions import ComparedAnswer


class NextStart(StrEnum):
    REBUILT = "rebuilt"  # the file is there again, and all answers are right
    IGNORED = "ignored"  # all answers are right, and the file is as the cut left it, or gone
    LOST = "lost, as allowed"  # an answer changed that was never promised beyond the page cache
    REFUSES = "refuses to start"
    UNDECIDED = "not read"  # the node refused to start for another file
    TRUSTED = "trusted"  # an answer changed that was promised


SUSPECT = (NextStart.TRUSTED, NextStart.REFUSES)
# The worst first: that is what to look at.
WORST = (
    NextStart.TRUSTED,
    NextStart.REFUSES,
    NextStart.LOST,
    NextStart.UNDECIDED,
    NextStart.IGNORED,
    NextStart.REBUILT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A file of which the disk holds something else than it said.

    `now_as_held`: after the start the file is as the cut left it, or not there.
    """

    node: int
    file: ComparedFile
    kind: KindOfFile
    now_as_held: bool


def outcomes(
    differences: Sequence[Difference], answers: Sequence[ComparedAnswer], refusal: str
) -> Mapping[tuple[int, str], NextStart]:
    """Of all nodes of a cut, by node and path: what is asked of a log rests on each of its
    replicas. `refusal`: the last words of a node that did not start; "" where all did."""
    if refusal:
        blamed = {_key(each) for each in _blamed(differences, refusal)}
        return {
            _key(each): NextStart.REFUSES if _key(each) in blamed else NextStart.UNDECIDED
            for each in differences
        }
    damaged = {each.kind.log for each in differences if not each.kind.kind.derived}
    return {_key(each): _outcome(each, answers, damaged) for each in differences}


def _key(each: Difference) -> tuple[int, str]:
    return each.node, each.file.path


def _blamed(differences: Sequence[Difference], refusal: str) -> Sequence[Difference]:
    """Those that the node speaks of; all, if it speaks of none."""
    named = [
        each
        for each in differences
        if each.kind.kind.blamed_by is not None and each.kind.kind.blamed_by.search(refusal)
    ]
    return named or differences


def _outcome(each: Difference, answers: Sequence[ComparedAnswer], damaged: set[str]) -> NextStart:
    innocent = each.kind.kind.derived and each.kind.log in damaged
    blamed = [] if innocent else [a for a in answers if a.changed and _rests_on(a, each.kind.log)]
    if any(answer.broken for answer in blamed):
        return NextStart.TRUSTED
    if blamed:
        return NextStart.LOST
    return NextStart.IGNORED if each.now_as_held else NextStart.REBUILT


def _rests_on(answer: ComparedAnswer, log: str) -> bool:
    return any(log == name or log.rpartition("-")[0] == name for name in answer.rests_on)
