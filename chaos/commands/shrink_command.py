"""`kraft-chaos shrink`: minimizes a failing run."""

import argparse
from pathlib import Path

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, whole
from chaos.run.runtimes import RUNTIMES
from chaos.scenario import SIM

_ABOUT = (
    "Removes from a failing run whatever is not needed, in virtual time, while the same check "
    "finds the same anomaly in a node of the same role: faults, nodes, operations, clients, keys, "
    "time. Of a run in containers the same rule must be broken in virtual time, be it found by a "
    "check or by an invariant inside the nodes. With --runtime docker the run is repeated in "
    "containers with fewer faults, less time, fewer nodes and fewer clients, for as long as "
    "--minutes allow; a plan counts as one that fails if --fails of --tries runs break a rule that "
    "the run broke. The "
    "result is a run directory: a schedule that "
    "`replay` runs on either runtime, and narrative.txt, which tells a person which node led, "
    "what was cut, what each operation was promised, and what was seen instead."
)

_EXAMPLES = """\
    kraft-chaos shrink runs/campaign/20260204-110312-swarm-17
    kraft-chaos shrink runs/latest --minutes 10 && cat runs/shrunk/*/narrative.txt
    kraft-chaos shrink runs/latest --runtime docker --minutes 60 --tries 5 --fails 3"""


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "shrink",
        "minimize a failing run, and write its narrative",
        run,
        about=_ABOUT,
        examples=_EXAMPLES,
    )
    command.add_argument("named", type=Path, metavar="RUN", help="an invalid run")
    arguments.add_minutes(command, "time limit of the search (default 2)", 2.0)
    command.add_argument(
        "--runtime",
        choices=(SIM, *RUNTIMES),
        default=SIM,
        help="where it is tried (default: virtual time, which Apache Kafka cannot run in)",
    )
    command.add_argument(
        "--tries",
        type=whole(1, 100),
        default=2,
        metavar="N",
        help="in containers: runs of each plan, until --fails of them fail alike (default 2)",
    )
    command.add_argument(
        "--fails",
        type=whole(1, 100),
        default=1,
        metavar="K",
        help="in containers: how many of the --tries must fail alike (default 1)",
    )
    arguments.add_out(command, "where the result is made", to="runs/shrunk")
    arguments.add_json(command, "the verdict of the smaller run, its size and its narrative")


def run(parsed: argparse.Namespace) -> int:
    """0 when a smaller run that fails alike was left, with its narrative."""
    from chaos.campaign.shrinking import shrink, shrink_repeating

    if parsed.runtime != SIM:
        return shrink_repeating(
            parsed.named,
            parsed.runtime,
            parsed.minutes,
            parsed.tries,
            parsed.out,
            fails=parsed.fails,
            as_json=parsed.json,
        )
    return shrink(parsed.named, parsed.minutes, parsed.out, as_json=parsed.json)
