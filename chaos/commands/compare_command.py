"""`kraft-chaos compare`: runs the sides of scenarios and shows them beside each other."""

import argparse

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, targets, whole
from chaos.errors import UsageError

_MOST_TIMES = 99
ALL = "all"

_ABOUT = (
    "Runs a scenario once for each of its sides (`kraft-chaos list` names them: eligible leader "
    "replicas off and on, say), and makes one page with the promise of each side, its expected "
    "outcome (verdict, accusing check, numbers), and the observed one, with links to every run. "
    "With --times each side is repeated, and the page has the share of expected outcomes with its "
    "95 % interval. With two targets each side runs on both, and the differences are shown: "
    "verdicts, and the changes of leader, ISR and ELR of partitions. With several scenarios one "
    "more page shows them all (OUT/scenarios.html). A run that is not as expected and accuses no "
    "node is set aside if it is void or the machine was starved, by the figures that a run "
    "records. Exits 0 if every run came out as expected; with --least, if the bar is kept."
)

_EXAMPLES = """\
    kraft-chaos compare last-replica-standing
    kraft-chaos compare observer-power-off --target kafka:4.1.0
    kraft-chaos compare last-replica-standing --times 20 --least 19
    kraft-chaos compare last-replica-standing --target node      our own brokers
    kraft-chaos compare last-replica-standing --runtime sim      the same in virtual time
    kraft-chaos compare last-replica-standing --targets kafka,node   both beside each other
    kraft-chaos compare all                       every scenario with sides:  some twenty minutes"""


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "compare",
        "run all sides of a scenario, and show them beside each other",
        run,
        about=_ABOUT,
        examples=_EXAMPLES,
    )
    command.add_argument(
        "scenarios", metavar="SCENARIO", nargs="+", help=f"scenarios with sides, or {ALL}"
    )
    command.add_argument(
        "--times",
        type=whole(1, _MOST_TIMES),
        default=1,
        metavar="N",
        help="runs of each side (default 1)",
    )
    command.add_argument(
        "--least",
        type=whole(0, _MOST_TIMES),
        metavar="N",
        help="a bar: of the TIMES runs of a side expected to be invalid, at least N must be as "
        "expected; on other sides all; runs that were set aside are repeated, at most TIMES",
    )
    arguments.add_seed(command, beyond=2 * _MOST_TIMES)
    arguments.add_json(command, "the table")
    arguments.add_out(command, "where run directories and the page are made")
    arguments.add_world(command)
    command.add_argument(
        "--target",
        "--targets",
        type=targets,
        default=(),
        dest="targets",
        metavar="TARGET[,TARGET]",
        help="the target, as for `run` (default kafka for scenarios of brokers in containers, else "
        "node); with two each side runs on both and the differences are shown",
    )
    arguments.add_settings(command)


def run(parsed: argparse.Namespace) -> int:
    """0 if every run of every side was as expected, or the bar is kept; else 1. Raises
    UsageError."""
    from chaos.campaign.comparing import CompareArguments, compare

    if parsed.least is not None and parsed.least > parsed.times:
        raise UsageError(
            f"--least {parsed.least} is more than --times {parsed.times}\n  try: "
            f"--times {parsed.least}"
        )
    return compare(
        CompareArguments(
            scenarios=() if parsed.scenarios == [ALL] else tuple(parsed.scenarios),
            runtime=parsed.runtime,
            targets=parsed.targets,
            settings=dict(parsed.settings),
            times=parsed.times,
            least=parsed.least,
            seed=parsed.seed,
            out=parsed.out,
            as_json=parsed.json,
        )
    )
