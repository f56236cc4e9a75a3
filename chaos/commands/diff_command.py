"""`kraft-chaos diff`: in what two runs differ."""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add
from chaos.errors import OperatorError, UsageError

if TYPE_CHECKING:
    from chaos.campaign.comparing import Differences
    from checkers.history.sealed_run import RunInfo
    from checkers.verdict import Judgement

_ABOUT = (
    "Compares two judged runs: what was run, what each failed by, the checks of which the verdicts "
    "differ, how often faults bit, and the numbers that differ by a fifth or more. Exits 0 if both "
    "have the same verdict and fail alike, 1 if not."
)
_EXAMPLES = """\
    kraft-chaos diff runs/20260204-110312-power-off-7 runs/20260205-110312-power-off-7
    kraft-chaos diff --json runs/latest runs/20260205-110312-power-off-7"""


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "diff",
        "in what two runs differ",
        run,
        about=_ABOUT,
        examples=_EXAMPLES,
    )
    command.add_argument("one", type=Path, metavar="RUN", help="a judged run")
    command.add_argument("other", type=Path, metavar="RUN", help="another one")
    arguments.add_json(command, "the differences")


def run(parsed: argparse.Namespace) -> int:
    from chaos.campaign.comparing import differences

    one, other = _read(parsed.one), _read(parsed.other)
    found = differences(*one, *other)
    if parsed.json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        sys.stdout.write(
            "\n".join(_lines(parsed.one, parsed.other, one[1], other[1], found)) + "\n"
        )
    return 1 if found.get("verdict") else 0


def _read(directory: Path) -> "tuple[RunInfo, Judgement]":
    from checkers.history.sealed_run import read_run_info
    from checkers.verdict_file import read_verdict

    if not (directory / "run.json").is_file():
        raise UsageError(f"{directory} is no run: it has no run.json\n  try: ls runs")
    try:
        return read_run_info(directory), read_verdict(directory)
    except (OSError, ValueError) as error:
        raise OperatorError(f"{error}\n  try: kraft-chaos check {directory}") from error


def _lines(
    one: Path, other: Path, first: "Judgement", second: "Judgement", found: "Differences"
) -> Iterator[str]:
    from chaos.campaign.comparing import in_words

    yield f"< {one}: {first.sentence}"
    yield f"> {other}: {second.sentence}"
    if not found:
        yield "nothing that counts differs"
    for part, unlike in found.items():
        yield part
        width = max(map(len, unlike)) + 2
        for name, (was, now) in unlike.items():
            yield f"  {name:<{width}}{in_words(was)} -> {in_words(now)}{_ratio(was, now)}"


def _ratio(one: Any, other: Any) -> str:
    is_measured = isinstance(one, float) and isinstance(other, float) and one > 0 and other > 0
    return f"  ({other / one:.1f} times)" if is_measured else ""
