"""`kraft-chaos shell`: a shell, or a command, in a node's container."""

import argparse

from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, ground_of, whole


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "shell",
        "a shell, or a command, in the container of a node",
        run,
        about="Opens a shell in the container of a node of a running cluster, or runs a command "
        "there, with its exit code. The node's data are below /data.",
        examples="""\
            kraft-chaos shell 1
            kraft-chaos shell --name five 2 ls -R /data""",
    )
    arguments.add_named(command)
    command.add_argument("node", type=whole(1, 99), metavar="NODE", help="its number")
    command.add_argument(
        "words",
        nargs=argparse.REMAINDER,
        metavar="CMD",
        help="a command with its arguments; options of ours come before NODE",
    )


def run(parsed: argparse.Namespace) -> int:
    """The exit code is that of the shell, or of the command."""
    from chaos.play.looking import shell

    words = parsed.words[1:] if parsed.words[:1] == ["--"] else parsed.words
    return shell(ground_of(parsed), parsed.node, words)
