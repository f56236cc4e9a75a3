"""What was seen after the machinery had failed accuses nobody; what was seen before, does."""

from collections.abc import Mapping, Sequence

import pytest

from checkers.check import check, everywhere
from checkers.suite import judge
from checkers.verdict import CheckResult, EventValue, Verdict
from tests.support.histories import make_run

FAILED = {"part": "the proxy", "what": "ended with exit code 137", "t_ns": 2_000_000_000}
BEFORE: Mapping[str, EventValue] = {"what": "seen", "t_ns": 1_999_999_999}


@pytest.mark.parametrize(
    ("machinery", "witness", "verdict"),
    [
        ({}, [{"what": "seen", "t_ns": 3_000_000_000}], Verdict.INVALID),
        (FAILED, [BEFORE, {"what": "of no time"}], Verdict.INVALID),
        (FAILED, [BEFORE, {"what": "seen", "t_ns": 2_000_000_000}], Verdict.UNKNOWN),
        (FAILED, [{**BEFORE, "t1_ns": 2_500_000_000}], Verdict.UNKNOWN),
        (FAILED, [{**BEFORE, "t1_ns": None}], Verdict.UNKNOWN),
        (FAILED, [{"what": "of no time"}], Verdict.UNKNOWN),
        (FAILED, [], Verdict.UNKNOWN),
    ],
)
def test_only_what_lies_before_accuses(
    machinery: Mapping[str, str | int],
    witness: Sequence[Mapping[str, EventValue]],
    verdict: Verdict,
) -> None:
    @check("accuses", applies=everywhere, source="")
    def accuses(_: object) -> CheckResult:
        """A promise."""
        return CheckResult(verdict=Verdict.INVALID, message="broken", count=1, witness=witness)

    (row,) = judge(make_run(machinery=machinery), [accuses]).results
    assert row.verdict is verdict
    if verdict is Verdict.UNKNOWN:
        assert row.message == (
            "a suspicion only, since the proxy ended with exit code 137 after 2.0 s: broken"
        )
