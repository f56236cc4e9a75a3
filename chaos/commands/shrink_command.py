"""`kraft-chaos shrink`: the least of a failing run that still fails alike."""

import argparse
from pathlib import Path

from chaos.commands import flags
from chaos.commands.arguments import Commands, add

_ABOUT = (
    "Takes away from a failing run whatever it can do without, in virtual time, while the same "
    "check finds the same anomaly in a node of the same role: faults, nodes, operations, clients, "
    "keys, time. What is left is a run directory of its own: a schedule that `replay` runs on "
    "either runtime, and narrative.txt, in which a person can read who led, what was cut, which "
    "operation was promised what, and what was seen instead."
)

_EXAMPLES = """\
    kraft-chaos shrink runs/campaign/20260204-110312-swarm-17
    kraft-chaos shrink runs/latest --minutes 10 && cat runs/shrunk/*/narrative.txt"""


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "shrink",
        "the least of a failing run that still fails alike, with its narrative",
        run,
        about=_ABOUT,
        examples=_EXAMPLES,
    )
    command.add_argument("named", type=Path, metavar="RUN", help="a run that was found invalid")
    flags.add_minutes(command, "of looking for something smaller (default 2)", 2.0)
    flags.add_out(command, "where the result is made", to="runs/shrunk")


def run(parsed: argparse.Namespace) -> int:
    """0 when a smaller run that fails alike was left, with its narrative."""
    from chaos.campaign.shrinking import shrink

    return shrink(parsed.named, parsed.minutes, parsed.out)
