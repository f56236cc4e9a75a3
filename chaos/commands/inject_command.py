"""`kraft-chaos inject`: injects a fault into a running cluster."""

import argparse

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, fault, ground_of, listed, whole
from chaos.nemesis.recorded import FAULTS


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "inject",
        "inject a fault into a running cluster, until `heal`",
        run,
        about="Injects a fault into a running cluster; it lasts until `heal`. Several faults may "
        "be injected; heal ends all of them, the newest first.\n"
        "faults: WHAT-VICTIM, where VICTIM is resolved at this moment\n"
        f"{listed(FAULTS)}\n"
        "partition-in: the victim does not hear the others; partition-out: they do not hear it; "
        "clients reach all nodes. power-off loses what was not fsynced, kill does not.",
        examples="""\
            kraft-chaos inject partition-leader
            kraft-chaos inject power-off-all
            kraft-chaos inject pause-follower --node 2 --name five""",
    )
    command.add_argument("fault", type=fault, metavar="FAULT", help="one of the names above")
    command.add_argument(
        "--node", type=whole(1, 99), metavar="N", help="the victim is this node, whatever its role"
    )
    arguments.add_named(command)
    arguments.add_json(command, "the fault, its nodes and links, its evidence")


def run(parsed: argparse.Namespace) -> int:
    """Injects the fault; it lasts until `heal`."""
    from chaos.play.playground import inject_fault

    return inject_fault(ground_of(parsed), parsed.fault, node=parsed.node, as_json=parsed.json)
