"""What is told while a run goes on, and whether a person sees it."""

import io

import pytest

from chaos.progress import ConsoleProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("told", "results", "ci", "is_watched"),
    [
        (Terminal(), Terminal(), "", True),
        (io.StringIO(), Terminal(), "", False),
        (Terminal(), io.StringIO(), "", False),
        (Terminal(), Terminal(), "true", False),
    ],
    ids=["a person", "stderr in a file", "a pipe", "CI with a terminal"],
)
def test_a_person_sees_what_is_told_and_the_results(
    monkeypatch: pytest.MonkeyPatch,
    told: io.StringIO,
    results: io.StringIO,
    ci: str,
    is_watched: bool,
) -> None:
    monkeypatch.setattr("sys.stdout", results)
    monkeypatch.setenv("CI", ci)
    assert ConsoleProgress(told).is_watched is is_watched
    assert not ConsoleProgress(told, quiet=True).is_watched
