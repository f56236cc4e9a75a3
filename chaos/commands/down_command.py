"""`kraft-chaos down`: a cluster to play with is removed."""

import argparse

from chaos.commands import flags
from chaos.commands.arguments import Commands, add
from chaos.commands.flags import ground_of


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "down",
        "remove a cluster that is up",
        run,
        about="Removes a cluster that `up` or `run --keep` left: its containers, networks, volumes "
        "and loop devices. Whatever is injected into it is gone with it.",
        examples="""\
            kraft-chaos down
            kraft-chaos down five""",
    )
    flags.add_name(command)
    flags.add_runtime(command)


def run(parsed: argparse.Namespace) -> int:
    """Whatever was injected is gone with it."""
    from chaos.playground import down

    return down(ground_of(parsed))
