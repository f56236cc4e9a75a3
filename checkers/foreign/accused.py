"""The results of the judges of single objects: nothing wrong, or a violation with its
operations."""

from dataclasses import dataclass

from checkers.foreign.keyed_calls import KeyedCall
from checkers.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Accused:
    """`parts` are the operations that show it, each with the part it plays, in that order."""

    message: str
    parts: tuple[tuple[KeyedCall, str], ...] = ()
    verdict: Verdict = Verdict.INVALID
    hint: str = ""  # what the user may state about the file, if that is how it was
