"""Sides of several releases: their images are there before the first run, and nobody else's. And
bars: which runs count, and how many have to be as expected."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaos.campaign import comparing
from chaos.campaign.comparing import CompareArguments, compare, doubt_of
from chaos.cluster.targets.named import release_of
from chaos.errors import UsageError
from chaos.progress import ConsoleProgress
from chaos.run.launch import Ran
from chaos.run.planning import Choices, plan_of
from chaos.scenarios import SCENARIOS
from checkers.conclusion import STARVED
from checkers.history.sealed_run import RunInfo
from checkers.run.expectation import Expectation
from checkers.verdict import CheckResult, Judgement, Verdict
from tests.support.histories import run_info


class StoppedHereError(Exception):
    """Instead of a run."""


ARGUMENTS = CompareArguments(
    scenarios=("fenced-last-leader",),
    runtime="",
    targets=("kafka",),
    settings={},
    times=1,
    least=None,
    seed=1,
    out=Path(),
    as_json=False,
)


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The releases that were set up; the first run raises StoppedHereError."""
    releases: list[str] = []

    def run(choices: Choices, _: Path, __: ConsoleProgress) -> Ran:
        raise StoppedHereError(plan_of(replace(choices, runtime="docker")).target)

    monkeypatch.setattr(comparing, "prepare", lambda _, release: releases.append(release))
    monkeypatch.setattr(comparing, "perform", run)
    return releases


def test_each_side_runs_its_release_and_the_images_are_made_before(prepared: list[str]) -> None:
    with pytest.raises(StoppedHereError, match=r"kafka:4\.0\.2"):
        compare(ARGUMENTS)
    sides = SCENARIOS["fenced-last-leader"].sides
    assert prepared == [side.release for side in sides] == ["4.0.2", "4.1.0"]


def test_sides_without_releases_run_what_was_asked_for(prepared: list[str]) -> None:
    asked = replace(ARGUMENTS, scenarios=("last-replica-standing",), targets=("kafka:4.1.0",))
    with pytest.raises(StoppedHereError, match=r"kafka:4\.1\.0"):
        compare(asked)
    assert prepared == []


def test_a_release_is_not_taken_where_the_sides_have_their_own(prepared: list[str]) -> None:
    with pytest.raises(UsageError, match=r"releases of their own: 4\.0\.2, 4\.1\.0"):
        compare(replace(ARGUMENTS, targets=("kafka:4.3.1",)))
    assert prepared == []


def test_every_release_of_a_side_is_one_that_a_target_may_have() -> None:
    for scenario in SCENARIOS.values():
        for side in scenario.sides:
            if side.release:
                assert release_of(f"kafka:{side.release}") == side.release


def test_what_the_target_cannot_do_is_said_before_the_first_run(prepared: list[str]) -> None:
    both = ("last-replica-standing", "moved-replicas")
    with pytest.raises(UsageError, match="moves replicas between log directories"):
        compare(replace(ARGUMENTS, scenarios=both, targets=("node",)))
    assert prepared == []


def judged(verdict: Verdict, *results: CheckResult) -> Judgement:
    return Judgement(run_id="run", verdict=verdict, sentence=verdict.name, results=results)


NOTHING_LOST = CheckResult(
    check="log-durability",
    verdict=Verdict.VALID,
    message="",
    facts={"acknowledged": 5, "allowed_loss": 0},
)
CALM = run_info(pressure={"longest_late_ms": 20.0})
LATE = run_info(pressure={"longest_late_ms": 1500.0})


@pytest.mark.parametrize(
    ("expected", "seen", "info", "doubt"),
    [
        (Verdict.VALID, Verdict.VOID, CALM, "it is void"),
        (Verdict.VALID, Verdict.UNKNOWN, LATE, "the machine was starved"),
        (Verdict.INVALID, Verdict.VALID, LATE, "the machine was starved"),
        (Verdict.INVALID, Verdict.ERROR, LATE, "the machine was starved"),
        (Verdict.INVALID, Verdict.VALID, CALM, ""),
        (Verdict.VALID, Verdict.UNKNOWN, CALM, ""),
        (Verdict.VALID, Verdict.INVALID, LATE, ""),  # an accusation counts, whatever else was
        (Verdict.VALID, Verdict.VALID, LATE, ""),
        (Verdict.VOID, Verdict.VOID, LATE, ""),
    ],
)
def test_a_run_that_shows_nothing_is_set_aside_and_an_accusation_never(
    expected: Verdict, seen: Verdict, info: RunInfo, doubt: str
) -> None:
    found = doubt_of(Expectation(verdict=expected), judged(seen), info)
    assert found.startswith(doubt)
    assert bool(found) == bool(doubt)


def test_a_run_that_was_starved_for_a_moment_is_set_aside() -> None:
    """Over the whole run its figures are good."""
    slow = CheckResult(
        check="serves-in-calm", verdict=Verdict.ERROR, message="but a timer", facts={STARVED: 1}
    )
    expected = Expectation(verdict=Verdict.VALID)
    assert doubt_of(expected, judged(Verdict.ERROR, slow), CALM) == "but a timer"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str, Verdict], Any]:
    """`compare` twice a side, where each run of one side is set aside or not, by its number."""

    def compared(guilty: str, innocent: Verdict) -> tuple[int, dict[str, list[int | None]]]:
        seeds: dict[str, list[int | None]] = {"elr=off": [], "elr=on": []}

        def run(choices: Choices, out: Path, _: ConsoleProgress) -> Ran:
            seeds[choices.side].append(choices.seed)
            if choices.side == "elr=on":
                judgement = replace(judged(innocent), results=(NOTHING_LOST,))
            else:
                judgement = _accused(guilty[len(seeds["elr=off"]) - 1])
            return Ran(judgement=judgement, directory=out, interrupted=False, duration_s=1.0)

        monkeypatch.setattr(comparing, "perform", run)
        monkeypatch.setattr(comparing, "read_run_info", lambda _: CALM)
        monkeypatch.setattr(comparing, "plan_of", lambda _: None)
        asked = replace(
            ARGUMENTS, scenarios=("last-replica-standing",), times=2, least=1, out=tmp_path
        )
        return compare(asked), seeds

    return compared


def _accused(letter: str) -> Judgement:
    """x: as expected; -: nothing was seen; v: void."""
    if letter == "v":
        return judged(Verdict.VOID)
    if letter == "-":
        return judged(Verdict.VALID)
    (side, _) = SCENARIOS["last-replica-standing"].sides
    row = CheckResult(
        check=side.expected.check,
        verdict=Verdict.INVALID,
        message=side.expected.anomaly,
        count=side.expected.least,
    )
    return replace(judged(Verdict.INVALID), results=(row,))


@pytest.mark.parametrize(
    ("guilty", "innocent", "code", "seeds"),
    [
        ("xx", Verdict.VALID, 0, [1, 2]),
        ("x-", Verdict.VALID, 0, [1, 2]),  # one of two is the bar
        ("--", Verdict.VALID, 1, [1, 2]),
        ("xx", Verdict.INVALID, 1, [1, 2]),  # of the other side none may be amiss
        ("vxx", Verdict.VALID, 0, [1, 2, 3]),
        ("vvvx", Verdict.VALID, 1, [1, 2, 3, 4]),  # too few are left to say
    ],
)
def test_a_bar_is_kept_by_runs_that_count_and_others_take_the_place_of_those_set_aside(
    told: Callable[[str, Verdict], Any],
    guilty: str,
    innocent: Verdict,
    code: int,
    seeds: list[int],
) -> None:
    found, ran = told(guilty, innocent)
    assert (found, ran["elr=off"]) == (code, seeds)
    assert ran["elr=on"] == [1, 2]


@pytest.mark.usefixtures("prepared")
def test_two_targets_are_run_one_after_the_other_for_each_side(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = replace(ARGUMENTS, scenarios=("undeleted-records",), targets=("node", "kafka"))
    ran: list[tuple[str, str]] = []

    def run(choices: Choices, _: Path, __: ConsoleProgress) -> Ran:
        plan = plan_of(replace(choices, runtime="docker"))
        ran.append((plan.target, plan.side))
        raise StoppedHereError(plan.target)

    monkeypatch.setattr(comparing, "perform", run)
    with pytest.raises(StoppedHereError, match="node"):
        compare(asked)
    with pytest.raises(StoppedHereError, match="kafka"):
        compare(replace(asked, targets=("kafka", "node")))
    assert [target for target, _ in ran] == ["node", "kafka"]
    with pytest.raises(UsageError, match="only our own node can be simulated"):
        compare(replace(asked, runtime="sim"))
    assert len(ran) == 2
