"""`kraft-chaos logs`: what a node wrote, in a recorded run or so far."""

import argparse
import sys
from pathlib import Path

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, ground_of, seconds, whole
from chaos.errors import UsageError

_WITHIN_S = 2.0
_SECOND = 1e9
_LONGEST = 1_000_000


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "logs",
        "what a node wrote, in a recorded run or in a running cluster",
        run,
        about="With a RUN prints what a node wrote in it, each line with its time since the run "
        "began, as verdicts and pages tell times. Without one prints what a node of a running "
        "cluster has written so far.",
        examples="""\
            kraft-chaos logs 1 runs/latest --around 24.8s
            kraft-chaos logs 1 runs/latest --around 24.8s --within 500ms
            kraft-chaos logs 3 runs/latest --stderr
            kraft-chaos logs 2 --last 20                 of the cluster that `up` made
            kraft-chaos logs 2 --name five | grep ERROR""",
    )
    command.add_argument("node", type=whole(1, 99), metavar="NODE", help="its number")
    command.add_argument(
        "run_directory", nargs="?", type=Path, metavar="RUN", help="a recorded run"
    )
    command.add_argument(
        "--around",
        type=seconds(0, 1e6),
        metavar="TIME",
        help="with RUN: lines around this time, such as 24.8s",
    )
    command.add_argument(
        "--within",
        type=seconds(0, 1e6),
        metavar="TIME",
        help=f"with --around: as far as this from it (default {_WITHIN_S:g}s)",
    )
    command.add_argument(
        "--stderr", action="store_true", help="with RUN: what it wrote to stderr, without times"
    )
    command.add_argument(
        "--last", type=whole(1, 10**9), metavar="N", help="without RUN: its last lines only"
    )
    arguments.add_named(command)


def run(parsed: argparse.Namespace) -> int:
    from chaos.play.looking import logs_of_cluster

    if parsed.run_directory is None:
        if parsed.around is not None or parsed.within is not None or parsed.stderr:
            raise UsageError(
                "--around, --within and --stderr are of a recorded run\n"
                f"  try: kraft-chaos logs {parsed.node} runs/latest --around 24.8s"
            )
        return logs_of_cluster(ground_of(parsed), parsed.node, last=parsed.last)
    if parsed.last is not None:
        raise UsageError(
            "--last is of a running cluster\n"
            f"  try: kraft-chaos logs {parsed.node} {parsed.run_directory} | tail -{parsed.last}"
        )
    if parsed.within is not None and parsed.around is None:
        raise UsageError("--within needs a time\n  try: --around 24.8s")
    return _of_run(
        parsed.run_directory,
        parsed.node,
        around_s=parsed.around,
        within_s=_WITHIN_S if parsed.within is None else parsed.within,
        stderr=parsed.stderr,
    )


def _of_run(
    named: Path, node: int, *, around_s: float | None, within_s: float, stderr: bool
) -> int:
    """Print the lines of a recorded run with their times, as on its page; those around a time, if
    there is one. Raises UsageError for a node that has no log there."""
    from chaos.campaign.recorded_run import run_directory
    from checkers.history.sealed_run import read_run_info
    from checkers.page.run_page import LOGS, read_lines

    directory = run_directory(named)
    path = directory / LOGS / f"node-{node}.{'err' if stderr else 'log'}"
    if not path.is_file():
        known = ", ".join(sorted(each.name for each in (directory / LOGS).glob("node-*")))
        raise UsageError(f"{path}: there is no such log; there are {known or 'none'}")
    text = path.read_text(encoding="utf-8", errors="replace")
    if stderr:  # without times
        sys.stdout.write(text)
        return 0
    shown = 0
    for line in read_lines(text, read_run_info(directory), _LONGEST):
        at_s = line.at_ns / _SECOND
        if around_s is None or abs(at_s - around_s) <= within_s:
            sys.stdout.write(f"{at_s:11.4f} s  {line.text}\n")
            shown += 1
    if not shown and around_s is not None:
        sys.stderr.write(
            f"node {node} wrote nothing from {around_s - within_s:g} s to "
            f"{around_s + within_s:g} s\n  try: --within {2 * within_s + 1:g}s\n"
        )
    return 0
