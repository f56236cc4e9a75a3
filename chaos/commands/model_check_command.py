"""`kraft-chaos model-check`: every order of events within small bounds."""

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

from chaos.bugs.broker_catalogue import BROKER_MUTATIONS, LEADER_MUTATIONS
from chaos.bugs.catalogue import MUTATIONS
from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, whole

if TYPE_CHECKING:
    from chaos.labs.model_check.setting import SmallBounds

_QUORUM, _PARTITION = "quorum", "partition"
_PROMISES = {
    _QUORUM: ("Q2", "Q11", "Q12", "V1", "V2", "V3", "V4", "V5", "V6"),
    _PARTITION: ("E12", "P8", "P10", "P11"),
}
_OFF = "off"
# Those, too, that no run shows.
_PLANTABLE = tuple(dict.fromkeys((*MUTATIONS, *BROKER_MUTATIONS, *LEADER_MUTATIONS)))

_ABOUT = (
    "Explores a quorum exhaustively, as TLC does a TLA+ specification, but with the node's own "
    "code: from a formed quorum, every order of elections, fetches (also with lost answers), "
    "voters added and removed, power cuts and replaced disks, within the bounds. Each state is "
    "explored once, breadth first, and after every move the promises are judged: Q2 (one leader "
    "per epoch), Q11 and Q12 (nothing committed is lost or differs), V1 to V6 "
    "(docs/reference/invariants.md). With --of partition, a partition of three replicas instead "
    "(KIP-966): every order in which its leader, followers, controller and operator may act, from "
    "a min.insync.replicas of 1, 2 and 3: records, fetches, proposed ISRs whose answers are early, "
    "late or lost, changes of min.insync.replicas, fenced brokers, clean ends, kills and power "
    "cuts, elections from ISR and ELR, and unclean recovery. Judged are: E12 (members of ISR and "
    "ELR have all below the high watermark), P8 (that is on min ISR replicas), P10 (leaders have "
    "it) and P11. The first broken promise is reported with the shortest way to it. Bounds "
    "multiply: one more of anything means about ten times as many states. Exits 1 if a promise is "
    "broken."
)

_EXAMPLES = """\
    kraft-chaos model-check                                         three voters of KIP-853
    kraft-chaos model-check --form kip-856 --disks 1                listed voters, a disk replaced
    kraft-chaos model-check --nodes 4 --crashes 0                   four voters; some minutes
    kraft-chaos model-check --mutation V-TWO-PENDING                the rule that it breaks
    kraft-chaos model-check --mutation V-TWO-PENDING --promise Q11  what is lost by that
    kraft-chaos model-check --mutation V-NO-EPOCH-COMMIT --promise Q11 --nodes 4 --crashes 0
    kraft-chaos model-check --of partition                          ISR, ELR and high watermark
    kraft-chaos model-check --of partition --recovery balanced --ends 3 --alters 0 --records 0
    kraft-chaos model-check --of partition --mutation P-TOLD-ISR    a minimum that is raised"""


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
        "--of",
        choices=(_QUORUM, _PARTITION),
        default=_QUORUM,
        help=f"what is explored (default {_QUORUM})",
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
    _add_bound(command, "--records", 1, (0, 4), "appended to a partition, behind the first one")
    _add_bound(command, "--alters", 1, (0, 4), "of a partition's min.insync.replicas")
    _add_bound(command, "--fences", 1, (0, 5), "of a partition's brokers, while they run")
    _add_bound(command, "--ends", 1, (0, 5), "of their processes: clean, killed, without power")
    _add_bound(command, "--depth", 5, (1, 99), "moves of a partition, one after the other")
    command.add_argument(
        "--recovery",
        choices=(_OFF, "none", "balanced", "aggressive"),
        default=_OFF,
        help=f"a partition's strategy of unclean recovery (default {_OFF}: no recovery manager)",
    )
    every = sorted({promise for of in _PROMISES.values() for promise in of})
    command.add_argument(
        "--promise",
        action="extend",
        nargs="+",
        choices=every,
        default=[],
        metavar="ID",
        help="stop only at these: "
        + "; ".join(f"of a {of} {', '.join(ids)}" for of, ids in _PROMISES.items()),
    )
    command.add_argument(
        "--mutation",
        choices=_PLANTABLE,
        default="",
        metavar="ID",
        help="plant a bug in every node (docs/results/planted-bugs.md)",
    )
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
    from chaos.errors import UsageError
    from chaos.progress import ConsoleProgress

    strange = sorted({*parsed.promise} - {*_PROMISES[parsed.of]})
    if strange:
        of = next(of for of, ids in _PROMISES.items() if strange[0] in ids)
        raise UsageError(
            f"--promise {strange[0]} is judged of a {of}, not of a {parsed.of}\n"
            f"  try: kraft-chaos model-check --of {of} --promise {strange[0]}"
        )
    progress = ConsoleProgress()
    with planted_by(parsed.mutation).planted() if parsed.mutation else nullcontext():
        explore = _quorum if parsed.of == _QUORUM else _partition
        text, is_broken = explore(parsed, progress.status)
    progress.end()
    sys.stdout.write(text + "\n")
    return 1 if is_broken else 0


def _quorum(parsed: argparse.Namespace, tell: Callable[[str], None]) -> tuple[str, bool]:
    """What is printed, and whether a promise is broken."""
    from chaos.labs.model_check.judged_steps import PROMISES
    from chaos.labs.model_check.search import explore, row, told

    bounds = _bounds(parsed)
    explored = explore(bounds, parsed.promise or list(PROMISES), tell)
    text = json.dumps(row(bounds, explored), indent=2) if parsed.json else told(bounds, explored)
    return text, explored.found is not None


def _partition(parsed: argparse.Namespace, tell: Callable[[str], None]) -> tuple[str, bool]:
    """As `_quorum`."""
    from chaos.labs.model_check.partition.moves import PartitionBounds
    from chaos.labs.model_check.partition.search import PROMISES, explore, row, told
    from node.config import RecoveryStrategy

    strategy = None if parsed.recovery == _OFF else RecoveryStrategy(parsed.recovery.capitalize())
    bounds = PartitionBounds(
        records=parsed.records,
        alters=parsed.alters,
        fences=parsed.fences,
        ends=parsed.ends,
        depth=parsed.depth,
    )
    explored = explore(bounds, strategy, parsed.promise or list(PROMISES), tell)
    if parsed.json:
        return json.dumps(row(bounds, strategy, explored), indent=2), explored.found is not None
    return told(bounds, strategy, explored), explored.found is not None


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
