"""`kraft-chaos up`: brings up a cluster for manual faults."""

import argparse

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, ground_of


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "up",
        "bring up a cluster for manual faults",
        run,
        about="Brings up a cluster without load and leaves it running; prints the bootstrap "
        "addresses and the next commands. Clusters with different names do not disturb each other; "
        "no later run removes them.",
        examples="""\
            kraft-chaos up
            kraft-chaos up five --nodes 5
            kraft-chaos up logs --set brokers=3
            kraft-chaos up --target kafka --set elr=off --set controllers=3""",
    )
    arguments.add_name(command)
    arguments.add_nodes(command)
    arguments.add_target(command)
    arguments.add_settings(command, of_scenarios=False)
    arguments.add_runtime(command)
    arguments.add_json(command, "name, target, addresses and roles")


def run(parsed: argparse.Namespace) -> int:
    """Prints the bootstrap addresses and the next commands."""
    from chaos.play.playground import up

    settings = dict(parsed.settings)
    return up(
        ground_of(parsed),
        parsed.target,
        nodes=parsed.nodes,
        settings=settings,
        as_json=parsed.json,
    )
