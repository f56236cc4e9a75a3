"""The commands of README.md."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Typed by a test of its own (`tests/container/test_mixed_quorum.py`), which looks at its checks.
MIXED = "kraft-chaos run mixed-quorum"


def readme_blocks() -> list[list[str]]:
    """Of each console block, every line after a `$`, its comment taken off."""
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    typed = [re.findall(r"^\$ (.*)$", block, re.MULTILINE) for block in blocks]
    return [[shlex.join(shlex.split(line, comments=True)) for line in lines] for lines in typed]


COMMANDS = [command for lines in readme_blocks() for command in lines]


def command_of(begin: str) -> list[str]:
    """The words of the only command that begins so, without the program's name."""
    (found,) = (command for command in COMMANDS if command.startswith(begin))
    return shlex.split(found)[1:]
