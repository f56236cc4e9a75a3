"""`kraft-chaos down`: removes a running cluster."""

import argparse

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, ground_of


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "down",
        "remove a running cluster",
        run,
        about="Removes a cluster that `up` or `run --keep` left: its containers, networks, volumes "
        "and loop devices, with all injected faults.",
        examples="""\
            kraft-chaos down
            kraft-chaos down five""",
    )
    arguments.add_name(command)
    arguments.add_runtime(command)
    arguments.add_json(command, "what was removed")


def run(parsed: argparse.Namespace) -> int:
    """Removes its injected faults with it."""
    from chaos.play.playground import down

    return down(ground_of(parsed), as_json=parsed.json)
