"""What `kraft-chaos compare` is told. Words only, so that asking for help loads no checker."""

import argparse
from collections.abc import Callable
from pathlib import Path

ALL = "all"
HELP = "tell a story in all its ways, and show them side by side"

STORY = (
    "Runs a scenario once for each of its sides (`kraft-chaos list` names them: eligible leader "
    "replicas off and on, say), and makes one page that shows what each side promised, what was "
    "expected, and what was seen, with the way to every run. With --times, each side as often, and "
    "the share that came out as expected with its 95 % interval. Of several stories one more "
    "page shows them all (OUT/stories.html). Exits 0 if every run came out as expected."
)

EXAMPLES = """\
    kraft-chaos compare last-replica-standing
    kraft-chaos compare observer-power-off --target kafka:4.1.0
    kraft-chaos compare last-replica-standing --times 20 --json
    kraft-chaos compare all                       every story that has sides: some twenty minutes"""


def add_arguments(
    command: argparse.ArgumentParser, seed: Callable[[str], int], times: Callable[[str], int]
) -> None:
    """`seed` and `times` read numbers within bounds."""
    command.add_argument(
        "scenarios", metavar="SCENARIO", nargs="+", help=f"stories that have sides, or {ALL}"
    )
    command.add_argument(
        "--times", type=times, default=1, metavar="N", help="runs of each side (default 1)"
    )
    command.add_argument(
        "--seed", type=seed, default=1, metavar="N", help="of each first run (default 1)"
    )
    command.add_argument("--json", action="store_true", help="the table as JSON on stdout")
    command.add_argument(
        "--out",
        type=Path,
        default=Path("runs"),
        metavar="DIRECTORY",
        help="where run directories and the page are made (default runs)",
    )
