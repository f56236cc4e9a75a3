"""`docs/reference/scenarios.md` is generated; `pytest --rewrite` writes it anew."""

import pytest

from chaos.commands.list_command import as_markdown
from chaos.scenarios import SCENARIOS
from tests.support.generated_page import hold_page


def test_the_page_says_what_the_scenarios_say(pytestconfig: pytest.Config) -> None:
    hold_page(pytestconfig, "scenarios.md", "tests/chaos/test_scenario_docs.py", as_markdown())


def test_every_scenario_has_a_section() -> None:
    assert [name for name in SCENARIOS if f"### {name}\n" not in as_markdown()] == []
