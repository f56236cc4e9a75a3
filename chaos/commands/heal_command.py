"""`kraft-chaos heal`: heals all injected faults."""

import argparse

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, ground_of


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "heal",
        "heal all injected faults, and print their evidence",
        run,
        about="Heals all injected faults, the newest first, and prints for each whether it took "
        "effect and what was measured. Exits 3 if one of them had no effect.",
        examples="kraft-chaos inject partition-leader && sleep 5 && kraft-chaos heal",
    )
    arguments.add_named(command)
    arguments.add_json(command, "the faults with their evidence")


def run(parsed: argparse.Namespace) -> int:
    """3 if a fault had no effect."""
    from chaos.play.playground import heal

    return heal(ground_of(parsed), as_json=parsed.json)
