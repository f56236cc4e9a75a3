"""`kraft-chaos selftest`: plants bugs, each of which the judge must find."""

import argparse

from chaos.bugs.catalogue import IN_CONTAINERS, MUTATIONS
from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, number, whole

_MOST_TRIES = 10_000

_ABOUT = (
    "Plants known bugs in the nodes, one at a time, and runs the scenarios that show them; then "
    "the same scenarios with the correct node. Prints which check accused, whether it is one "
    "named for the bug, the number of runs and the seconds until it was found. Exits 1 if a bug "
    "or a control was not found, the correct node was not valid each time, or a try failed "
    "(error, void), which no later try makes up for.\n\n"
    "With --runtime sim: in virtual time, all "
    f"{len(MUTATIONS)} of them instead of {len(IN_CONTAINERS)}, in some minutes and with the same "
    "result each time. There invariants inside the nodes are judged as well, in a column of their "
    "own: a bug is found by a check that is named for it, or by the invariant with that check's "
    "name.\n\n"
    "With --target kafka: no planted bugs, but clients that record false results of their "
    "sends, answers that never reach clients, and an acknowledged record that is removed from its "
    "leader's disk afterwards. For comparison Apache Kafka runs with truthful clients. It takes "
    "about two minutes."
)

_EXAMPLES = """\
    kraft-chaos selftest
    kraft-chaos selftest --runtime sim
    kraft-chaos selftest --runtime sim --scenario swarm --seed 0 --tries 500 --duration 8
    kraft-chaos selftest --mutation Q-ZOMBIE R-STALE-READ
    kraft-chaos selftest --target kafka
    kraft-chaos selftest --json | jq '.rows[] | select(.holds | not)'"""


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "selftest",
        "plant bugs in the nodes; the judge must find each, and not accuse a correct node",
        run,
        about=_ABOUT,
        examples=_EXAMPLES,
    )
    command.add_argument(
        "--mutation",
        action="extend",
        nargs="+",
        choices=MUTATIONS,
        metavar="ID",
        help="only these, and no controls; known: "
        f"{', '.join(IN_CONTAINERS)}; with --runtime sim also "
        f"{', '.join(name for name in MUTATIONS if name not in IN_CONTAINERS)}",
    )
    arguments.add_seed(command, beyond=_MOST_TRIES)
    command.add_argument(
        "--tries",
        type=whole(1, _MOST_TRIES),
        metavar="N",
        help="runs of each (default: the catalogue's)",
    )
    command.add_argument(
        "--scenario",
        default="",
        metavar="NAME",
        help="use this scenario, not those that show each bug best; no controls",
    )
    command.add_argument(
        "--duration",
        type=number(3, 86_400, "a number of seconds"),
        metavar="S",
        help="length of the fault phase in each run of --scenario, in seconds (default: the "
        "scenario's)",
    )
    arguments.add_json(command, "the table")
    arguments.add_out(command, to="runs/selftest")
    arguments.add_target(command)
    arguments.add_world(command)


def run(parsed: argparse.Namespace) -> int:
    """0 if every planted bug was found by a check named for it, and the correct node by none."""
    from chaos.selftest.suspects import SelftestArguments
    from chaos.selftest.trying import selftest

    return selftest(
        SelftestArguments(
            mutations=tuple(parsed.mutation or ()),
            scenario=parsed.scenario,
            duration_s=parsed.duration,
            tries=parsed.tries,
            seed=parsed.seed,
            out=parsed.out,
            as_json=parsed.json,
            runtime=parsed.runtime,
            target=parsed.target,
        )
    )
