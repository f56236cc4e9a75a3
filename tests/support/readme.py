"""The commands that readers are told to type, in README.md and in docs/."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Typed by a test of its own (`tests/container/test_mixed_quorum.py`), which looks at its checks.
MIXED = "kraft-chaos run mixed-quorum"
OWN_APP = "kraft-chaos run power-off-brokers --app"  # `tests/container/test_own_application.py`


# Results tell of runs that take hours, or Apache Kafka.
PAGES = (
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "results"),
)


def readme_blocks() -> list[list[str]]:
    """Of each console block, every line after a `$`, its comment taken off."""
    pages = "\n".join(page.read_text() for page in PAGES)
    blocks = re.findall(r"```console\n(.*?)```", pages, re.DOTALL)
    typed = [re.findall(r"^\$ (.*)$", block, re.MULTILINE) for block in blocks]
    return [[shlex.join(shlex.split(line, comments=True)) for line in lines] for lines in typed]


COMMANDS = [command for lines in readme_blocks() for command in lines]


def command_of(begin: str) -> list[str]:
    """The words of the only command that begins so, without the program's name."""
    (found,) = (command for command in COMMANDS if command.startswith(begin))
    return shlex.split(found)[1:]
