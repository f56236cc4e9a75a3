"""What `kraft-chaos selftest` is told. Words only, so that asking for help loads no checker."""

import argparse
from collections.abc import Callable
from pathlib import Path

from chaos.mutations.catalogue import IN_CONTAINERS, MUTATIONS

HELP = "plant bugs in the nodes; the judge must find each, and accuse no correct node"

STORY = (
    "Plants known bugs in the nodes, one at a time, and tells the stories that show them; then the "
    "same stories with the correct node. Prints which check accused, whether it is one that is "
    "named for the bug, the runs it took and the seconds until it was found. Exits 1 when a bug "
    "stayed unseen, a canary lived, or the correct node was accused.\n\n"
    f"With --runtime sim: in virtual time, all {len(MUTATIONS)} of them instead of "
    f"{len(IN_CONTAINERS)}, in about a minute and with the same result each time. There the nodes "
    "are looked at from inside as well, which has a column of its own: a bug is found by a check "
    "that is named for it, or by the invariant of that check's name.\n\n"
    "With --target kafka: no bugs, for we plant none in other people's work, but clients that lie "
    "to the judge about what they appended, answers that never reach them, and a record that was "
    "acknowledged and is taken off the disk of its leader afterwards. Beside them runs Apache "
    "Kafka with clients that tell the truth. It takes about two minutes."
)

EXAMPLES = """\
    kraft-chaos selftest
    kraft-chaos selftest --runtime sim
    kraft-chaos selftest --runtime sim --scenario swarm --seed 0 --tries 500
    kraft-chaos selftest --mutation Q-ZOMBIE R-STALE-READ
    kraft-chaos selftest --target kafka
    kraft-chaos selftest --json | jq '.rows[] | select(.holds | not)'"""


def add_arguments(
    command: argparse.ArgumentParser, seed: Callable[[str], int], tries: Callable[[str], int]
) -> None:
    """`seed` and `tries` read numbers within bounds."""
    command.add_argument(
        "--mutation",
        action="extend",
        nargs="+",
        choices=MUTATIONS,
        metavar="ID",
        help="these only, and no canaries; there are "
        f"{', '.join(IN_CONTAINERS)}; with --runtime sim also "
        f"{', '.join(name for name in MUTATIONS if name not in IN_CONTAINERS)}",
    )
    command.add_argument(
        "--seed", type=seed, default=1, metavar="N", help="of each first run (default 1)"
    )
    command.add_argument(
        "--tries", type=tries, metavar="N", help="runs each (default: the catalogue's)"
    )
    command.add_argument(
        "--scenario",
        default="",
        metavar="NAME",
        help="look for them there, and not in the stories that show each of them best; no canaries",
    )
    command.add_argument("--json", action="store_true", help="the table as JSON on stdout")
    command.add_argument(
        "--out",
        type=Path,
        default=Path("runs/selftest"),
        metavar="DIRECTORY",
        help="where run directories are made (default runs/selftest)",
    )


def add_mutation(command: argparse.ArgumentParser) -> None:
    """For `run`."""
    command.add_argument(
        "--mutation",
        choices=MUTATIONS,
        default="",
        metavar="ID",
        help=f"plant a bug in every node: {', '.join(MUTATIONS)}",
    )
