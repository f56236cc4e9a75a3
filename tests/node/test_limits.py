"""Each limit of the node is named by a test: what happens beyond it is shown somewhere."""

import ast
import re
from pathlib import Path

from node import limits

TESTS = Path(__file__).parents[1]
SOURCE = Path(limits.__file__)


def names() -> set[str]:
    body = ast.parse(SOURCE.read_text()).body
    assigned = [each for each in body if isinstance(each, ast.Assign)]
    return {name.id for each in assigned for name in each.targets if isinstance(name, ast.Name)}


def test_each_limit_is_named_by_a_test() -> None:
    text = "\n".join(path.read_text() for path in sorted(TESTS.rglob("*.py")))
    told = set(re.findall(r"\b[A-Z][A-Z_]+\b", text))
    assert len(names()) > 30
    assert names() - told == set()
