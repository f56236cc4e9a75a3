"""`kraft-chaos inject`: a fault begins on a cluster that is up."""

import argparse

from chaos.commands import flags
from chaos.commands.arguments import Commands, add, fault, listed, whole
from chaos.commands.flags import ground_of
from chaos.nemesis.by_hand import FAULTS


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "inject",
        "hurt a cluster that is up, until `heal`",
        run,
        about="Lets a fault begin on a cluster that is up; it lasts until `heal`. Faults add up: "
        "inject several, and heal cures all of them, the newest first.\n"
        "faults: WHAT-WHOM, where WHOM is resolved at this moment\n"
        f"{listed(FAULTS)}\n"
        "partition-in: the victim does not hear the others; partition-out: they do not hear it; "
        "clients reach all nodes. power-off forgets what was not fsynced, kill does not.",
        examples="""\
            kraft-chaos inject partition-leader
            kraft-chaos inject power-off-all
            kraft-chaos inject pause-follower --node 2 --name five""",
    )
    command.add_argument("fault", type=fault, metavar="FAULT", help="one of the names above")
    command.add_argument(
        "--node", type=whole(1, 99), metavar="N", help="hit this node, whatever its role"
    )
    flags.add_named(command)


def run(parsed: argparse.Namespace) -> int:
    """The fault lasts until `heal`."""
    from chaos.playground import inject_fault

    return inject_fault(ground_of(parsed), parsed.fault, node=parsed.node)
