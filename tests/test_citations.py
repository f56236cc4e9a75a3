"""What the documentation and the docstrings cite is there, and module maps name what there is."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from chaos.bugs.catalogue import IN_CONTAINERS, MUTATIONS
from checkers.all_checks import CHECKS

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("chaos", "checkers", "node", "spark_reports", "tests", "workloads")
FOLDERS = (*PACKAGES, "compose", "docs", ".ci", ".github")

# Packages whose docstring says of each of their modules what it is for.

# Words that point out of the repository, in two parts so that they do not stand here.
OUTSIDE = re.compile(
    "|".join(
        first + second
        for first, second in (
            (r"\bDESIGN", r"( \d|,|\.md|\))"),
            (r"\bSTYLE", r"(, [a-z0-9]|\.md)"),
            (r"\bfac", r"ts/"),
            (r"\(fac", r"ts: [a-z]+( \d|\))"),
            (r"\bfault-", r"injection\b"),
            (r"\bknown-", r"bugs\b"),
            (r"\.\./", r"shared\b"),
            (r"\bof the inv", r"ariants\b"),
            (r"\btable of inv", r"ariants\b"),
            (r"\blist of kno", r"wn bugs\b"),
        )
    )
)
ANY_PATH = re.compile(rf"(?<![\w./~-])(?:{'|'.join(map(re.escape, FOLDERS))})/[\w./*-]+")
TICKED = re.compile(r"`([^`\s]+)`")
DOTTED = re.compile(rf"(?:{'|'.join(PACKAGES)})(?:\.\w+)+")
PROPERTIES = {"node.id"}  # of Kafka's, which look like names of ours
BARE_FILE = re.compile(r"(?<![\w./*-])\w[\w-]*\.(?:py|md)\b(?!/)")
OF_THE_READER = "app.py"  # an application of theirs, as examples call it
LONG_STRING = re.compile(r'"""(.*?)"""', re.DOTALL)
COMMENT = re.compile(r"(?:^|\s)# (.*)")
NUMBER = re.compile(r"(?<![\w-])([QPEM]\d{1,2})\b(?!-)")
CHECK_ID = re.compile(r"\b[QPEM]\d+-[a-z]+(?:-[a-z0-9]+)+\b")


class Prose(NamedTuple):
    """Text that people read: a page, a docstring or a comment of a file."""

    file: Path  # relative to the top
    line: int
    text: str


@cache
def tracked() -> frozenset[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [Path(line) for line in listed.stdout.splitlines()]
    return frozenset(path for path in paths if (ROOT / path).is_file())


@cache
def files() -> frozenset[tuple[str, str]]:
    """Of every file, the folder at the top and its own name."""
    return frozenset((path.parts[0], path.name) for path in tracked())


@cache
def folders() -> frozenset[Path]:
    return frozenset(parent for path in tracked() for parent in path.parents)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


@cache
def prose() -> tuple[Prose, ...]:
    pages = [path for path in sorted(tracked()) if path.suffix == ".md"]
    sources = [path for path in sorted(tracked()) if path.suffix == ".py"]
    return (
        *(Prose(page, 1, (ROOT / page).read_text(encoding="utf-8")) for page in pages),
        *(each for source in sources for each in (*docstrings(source), *comments(source))),
    )


def docstrings(path: Path) -> Iterator[Prose]:
    """Everything in three quotes: to parse all files takes longer than all that is asked here."""
    text = (ROOT / path).read_text(encoding="utf-8")
    for found in LONG_STRING.finditer(text):
        yield Prose(path, text.count("\n", 0, found.start()) + 1, found[1])


def comments(path: Path) -> Iterator[Prose]:
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if found := COMMENT.search(line):
            yield Prose(path, number, found[1])


def told(each: Prose, what: str) -> str:
    return f"{each.file}:{each.line}: {what}"


def test_every_path_that_is_named_is_there() -> None:
    def exists(name: str) -> bool:
        path = Path(name.rstrip("/."))
        return any(ROOT.glob(name)) if "*" in name else path in tracked() or path in folders()

    named = [(each, name) for each in prose() for name in ANY_PATH.findall(each.text)]
    assert len(named) > 30
    assert [told(each, name) for each, name in named if not exists(name)] == []


def test_every_file_that_is_named_without_its_folder_is_near() -> None:
    """In a page it stands at the top or beside the page; in a source, somewhere in its package."""

    def near(each: Prose, name: str) -> bool:
        top = each.file.parts[0] if each.file.suffix == ".py" else "."
        beside = (each.file.parent / name, Path(name))
        return (top, name) in files() or any(path in tracked() for path in beside)

    named = [(each, name) for each in prose() for name in BARE_FILE.findall(each.text)]
    assert len(named) > 200
    missing = [told(each, name) for each, name in named if not near(each, name)]
    assert [each for each in missing if not each.endswith(OF_THE_READER)] == []


def test_every_dotted_name_is_a_module_or_stands_in_one() -> None:
    named = [
        (each, name)
        for each in prose()
        for name in TICKED.findall(each.text)
        if DOTTED.fullmatch(name) and name not in PROPERTIES
    ]
    assert len(named) > 50
    assert [told(each, name) for each, name in named if not is_defined(name)] == []


def is_defined(name: str) -> bool:
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        path, rest = Path(*parts[:count]), parts[count:]
        module = next(
            (p for p in (path.with_suffix(".py"), path / "__init__.py") if p in tracked()), None
        )
        if module is not None:
            return not rest or has_name(tree_of(module).body, rest)
    return False


def has_name(body: list[ast.stmt], names: list[str]) -> bool:
    """Whether `A.b` stands in a module: a class or function, and what stands in the class."""
    for statement in body:
        if names[0] in names_of(statement):
            inner = statement.body if isinstance(statement, ast.ClassDef) else []
            return len(names) == 1 or has_name(inner, names[1:])
    return False


def names_of(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return {statement.name}
        case ast.Import() | ast.ImportFrom():
            return {alias.asname or alias.name for alias in statement.names}
        case ast.Assign():
            return {each.id for each in statement.targets if isinstance(each, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case _:
            return set()


def test_links_lead_to_a_page_and_a_heading() -> None:
    broken = []
    for each in prose():
        for link in re.findall(r"\]\(([^)\s]+)\)", each.text) if each.file.suffix == ".md" else ():
            target, _, anchor = link.partition("#")
            page = (ROOT / each.file.parent / target).resolve() if target else ROOT / each.file
            if "://" not in link and not (page.exists() and has_heading(page, anchor)):
                broken.append(told(each, link))
    assert broken == []


def has_heading(page: Path, anchor: str) -> bool:
    if not anchor:
        return True
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return anchor in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_nothing_points_out_of_the_repository() -> None:
    found = []
    for path in sorted(tracked()):
        if path.suffix in {".py", ".md", ".toml", ".yml", ""}:
            lines = (ROOT / path).read_text(encoding="utf-8", errors="replace").splitlines()
            found += [
                f"{path}:{n}: {line}" for n, line in enumerate(lines, 1) if OUTSIDE.search(line)
            ]
    assert found == []


def test_every_check_that_is_named_exists() -> None:
    ids = {check.id for check in CHECKS}
    named = [(each, name) for each in prose() for name in CHECK_ID.findall(each.text)]
    assert len(named) > 50
    assert [told(each, name) for each, name in named if name not in ids] == []


def test_every_number_of_a_check_in_the_judge_is_one() -> None:
    numbers = {check.id.partition("-")[0] for check in CHECKS}
    judges = [each for each in prose() if each.file.parts[0] == "checkers"]
    named = [(each, name) for each in judges for name in NUMBER.findall(each.text)]
    assert len(named) > 30
    assert [told(each, name) for each, name in named if name not in numbers] == []


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("checkers.check.Check.promise", True),
        ("checkers.check.Check.promises", False),
        ("checkers.log.findings", True),
        ("checkers.log.fate", False),
        ("checkers.history.tables.FAULTS", True),
        ("node.wire.API_RANGES", True),
        ("nodes.wire", False),
    ],
)
def test_a_name_that_is_not_there_is_found_out(name: str, there: bool) -> None:
    assert is_defined(name) is there


def test_pages_count_the_planted_bugs() -> None:
    readme = (ROOT / "README.md").read_text()
    (told,) = re.findall(
        r"by (\d+) bugs that are planted in containers and (\d+) in virtual", readme
    )
    page = (ROOT / "docs" / "how-to" / "test-the-judge.md").read_text()
    counts = [str(len(IN_CONTAINERS)), str(len(MUTATIONS))]
    assert [*told] == re.findall(r"\b(\d+) known bugs", page) == counts


def test_the_readme_is_a_front_page() -> None:
    assert (ROOT / "README.md").stat().st_size <= 8_000
