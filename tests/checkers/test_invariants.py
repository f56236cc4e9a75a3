"""`docs/reference/invariants.md` is generated; `pytest --rewrite` writes it anew."""

import re

import pytest

from checkers.all_checks import CHECKS, as_markdown, as_text, listed
from checkers.check import Check
from tests.support.generated_page import hold_page


def test_the_page_says_what_the_checks_say(pytestconfig: pytest.Config) -> None:
    hold_page(pytestconfig, "invariants.md", "tests/checkers/test_invariants.py", as_markdown())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.id} {check.judges.__name__}")
def test_a_promise_is_said_in_whole_sentences(check: Check) -> None:
    assert check.promise[0].isupper()
    assert check.promise.endswith(".")
    assert "Needs:" not in check.promise
    assert not re.search(r"\([A-Z][^)]*\)\.?$", check.promise), "the source has its own field"


@pytest.mark.parametrize("row", listed(), ids=lambda row: row["id"])
def test_a_check_says_which_runs_it_judges(row: dict[str, str]) -> None:
    assert len(row["runs"].split()) >= 3


def test_no_two_checks_of_a_run_have_one_name() -> None:
    """Two of one name judge the same promise, one where nodes trace and one where they do not."""
    modules = {(row["id"], row["runs"]) for row in listed()}
    assert len(modules) == len(CHECKS)


def test_the_list_for_a_terminal_names_each() -> None:
    text = as_text()
    assert all(f"{check.id}\n" in text for check in CHECKS)
