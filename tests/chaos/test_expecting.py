"""`run --expect`: 0 if that is what came, 1 if something else did."""

import argparse
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.commands.run_command import expectation, of_run
from chaos.run.runtimes import RUNTIMES
from checkers.run.expectation import Expectation
from checkers.verdict import CheckResult, Judgement, Verdict
from tests.support.fake_harness import FakeRuntime
from tests.support.histories import run_info

FAST = ["--duration", "1", "--concurrency", "4", "--rate", "300", "--seed", "5"]


@pytest.fixture
def toothless(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    runtime = FakeRuntime(bites=False)
    monkeypatch.setitem(RUNTIMES, "docker", runtime)
    return runtime


def test_it_is_a_verdict_and_perhaps_a_check() -> None:
    assert expectation("void") == Expectation(verdict=Verdict.VOID)
    assert expectation("invalid:log-durability") == Expectation(
        verdict=Verdict.INVALID, check="log-durability"
    )


def test_checks_that_may_accuse_as_well_are_named_behind_it() -> None:
    assert expectation("invalid:log-durability,log-offsets,log-sends") == Expectation(
        verdict=Verdict.INVALID, check="log-durability", also=("log-offsets", "log-sends")
    )


LOST = CheckResult(check="log-durability", verdict=Verdict.INVALID, message="", count=1)
BESIDE = CheckResult(check="log-offsets", verdict=Verdict.INVALID, message="", count=1)
SIDE = Expectation(verdict=Verdict.INVALID, check="log-durability", also=("log-offsets",))


@pytest.mark.parametrize(
    ("text", "side", "mutation", "holds"),
    [
        ("invalid", None, "", True),
        ("invalid:log-durability", None, "", False),
        ("invalid:log-durability,log-offsets", None, "", True),
        ("invalid:log-durability", SIDE, "", True),
        ("invalid:log-durability", None, "Q-ZOMBIE", True),
    ],
)
def test_who_accuses_as_well_is_named_by_somebody(
    text: str, side: Expectation | None, mutation: str, holds: bool
) -> None:
    judgement = Judgement(run_id="r", verdict=Verdict.INVALID, sentence="", results=(LOST, BESIDE))
    info = run_info(expected=side.as_json() if side else {}, mutation=mutation)
    assert of_run(expectation(text), info, judgement).holds(judgement) is holds


@pytest.mark.parametrize("text", ["invalid:a,", "", "red", "invalid:", ":durability", "VOID"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="verdicts are valid, unknown, void"):
        expectation(text)


@pytest.mark.parametrize(
    ("expected", "code", "said"),
    [
        ("void", 0, "as expected: void"),
        ("void:faults-bit", 0, "as expected: void by faults-bit"),
        ("valid", 1, "not as expected: void, expected valid"),
        ("void:durability", 1, "not as expected: not by durability, which is "),
    ],
)
def test_the_exit_code_says_whether_it_came_so(
    toothless: FakeRuntime,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    expected: str,
    code: int,
    said: str,
) -> None:
    words = ["run", "kill-leader", *FAST, "--out", str(tmp_path), "--expect", expected]
    assert main(words) == code
    out, err = capsys.readouterr()
    assert out.startswith("VOID")
    assert said in err
    assert toothless.made


def test_a_check_that_there_is_not_is_told_before_anything_runs(
    toothless: FakeRuntime, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "kill-leader", "--out", str(tmp_path), "--expect", "invalid:durabilty"]
    assert main(words) == 254
    err = capsys.readouterr().err
    assert "unknown check 'durabilty'" in err
    assert "try: one of durability" in err
    assert not toothless.made
