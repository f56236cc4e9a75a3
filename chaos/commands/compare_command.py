"""`kraft-chaos compare`: the sides of scenarios, run and shown beside each other."""

import argparse

from chaos.commands import flags
from chaos.commands.arguments import Commands, add, whole

_MOST_TIMES = 99
ALL = "all"

_ABOUT = (
    "Runs a scenario once for each of its sides (`kraft-chaos list` names them: eligible leader "
    "replicas off and on, say), and makes one page that shows what each side promised, what was "
    "expected (the verdict, the check that gives it, numbers), and what was seen, with the way to "
    "every run. With --times, each side as often, and "
    "the share that came out as expected with its 95 % interval. Of several scenarios one more "
    "page shows them all (OUT/scenarios.html). Exits 0 if every run came out as expected."
)

_EXAMPLES = """\
    kraft-chaos compare last-replica-standing
    kraft-chaos compare observer-power-off --target kafka:4.1.0
    kraft-chaos compare last-replica-standing --times 20 --json
    kraft-chaos compare last-replica-standing --target node      our own brokers
    kraft-chaos compare last-replica-standing --runtime sim      the same in virtual time
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
        "scenarios", metavar="SCENARIO", nargs="+", help=f"scenarios that have sides, or {ALL}"
    )
    command.add_argument(
        "--times",
        type=whole(1, _MOST_TIMES),
        default=1,
        metavar="N",
        help="runs of each side (default 1)",
    )
    flags.add_seed(command, beyond=_MOST_TIMES)
    flags.add_json(command, "the table")
    flags.add_out(command, "where run directories and the page are made")
    flags.add_world(command)
    flags.add_target(
        command, default=None, told="kafka for scenarios of brokers in containers, else node"
    )
    flags.add_settings(command)


def run(parsed: argparse.Namespace) -> int:
    """0 if every run of every side was as expected, else 1."""
    from chaos.comparing import CompareArguments, compare

    return compare(
        CompareArguments(
            scenarios=() if parsed.scenarios == [ALL] else tuple(parsed.scenarios),
            runtime=parsed.runtime,
            target=parsed.target or "",
            settings=dict(parsed.settings),
            times=parsed.times,
            seed=parsed.seed,
            out=parsed.out,
            as_json=parsed.json,
        )
    )
