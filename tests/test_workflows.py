"""What CI calls exists: targets of the Makefile, scripts, commands with their options."""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.cli import parser

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PULL_REQUEST = next(path for path in WORKFLOWS if path.name == "pull-request.yml")
TARGETS = set(re.findall(r"^([\w./-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
_KEY = re.compile(r"\s*(?:- )?run: (?P<said>.*)")
_WITHIN_MINUTES = 8


def commands(text: str) -> Iterator[list[str]]:
    """The words of each `run:` line, a folded one joined; what GitHub fills in is a number."""
    lines = text.splitlines()
    for place, line in enumerate(lines):
        if (found := _KEY.fullmatch(line)) is None:
            continue
        said = found["said"]
        if said.startswith(">"):
            indent = len(line) - len(line.lstrip(" -"))
            folded = []
            for later in lines[place + 1 :]:
                if later.strip() and len(later) - len(later.lstrip()) <= indent:
                    break
                folded.append(later.strip())
            said = " ".join(folded)
        said = re.sub(r"\$\{\{.*?\}\}", "1", said).replace("$SEEDS", "1000..1999")
        yield shlex.split(said, comments=True)


def called(words: list[str]) -> list[str]:
    """Without what comes before the program: sudo, env and settings."""
    while words[0] in ("sudo", "env") or words[0].startswith("--preserve-env") or "=" in words[0]:
        words = words[1:]
    return words


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_command_of_a_workflow_exists(path: Path) -> None:
    found = [called(words) for words in commands(path.read_text())]
    assert found
    for program, *options in found:
        if program == "make":
            assert set(options) <= TARGETS, options
        elif program == ".venv/bin/kraft-chaos":
            parsed, unknown = parser().parse_known_args(options)
            assert not unknown, unknown
            assert callable(parsed.run)
        else:
            assert os.access(ROOT / program, os.X_OK), program


def test_a_pull_request_waits_minutes_for_each_kind_of_proof() -> None:
    text = PULL_REQUEST.read_text()
    limits = [int(minutes) for minutes in re.findall(r"timeout-minutes: (\d+)", text)]
    assert len(limits) == text.count("runs-on:")
    assert max(limits) <= _WITHIN_MINUTES
    found = [called(words) for words in commands(text)]
    assert {"lint", "unit"} <= {word for words in found for word in words}
    subcommands = {words[1] for words in found if words[0] == ".venv/bin/kraft-chaos"}
    assert subcommands == {"selftest", "run", "compare", "campaign"}


def test_a_command_that_there_is_not_would_be_seen() -> None:
    text = """
      - run: >
          sudo --preserve-env=A
          .venv/bin/kraft-chaos nightly --bugdet 1h
      - run: make no-such
"""
    (nightly, make) = map(called, commands(text))
    assert parser().parse_known_args(nightly[1:])[1] == ["--bugdet", "1h"]
    assert make == ["make", "no-such"]
    assert "no-such" not in TARGETS
