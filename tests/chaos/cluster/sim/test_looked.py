"""Each rule counts what it looked at: one that never has anything to judge is seen."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from chaos.cluster.sim import invariants
from chaos.cluster.sim.invariants.rules import ANSWER_RULES

SOURCES = sorted(Path(invariants.__file__).parent.glob("*.py"))


def constants(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def accusations(tree: ast.AST) -> Iterator[str]:
    """By which rules something is called broken."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            first = node.args[0]
            if node.func.id == "Broken" and isinstance(first, ast.Constant):
                yield str(first.value)


def test_what_may_be_broken_is_counted() -> None:
    """It is named in another place than where it is found to be broken."""
    trees = [ast.parse(path.read_text()) for path in SOURCES]
    said = Counter(name for tree in trees for name in constants(tree))
    accused = Counter(name for tree in trees for name in accusations(tree))
    assert len(accused) > 40
    assert [name for name, times in accused.items() if said[name] <= times] == []


def test_rules_of_answers_are_those_that_accuse() -> None:
    others = [path for path in SOURCES if path.stem != "answer_rules"]
    said = {name for path in others for name in constants(ast.parse(path.read_text()))}
    assert ANSWER_RULES.keys() <= said
