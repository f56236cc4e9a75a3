"""`run --expect`: what somebody expects of a run, by a word on the line."""

import argparse
import difflib
from dataclasses import replace

from chaos.operator_errors import UsageError
from checkers.history.sealed_run import RunInfo
from checkers.run.expectation import Expectation, expectation_of
from checkers.verdict import Judgement, Verdict

_BY_THE_HARNESS = ("run", "judge")  # rows that no check of the judge gives
_INVARIANT = "invariant:"


def expectation(text: str) -> Expectation:
    """`invalid`, `void:faults-bit`, `invalid:log-durability,log-offsets`: a verdict, the check that
    is to give it, and those that may accuse beside it."""
    word, colon, named = text.partition(":")
    words = [verdict.word for verdict in Verdict]
    check, *also = named.split(",")
    if word not in words or bool(colon) != all((check, *also)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no VERDICT and no VERDICT:CHECK[,CHECK...]; verdicts are "
            f"{', '.join(words)}"
        )
    return Expectation(verdict=Verdict[word.upper()], check=check, also=tuple(also))


def of_run(asked: Expectation, info: RunInfo, judgement: Judgement) -> Expectation:
    """The same, with what may accuse beside it: what the side of the scenario names that expects
    the same of this run; and where a bug was planted, whatever sees what it breaks."""
    also = list(asked.also)
    side = expectation_of(info.expected)
    if side is not None and (side.verdict, side.check) == (asked.verdict, asked.check):
        also += side.also
    if info.mutation:
        also += [row.check for row in judgement.results]
    return replace(asked, also=tuple(dict.fromkeys(also)))


def require_known(expected: Expectation) -> None:
    """Before a run takes its time. Raises UsageError for a check that there is not."""
    from checkers.suite import CHECKS

    known = sorted({each.id for each in CHECKS})
    for check in filter(None, (expected.check, *expected.also)):
        if check not in (*known, *_BY_THE_HARNESS) and not check.startswith(_INVARIANT):
            near = difflib.get_close_matches(check, known, n=3, cutoff=0.4) or known
            raise UsageError(f"--expect: no check {check!r}\n  try: one of {', '.join(near)}")
