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
            kraft-chaos down five
            kraft-chaos down --all""",
    )
    command.add_argument(
        "--all", action="store_true", help="remove every one of them; runs that go on stay"
    )
    arguments.add_name(command)
    arguments.add_runtime(command)
    arguments.add_json(command, "what was removed")


def run(parsed: argparse.Namespace) -> int:
    """Removes its injected faults with it."""
    from chaos.play.playground import down, down_all

    if parsed.all:
        return down_all(parsed.runtime, as_json=parsed.json)
    return down(ground_of(parsed), as_json=parsed.json)
