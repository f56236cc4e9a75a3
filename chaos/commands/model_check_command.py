"""`kraft-chaos model-check`: every order of events within small bounds."""

import argparse
import json
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, whole

if TYPE_CHECKING:
    from chaos.labs.model_check.setting import SmallBounds

_PROMISES = ("Q2", "Q11", "Q12", "V1", "V2", "V3", "V4", "V5", "V6")

_ABOUT = (
    "Explores a quorum exhaustively, as TLC does a TLA+ specification, but with the node's own "
    "code: from a formed quorum, every order of elections, fetches (also with lost answers), "
    "voters added and removed, power cuts and replaced disks, within the bounds. Each state is "
    "explored once, breadth first, and after every move the promises are judged: Q2 (one leader "
    "per epoch), Q11 and Q12 (nothing committed is lost or differs), V1 to V6 "
    "(docs/reference/invariants.md). The first broken promise is reported with the shortest way to "
    "it. Bounds multiply: one more of anything means about ten times as many states. Exits 1 if a "
    "promise is broken."
)

_EXAMPLES = """\
    kraft-chaos model-check                                         three voters of KIP-853
    kraft-chaos model-check --form kip-856 --disks 1                listed voters, a disk replaced
    kraft-chaos model-check --nodes 4 --crashes 0                   four voters; some minutes
    kraft-chaos model-check --mutation V-TWO-PENDING                the rule that it breaks
    kraft-chaos model-check --mutation V-TWO-PENDING --promise Q11  what is lost by that
    kraft-chaos model-check --mutation V-NO-EPOCH-COMMIT --promise Q11 --nodes 4 --crashes 0"""


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "model-check",
        "explore every order of events of a small quorum, on the node's own code",
        run,
        about=_ABOUT,
        examples=_EXAMPLES,
    )
    command.add_argument(
        "--form",
        choices=("kip-853", "kip-856"),
        default="kip-853",
        help="how voters are declared (default kip-853)",
    )
    _add_bound(command, "--nodes", 3, (2, 5), "nodes of the quorum")
    _add_bound(command, "--observers", 0, (0, 3), "of them observers at first (kip-853)")
    _add_bound(command, "--epochs", 3, (1, 6), "up to this epoch; the first formed the quorum")
    _add_bound(command, "--changes", 2, (0, 5), "of the voters")
    _add_bound(command, "--entries", 4, (1, 9), "of a log, behind those of the formed quorum")
    _add_bound(command, "--crashes", 1, (0, 5), "of any node, by power cut")
    _add_bound(command, "--disks", 0, (0, 3), "replaced by empty ones")
    command.add_argument(
        "--promise",
        action="extend",
        nargs="+",
        choices=_PROMISES,
        default=[],
        metavar="ID",
        help=f"stop only at these: {', '.join(_PROMISES)}",
    )
    arguments.add_mutation(command)
    arguments.add_json(command, "numbers and steps")


def _add_bound(
    command: argparse.ArgumentParser, flag: str, default: int, limits: tuple[int, int], what: str
) -> None:
    command.add_argument(
        flag, type=whole(*limits), default=default, metavar="N", help=f"{what} (default {default})"
    )


def run(parsed: argparse.Namespace) -> int:
    """0, or 1 if a promise is broken."""
    from chaos.bugs.planted import planted_by
    from chaos.labs.model_check.judged_steps import PROMISES
    from chaos.labs.model_check.search import explore, row, told
    from chaos.progress import ConsoleProgress

    bounds, progress = _bounds(parsed), ConsoleProgress()
    promises = parsed.promise or list(PROMISES)
    with planted_by(parsed.mutation).planted() if parsed.mutation else nullcontext():
        explored = explore(bounds, promises, progress.status)
    progress.end()
    text = json.dumps(row(bounds, explored), indent=2) if parsed.json else told(bounds, explored)
    sys.stdout.write(text + "\n")
    return 0 if explored.found is None else 1


def _bounds(parsed: argparse.Namespace) -> "SmallBounds":
    from chaos.errors import UsageError
    from chaos.labs.model_check.setting import SmallBounds

    if parsed.observers and (parsed.form == "kip-856" or parsed.observers >= parsed.nodes):
        raise UsageError(
            "--observers needs --form kip-853, and fewer of them than --nodes\n"
            "  try: kraft-chaos model-check --nodes 4 --observers 1"
        )
    return SmallBounds(
        listed=parsed.form == "kip-856",
        nodes=parsed.nodes,
        observers=parsed.observers,
        epochs=parsed.epochs,
        changes=parsed.changes,
        entries=parsed.entries,
        crashes=parsed.crashes,
        disks=parsed.disks,
    )
