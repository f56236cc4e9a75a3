"""One name for one thing: no two public types of the packages share one, and no two public
constants of the node. Modules may: packages are namespaces.

The node is looked at by itself: harness and node share no code, and Kafka's things have Kafka's
names in both.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HARNESS = ("chaos", "checkers", "spark_reports", "workloads")
NODE = ("node",)
PUBLIC_API = ROOT / "chaos/testing"  # has the names that tests of others expect: Cluster, Run


@pytest.mark.parametrize(("packages", "at_least"), [(HARNESS, 500), (NODE, 100)])
def test_no_two_public_types_have_one_name(packages: tuple[str, ...], at_least: int) -> None:
    found = [(name, path) for path in sources(packages) for name in types_in(path.read_text())]
    assert len(found) > at_least
    assert shared(found) == {}


def test_no_two_public_constants_of_the_node_have_one_name() -> None:
    """What two modules know is in one of them; what is not the same has two names."""
    found = [(name, path) for path in sources(NODE) for name in constants_in(path.read_text())]
    assert len(found) > 200
    assert shared(found) == {}


def test_constants_are_found_however_they_are_made() -> None:
    text = "ONE = 1\nTWO: int = 2\nTHREE, FOUR = 3, 4\n_FIVE = 5\nT = TypeVar('T')\nSix = int\n"
    assert list(constants_in(text)) == ["ONE", "TWO", "THREE", "FOUR"]


@pytest.mark.parametrize(
    "text",
    [
        "class One: ...",
        "One = int | str",
        "One: TypeAlias = 'list[One]'",
        "One = NewType('One', int)",
        "One = TypeVar('One')",
    ],
)
def test_types_are_found_however_they_are_made(text: str) -> None:
    assert list(
        types_in(f"{text}\n_One = int\nONE = 1\none = 2\ndef f() -> None:\n  Two = 1\n")
    ) == ["One"]


def test_names_that_are_shared_are_found() -> None:
    one, two = Path("one.py"), Path("two.py")
    assert shared([("A", one), ("B", one), ("A", two)]) == {"A": ["one.py", "two.py"]}


def sources(packages: Iterable[str]) -> list[Path]:
    return [
        path
        for package in packages
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name != "__main__.py" and path.parent != PUBLIC_API
    ]


def types_in(text: str) -> Iterator[str]:
    """The classes and aliases of a module that others may import."""
    for statement in ast.parse(text).body:
        match statement:
            case (
                ast.ClassDef(name=name)
                | ast.Assign(targets=[ast.Name(id=name)])
                | ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias"))
            ) if name[0].isupper() and not name.isupper():
                yield name


def constants_in(text: str) -> Iterator[str]:
    """Those of a module that others may import; type variables have one letter."""
    for statement in ast.parse(text).body:
        for name in _assigned(statement):
            if name.isupper() and not name.startswith("_") and len(name) > 1:
                yield name


def _assigned(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=parts)]):
            targets = parts
        case ast.Assign(targets=targets):
            pass
        case ast.AnnAssign(target=target):
            targets = [target]
        case _:
            targets = []
    return [each.id for each in targets if isinstance(each, ast.Name)]


def shared(found: Iterable[tuple[str, Path]]) -> dict[str, list[str]]:
    """The names that more than one file has, with those files."""
    where: dict[str, list[str]] = defaultdict(list)
    for name, path in found:
        where[name].append(path.relative_to(ROOT).as_posix() if path.is_absolute() else path.name)
    return {name: paths for name, paths in where.items() if len(paths) > 1}
