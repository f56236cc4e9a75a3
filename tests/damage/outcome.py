"""What became of the verdict on a run from which something was taken."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chaos.run.judging import judge_directory
from chaos.run.seal import UnsealableError
from checkers.history.store import UnreadableRunError
from checkers.verdict import Judgement, Verdict

# Nobody can tell any more: what an honest judge says of a run that lacks something.
HONEST = ("unknown", "void", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`what` was done to a run, the verdict's word, and its sentence."""

    what: str
    verdict: str
    sentence: str

    @property
    def is_honest(self) -> bool:
        return self.verdict in HONEST


def judged(directory: Path, what: str) -> Outcome:
    return outcome_of(lambda: judge_directory(directory, page=False), what)


def outcome_of(judge: Callable[[], Judgement], what: str) -> Outcome:
    """A run that cannot be read is an error of its own, said in a sentence."""
    try:
        judgement = judge()
    except (UnreadableRunError, UnsealableError) as error:
        return Outcome(what=what, verdict=Verdict.ERROR.word, sentence=str(error))
    return Outcome(what=what, verdict=judgement.verdict.word, sentence=judgement.sentence)
