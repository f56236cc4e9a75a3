"""`kraft-chaos inject`: injects a fault into a running cluster."""

import argparse
from typing import TYPE_CHECKING

from chaos.cluster.interface import Link, NodeId
from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, ground_of, listed, whole
from chaos.errors import UsageError
from chaos.nemesis.fault import ways_of
from chaos.nemesis.kinds import BY_AN_OPERATOR, KINDS
from chaos.nemesis.kinds.cuts import NetworkPartition, Ways
from chaos.nemesis.recorded import FAULTS, VICTIM_WORDS, fault_told, victim_told
from chaos.nemesis.victims import InSyncFollower, OneNode, PartitionLeader, Victim

if TYPE_CHECKING:
    from chaos.nemesis.fault import Fault

_OF_A_LINK = "partition"
_MOST_NODE = 99


def _kinds() -> str:
    """A line for each kind, with its parameters."""
    lines = [
        f"  {'|'.join(kind.kinds)}{ways_of(kind)}" for kind in KINDS if kind not in BY_AN_OPERATOR
    ]
    return "\n".join(lines)


def add_parser(commands: Commands) -> None:
    command = add(
        commands,
        "inject",
        "inject a fault into a running cluster, until `heal`",
        run,
        about="Injects a fault into a running cluster; it lasts until `heal`. Several faults may "
        "be injected; heal ends all of them, the newest first. Prints which nodes and links are "
        "hit.\n"
        "faults: WHAT-VICTIM, where VICTIM is resolved at this moment; the leader is that of the "
        "metadata quorum, the active controller\n"
        f"{listed(FAULTS)}\n"
        "partition-in: the victim does not hear the others; partition-out: they do not hear it; "
        "clients reach all nodes. power-off loses what was not fsynced, kill does not.\n"
        "kinds with their parameters, for --victim, --node, --topic (docs/reference/faults.md; "
        "some in simulated clusters only)\n"
        f"{_kinds()}\n"
        f"victims: {' '.join(VICTIM_WORDS)}",
        examples="""\
            kraft-chaos inject partition-leader
            kraft-chaos inject power-off-all
            kraft-chaos inject pause-follower --node 2 --name five
            kraft-chaos inject power-off:mode=torn --topic orders --partition 0
            kraft-chaos inject slow-links:latency_ms=300 --victim all
            kraft-chaos inject partition --link 1-2        nothing of node 1 arrives at node 2
            kraft-chaos inject kill --topic orders --dry-run   which node would be hit?""",
    )
    command.add_argument(
        "fault", metavar="FAULT", help="one of the names, or a kind with its parameters"
    )
    victims = command.add_mutually_exclusive_group()
    victims.add_argument(
        "--node",
        type=whole(1, _MOST_NODE),
        metavar="N",
        help="the victim is this node, whatever its role",
    )
    victims.add_argument("--victim", metavar="NODE", help="the victim, by one of the words above")
    victims.add_argument(
        "--topic", metavar="NAME", help="the victim is the leader of a partition of this topic"
    )
    victims.add_argument(
        "--link", type=_link, metavar="A-B", help="partition: only what node A sends to node B"
    )
    command.add_argument(
        "--partition",
        type=whole(0, 2**31 - 1),
        metavar="N",
        help="with --topic: of this partition (default 0)",
    )
    command.add_argument(
        "--follower", action="store_true", help="with --topic: a replica in sync that follows"
    )
    command.add_argument(
        "--dry-run", action="store_true", help="inject nothing, and print what would be hit"
    )
    arguments.add_named(command)
    arguments.add_json(command, "the fault, its nodes and links, its evidence")


def _link(text: str) -> Link:
    read = whole(1, _MOST_NODE)
    source, dash, destination = text.partition("-")
    if not dash or source == destination:
        raise argparse.ArgumentTypeError(f"{text!r} is not A-B, the numbers of two nodes")
    return Link(NodeId(read(source)), NodeId(read(destination)))


def run(parsed: argparse.Namespace) -> int:
    """Injects the fault; it lasts until `heal`."""
    from chaos.play.playground import inject_fault

    return inject_fault(
        ground_of(parsed),
        _fault(parsed),
        link=parsed.link,
        dry_run=parsed.dry_run,
        as_json=parsed.json,
    )


def _fault(parsed: argparse.Namespace) -> "Fault":
    """Raises UsageError."""
    if parsed.topic is None and (parsed.partition is not None or parsed.follower):
        raise UsageError("--partition and --follower need a topic\n  try: --topic NAME")
    if parsed.link is not None:
        if parsed.fault != _OF_A_LINK:
            raise UsageError(
                f"--link: {parsed.fault} is not of a link\n"
                f"  try: kraft-chaos inject {_OF_A_LINK} --link "
                f"{parsed.link.source}-{parsed.link.destination}"
            )
        return NetworkPartition(victim=OneNode(parsed.link.source), ways=Ways.OUT)
    try:
        return fault_told(parsed.fault, _victim(parsed))
    except ValueError as error:
        raise UsageError(f"{error}\n  try: kraft-chaos inject --help") from error


def _victim(parsed: argparse.Namespace) -> Victim | None:
    if parsed.node is not None:
        return OneNode(NodeId(parsed.node))
    if parsed.topic is not None:
        of = InSyncFollower if parsed.follower else PartitionLeader
        return of(f"{parsed.topic}-{parsed.partition or 0}")
    return victim_told(parsed.victim) if parsed.victim is not None else None
