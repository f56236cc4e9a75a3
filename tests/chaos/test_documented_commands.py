"""Every `kraft-chaos` command in README and docs exists, with the flags that stand behind it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.cli import parser
from chaos.commands.arguments import Parser

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
_LINE = re.compile(r"kraft-chaos ([a-z][a-z-]*)\b([^`\n|&#;]*)")
_FLAG = re.compile(r"(?<!\S)--[a-z][a-z-]*")


def commands() -> dict[str, Parser]:
    (found,) = (each for each in parser()._actions if each.dest == "command")
    assert isinstance(found.choices, dict)
    return found.choices


def documented(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command in a text, and its flags."""
    for found in _LINE.finditer(text.replace("\\\n", " ")):
        yield found[1], _FLAG.findall(found[2])


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.exists()], ids=lambda page: page.stem
)
def test_documented_commands_exist(page: Path) -> None:
    known = commands()
    for name, flags in documented(page.read_text(encoding="utf-8")):
        assert name in known, f"kraft-chaos {name}"
        options = {one for each in known[name]._actions for one in each.option_strings}
        assert set(flags) <= options, f"kraft-chaos {name}"


def test_what_is_not_there_is_noticed() -> None:
    text = "`kraft-chaos repeat RUN` or\n$ kraft-chaos run --sed 3 \\\n  --keep | tail # --x"
    assert [*documented(text)] == [("repeat", []), ("run", ["--sed", "--keep"])]
