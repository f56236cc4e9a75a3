"""`run --expect`: the expected outcome of a run."""

import argparse
import difflib
from dataclasses import replace

from chaos.operator_errors import UsageError
from checkers.history.sealed_run import RunInfo
from checkers.run.expectation import Expectation, expectation_of
from checkers.verdict import Judgement, Verdict

_BY_THE_HARNESS = ("run", "judge")  # rows that come from no check
_INVARIANT = "invariant:"


def expectation(text: str) -> Expectation:
    """`invalid`, `void:faults-bit`, `invalid:log-durability,log-offsets`: a verdict, the check that
    must give it, and others that may accuse too."""
    word, colon, named = text.partition(":")
    words = [verdict.word for verdict in Verdict]
    check, *also = named.split(",")
    if word not in words or bool(colon) != all((check, *also)):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither VERDICT nor VERDICT:CHECK[,CHECK...]; verdicts are "
            f"{', '.join(words)}"
        )
    return Expectation(verdict=Verdict[word.upper()], check=check, also=tuple(also))


def of_run(asked: Expectation, info: RunInfo, judgement: Judgement) -> Expectation:
    """The same, with the checks that may accuse too: those named by the scenario's side with this
    expectation; with a planted bug, any."""
    also = list(asked.also)
    side = expectation_of(info.expected)
    if side is not None and (side.verdict, side.check) == (asked.verdict, asked.check):
        also += side.also
    if info.mutation:
        also += [row.check for row in judgement.results]
    return replace(asked, also=tuple(dict.fromkeys(also)))


def require_known(expected: Expectation) -> None:
    """Checked before the run. Raises UsageError for an unknown check."""
    from checkers.suite import CHECKS

    known = sorted({each.id for each in CHECKS})
    for check in filter(None, (expected.check, *expected.also)):
        if check not in (*known, *_BY_THE_HARNESS) and not check.startswith(_INVARIANT):
            near = difflib.get_close_matches(check, known, n=3, cutoff=0.4) or known
            raise UsageError(f"--expect: unknown check {check!r}\n  try: one of {', '.join(near)}")
