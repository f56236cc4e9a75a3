"""`kraft-chaos audit`: what a power cut leaves on disks, and what nodes make of it."""

import argparse

from chaos.cluster.interface import PowerCutMode
from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, whole
from chaos.labs.audit.all_moments import MOMENTS

_MOST_TIMES = 99

_ABOUT = (
    "At a moment (a topic was created, a broker was shut down cleanly) the nodes are stopped, "
    "their files are copied from the page cache, and the power is cut. The disks are compared with "
    "the copies, file by file and byte by byte: same, shorter, zeros, older, missing. Then the "
    "nodes start from exactly these disks, and their answers show the outcome of each difference: "
    "rebuilt, ignored, lost as allowed (their acknowledgement promises no more than the "
    "page cache), refuses to start, or trusted: a promised answer has changed. Every cut is proved "
    "by a canary, a block that the disk must have lost; a cut without this evidence is void. With "
    "--times each moment is repeated. What a program never syncs differs every time; an outcome "
    "marked ~ came only sometimes and depends on the kernel's timing, which may write unsynced "
    "data before the power fails, and which always decides between shorter and zeros. Exits 1 if "
    "anything was trusted or a node refused to start, 3 if a cut left no evidence."
)

_EXAMPLES = """\
    kraft-chaos audit                                  all moments of our own node
    kraft-chaos audit --target kafka                   all of Apache Kafka
    kraft-chaos audit --moment clean-stop --times 3    one, three times
    kraft-chaos audit --target kafka --flushed         acknowledged shall mean synced"""


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "audit",
        "cut the power at a moment, and compare files before it with the disk after it",
        run,
        about=_ABOUT,
        examples=_EXAMPLES,
    )
    command.add_argument(
        "--moment",
        action="extend",
        nargs="+",
        choices=MOMENTS,
        default=[],
        metavar="MOMENT",
        help="only these moments; known: "
        + ", ".join(f"{name} ({'; '.join(each.ways)})" for name, each in MOMENTS.items()),
    )
    command.add_argument(
        "--cut",
        choices=[mode.value for mode in PowerCutMode],
        default=PowerCutMode.LOSE_ALL.value,
        help="what disks lose: all that was not fsynced (lose-all, the default), contents but not "
        "sizes (lose-data), or all but random pages (torn)",
    )
    command.add_argument(
        "--flushed",
        action="store_true",
        help="Apache Kafka with log.flush.interval.messages=1: acknowledged records are synced, so "
        "that every loss is suspicious",
    )
    command.add_argument(
        "--nodes",
        type=whole(1, 3),
        default=1,
        metavar="N",
        help="the least number of nodes that lose power at the same moment (default 1)",
    )
    command.add_argument(
        "--times",
        type=whole(1, _MOST_TIMES),
        default=1,
        metavar="N",
        help="cuts at each moment (default 1)",
    )
    arguments.add_target(command)
    arguments.add_json(command, "the table")
    arguments.add_out(command, "where the copies of disks are kept", to="runs/audit")


def run(parsed: argparse.Namespace) -> int:
    """0, or 1 if something was trusted wrongly or did not start, or 3 if a cut left no evidence."""
    from chaos.labs.audit.auditing import AuditArguments, audit

    return audit(
        AuditArguments(
            target=parsed.target,
            moments=tuple(dict.fromkeys(parsed.moment)),
            mode=PowerCutMode(parsed.cut),
            flushed=parsed.flushed,
            nodes=parsed.nodes,
            times=parsed.times,
            out=parsed.out,
            as_json=parsed.json,
        )
    )
