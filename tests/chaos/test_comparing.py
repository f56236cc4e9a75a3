"""Sides of several releases: their images are there before the first run, and nobody else's."""

from dataclasses import replace
from pathlib import Path

import pytest

from chaos import comparing
from chaos.cluster.targets.named import release_of
from chaos.comparing import CompareArguments, compare
from chaos.launch import Ran
from chaos.operator_errors import UsageError
from chaos.planning import Choices, plan_of
from chaos.progress import ConsoleProgress
from chaos.scenarios import SCENARIOS


class StoppedHereError(Exception):
    """Instead of a run."""


ARGUMENTS = CompareArguments(
    scenarios=("fenced-last-leader",),
    runtime="",
    target="kafka",
    settings={},
    times=1,
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
    asked = replace(ARGUMENTS, scenarios=("last-replica-standing",), target="kafka:4.1.0")
    with pytest.raises(StoppedHereError, match=r"kafka:4\.1\.0"):
        compare(asked)
    assert prepared == []


def test_a_release_is_not_taken_where_the_sides_have_their_own(prepared: list[str]) -> None:
    with pytest.raises(UsageError, match=r"releases of their own: 4\.0\.2, 4\.1\.0"):
        compare(replace(ARGUMENTS, target="kafka:4.3.1"))
    assert prepared == []


def test_every_release_of_a_side_is_one_that_a_target_may_have() -> None:
    for scenario in SCENARIOS.values():
        for side in scenario.sides:
            if side.release:
                assert release_of(f"kafka:{side.release}") == side.release


def test_what_the_target_cannot_do_is_said_before_the_first_run(prepared: list[str]) -> None:
    both = ("last-replica-standing", "moved-replicas")
    with pytest.raises(UsageError, match="log_dirs=2: our own node has"):
        compare(replace(ARGUMENTS, scenarios=both, target="node"))
    assert prepared == []
