"""The commands of README.md and docs/, typed one after another, do and print what they say."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.run.installation import prepare
from chaos.setup import docker_engine
from tests.container.clusters import assert_every_fault_is_proved, left_of
from tests.support.readme import COMMANDS, MIXED, OWN_APP, ROOT, readme_blocks

pytestmark = pytest.mark.spark

PLAYED = "kraft-chaos-play-"
PROGRAMS = {"kraft-chaos": "chaos.cli", "kraft-node": "node.server"}

# What a command prints, by how it begins; every command of the README must be here.
PROMISED = {
    "kraft-chaos up": ["bootstrap 127.0.0.1:", "kraft-chaos inject", "kraft-chaos down"],
    "kraft-chaos inject partition-leader": ["partition of node", "heal: kraft-chaos heal"],
    "kraft-chaos inject power-off-leader": ["power-off of node", "heal: kraft-chaos heal"],
    "kraft-chaos heal": ["healed: took effect"],
    "kraft-chaos down": ["was removed"],
    "kraft-chaos doctor": ["Docker engine", "loop disks", "Java"],
    "kraft-chaos list": ["baseline", "partition-leader", "kill-leader", "power-off"],
    "kraft-chaos run power-off --runtime sim": ["VALID: ", "faults-bit", "page: runs/"],
    "kraft-chaos replay": ["VALID: ", "page: runs/"],
    "kraft-chaos campaign": ["VALID: 4 of 4 seeds", "nodes hit by", "empty, "],
    "kraft-chaos setup --target kafka": [],
    "kraft-chaos setup --target mixed": [],
    "kraft-chaos compare last-replica-standing": [
        "elr=off        1 of 1 (21-100 %) as expected: acknowledged records are lost",
        "elr=on         1 of 1 (21-100 %) as expected: none is lost",
        "page: runs/last-replica-standing.html",
    ],
    "kraft-chaos chaos --faults kill,pause --every 5s --save": ["mine.toml"],
    "kraft-chaos chaos": ["VALID: ", "faults-bit", "page: runs/"],
    "kraft-chaos run": ["VALID: ", "faults-bit", "page: runs/"],
    "kraft-chaos check runs": ["VALID: ", "page: "],
    "kraft-chaos check --list": ["linearizable", "log-durability", "source: "],
    "kraft-chaos check --help": ["--model", "history.edn"],
    "kraft-chaos selftest --help": ["--mutation", "R-STALE-READ"],
    "kraft-chaos report": ["page: report.html"],
}


# `make test` and such, and what has a test of its own.
ELSEWHERE = ("make ", MIXED, OWN_APP)
BY_HAND = [
    lines
    for block in readme_blocks()
    if (lines := [line for line in block if not line.startswith(ELSEWHERE)])
]
LONG = ("kraft-chaos up", "kraft-chaos report")
# Containers of Apache Kafka run beside other tests' all the time; this story of them runs by night.
BY_NIGHT = ("kraft-chaos compare",)


def marks(lines: list[str]) -> list[pytest.MarkDecorator]:
    each = ((LONG, pytest.mark.longest), (BY_NIGHT, pytest.mark.night))
    return [mark for begin, mark in each if any(line.startswith(begin) for line in lines)]


CASES = [
    pytest.param(lines, id=lines[0].removeprefix("kraft-chaos "), marks=marks(lines))
    for lines in BY_HAND
]


def a_shell_in(directory: Path) -> dict[str, str]:
    """An environment with the programs on its path, as `activate` makes one."""
    programs = directory / "bin"
    programs.mkdir()
    for name, module in PROGRAMS.items():
        script = programs / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {module} "$@"\n')
        script.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}


def promised(command: str) -> list[str]:
    return next(words for begin, words in PROMISED.items() if command.startswith(begin))


def test_the_make_targets_of_the_readme_exist() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    asked = [command.split()[1] for command in COMMANDS if command.startswith("make ")]
    assert asked
    assert set(asked) <= set(targets)


def test_every_other_command_of_the_readme_is_typed_and_promises_something() -> None:
    typed = [command for lines in BY_HAND for command in lines]
    assert {*typed} == {command for command in COMMANDS if not command.startswith(ELSEWHERE)}
    assert [begin for begin in PROMISED if not any(each.startswith(begin) for each in typed)] == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("typed", CASES)
def test_whoever_types_what_the_readme_says_sees_what_it_promises(
    typed: list[str], tmp_path: Path
) -> None:
    docker_engine.require().close()
    plays = "kraft-chaos up" in typed
    if plays:
        assert not left_of(PLAYED), "somebody plays on this machine: kraft-chaos down"
    prepare(print)
    shell = a_shell_in(tmp_path)
    for command in typed:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=tmp_path,
            env=shell,
            capture_output=True,
            text=True,
            check=False,
        )
        told = f"$ {command}\n{done.stdout}\n{done.stderr}"
        missing = re.search(r"^(missing|broken)", done.stdout, re.MULTILINE)
        assert done.returncode == (255 if command == "kraft-chaos doctor" and missing else 0), told
        assert [words for words in promised(command) if words not in done.stdout] == [], told
    if any(command.startswith("kraft-chaos report") for command in typed):
        (power_off,) = tmp_path.glob("runs/*-power-off-*")
        assert_every_fault_is_proved(power_off)
        assert (tmp_path / "report.html").stat().st_size > 10_000
    if plays:
        assert left_of(PLAYED) == []
