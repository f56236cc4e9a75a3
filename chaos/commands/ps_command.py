"""`kraft-chaos ps`: the clusters on this machine."""

import argparse

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "ps",
        "the clusters on this machine, their nodes and injected faults",
        run,
        about="Prints every cluster that `up` or `run --keep` left: what runs, the status, address "
        "and roles of each node, which one leads the quorum, and the faults that last; and runs "
        "that go on, or were killed.",
        examples="""\
            kraft-chaos ps
            kraft-chaos ps --json | jq -r '.clusters[].name'""",
    )
    arguments.add_runtime(command)
    arguments.add_json(command, "the clusters")


def run(parsed: argparse.Namespace) -> int:
    from chaos.play.looking import ps

    return ps(parsed.runtime, as_json=parsed.json)
