"""Parsing of every command line: help, errors, numbers and names.

A command imports what it needs in its `run`: help loads no checker.
"""

import argparse
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable
from typing import NoReturn, TypeAlias

from chaos.nemesis.by_hand import FAULTS
from chaos.operator_errors import UNREADABLE


class Formatter(argparse.HelpFormatter):
    """Wraps lines to the terminal, not at hyphens; lines that are indented stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        del indent  # the top level has none
        return "\n".join(
            line if line.startswith(" ") else _wrapped(line, width) for line in text.splitlines()
        )

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _wrapped(text, width).splitlines()


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)


class Parser(argparse.ArgumentParser):
    """Exits with 254 instead of argparse's 2, which here means `unknown`."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(UNREADABLE, f"error: {message}\n  try: {self.prog} --help\n")


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
_Run: TypeAlias = Callable[[argparse.Namespace], int]


def add(
    commands: Commands,
    name: str,
    short: str,
    run: _Run,
    *,
    about: str,
    examples: str,
    own_help: bool = False,
) -> Parser:
    """A command: a line for the overview, a text and examples for its own help, and the function
    that runs it and returns its exit code."""
    command = commands.add_parser(
        name,
        help=short,
        description=about,
        epilog=f"examples:\n{textwrap.indent(textwrap.dedent(examples).strip(), '  ')}",
        formatter_class=Formatter,
        add_help=not own_help,
    )
    command.set_defaults(run=run)
    return command


def listed(names: Iterable[str]) -> str:
    """Fault names, a line for each kind."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(name.rpartition("-")[0], []).append(name)
    return "\n".join(f"  {' '.join(of_kind)}" for of_kind in kinds.values())


def fault(text: str) -> str:
    if text not in FAULTS:
        raise argparse.ArgumentTypeError(f"unknown fault {text!r}; known:\n{listed(FAULTS)}")
    return text


def whole(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers within bounds."""

    def read(text: str) -> int:
        if not re.fullmatch(r"-?\d+", text, re.ASCII) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a whole number from {least} to {most}"
            )
        return int(text)

    return read


def number(least: float, most: float, unit: str) -> Callable[[str], float]:
    """A reader of numbers within bounds."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not {unit} from {least:g} to {most:g}")
        return number

    return read


def target(text: str) -> str:
    from chaos.cluster.targets.named import UnknownTargetError, release_of

    try:
        release_of(text)
    except UnknownTargetError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def targets(text: str) -> tuple[str, ...]:
    """One, or two different ones."""
    found = tuple(map(target, text.split(",")))
    if len(found) > 2 or len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not one target, or two different ones")
    return found


def setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def name(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", text):
        raise argparse.ArgumentTypeError("small letters, digits and hyphens only")
    return text
