"""`run --expect`: what somebody expects of a run, by a word on the line."""

import argparse
import difflib

from chaos.operator_errors import UsageError
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

_BY_THE_HARNESS = ("run", "judge")  # rows that no check of the judge gives
_INVARIANT = "invariant:"


def expectation(text: str) -> Expectation:
    """`invalid`, `void:faults-bit`: a verdict, and the check that is to give it."""
    word, colon, check = text.partition(":")
    words = [verdict.word for verdict in Verdict]
    if word not in words or bool(colon) != bool(check):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no VERDICT and no VERDICT:CHECK; verdicts are {', '.join(words)}"
        )
    return Expectation(verdict=Verdict[word.upper()], check=check)


def require_known(expected: Expectation) -> None:
    """Before a run takes its time. Raises UsageError for a check that there is not."""
    from checkers.suite import CHECKS

    check, known = expected.check, sorted({each.id for each in CHECKS})
    if not check or check in (*known, *_BY_THE_HARNESS) or check.startswith(_INVARIANT):
        return
    near = difflib.get_close_matches(check, known, n=3, cutoff=0.4) or known
    raise UsageError(f"--expect: no check {check!r}\n  try: one of {', '.join(near)}")
