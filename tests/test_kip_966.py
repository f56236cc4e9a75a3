"""`docs/reference/kip-966.md`: each statement names tests and scenarios that there are, or says why
it is left out."""

import re
from pathlib import Path

import pytest

from chaos.scenarios import SCENARIOS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "kip-966.md"
_ROW = re.compile(r"^\| (?!statement|---)(.+) \| (.+) \|$", re.MULTILINE)
_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")
_SCENARIO = re.compile(r"`([a-z]+(?:-[a-z]+)+)`")
ROWS = _ROW.findall(PAGE.read_text())


def test_the_page_has_the_kip() -> None:
    assert len(ROWS) > 60
    assert len({statement for statement, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("statement", "held"), ROWS, ids=[statement[:60] for statement, _ in ROWS])
def test_each_statement_is_held_or_left_out_on_purpose(statement: str, held: str) -> None:
    tests = _TEST.findall(held)
    scenarios = _SCENARIO.findall(held) if "scenario" in held else []
    for file, name in tests:
        assert re.search(rf"^(?:async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE)
    assert {*scenarios} <= {*SCENARIOS}
    assert tests or scenarios or held.startswith("left out: "), statement
