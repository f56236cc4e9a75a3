"""The clusters on this machine that stay: `up`, `down`, `inject`, `heal`, `ps`, `logs`, `shell`."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from chaos.cluster.interface import Link, NodeId
from chaos.commands import arguments
from chaos.commands.arguments import Commands, add, ground_of, listed, seconds, whole
from chaos.errors import UsageError
from chaos.nemesis.fault import ways_of
from chaos.nemesis.kinds import BY_AN_OPERATOR, KINDS
from chaos.nemesis.kinds.cuts import NetworkPartition, Ways
from chaos.nemesis.recorded import FAULTS, VICTIM_WORDS, fault_told, victim_told
from chaos.nemesis.victims import InSyncFollower, OneNode, PartitionLeader, Victim


def add_parser(commands: Commands) -> None:
    """All of them, in the order of a session."""
    _add_up(commands)
    _add_down(commands)
    _add_inject(commands)
    _add_heal(commands)
    _add_ps(commands)
    _add_logs(commands)
    _add_shell(commands)


# --- up, down


def _add_up(commands: Commands) -> None:
    command = add(
        commands,
        "up",
        "bring up a cluster for manual faults",
        _up,
        about="Brings up a cluster without load and leaves it running; prints the bootstrap "
        "addresses and the next commands. Clusters with different names do not disturb each other; "
        "no later run removes them.",
        examples="""\
            kraft-chaos up
            kraft-chaos up five --nodes 5
            kraft-chaos up logs --set brokers=3
            kraft-chaos up --target kafka --set elr=off --set controllers=3""",
    )
    arguments.add_name(command)
    arguments.add_nodes(command)
    arguments.add_target(command)
    arguments.add_settings(command, of_scenarios=False)
    arguments.add_runtime(command)
    arguments.add_json(command, "name, target, addresses and roles")


def _up(parsed: argparse.Namespace) -> int:
    """Prints the bootstrap addresses and the next commands."""
    from chaos.play.playground import up

    settings = dict(parsed.settings)
    return up(
        ground_of(parsed),
        parsed.target,
        nodes=parsed.nodes,
        settings=settings,
        as_json=parsed.json,
    )


def _add_down(commands: Commands) -> None:
    command = add(
        commands,
        "down",
        "remove a running cluster",
        _down,
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


def _down(parsed: argparse.Namespace) -> int:
    """Removes its injected faults with it."""
    from chaos.play.playground import down, down_all

    if parsed.all:
        return down_all(parsed.runtime, as_json=parsed.json)
    return down(ground_of(parsed), as_json=parsed.json)


# --- inject, heal


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


def _add_inject(commands: Commands) -> None:
    command = add(
        commands,
        "inject",
        "inject a fault into a running cluster, until `heal`",
        _inject,
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


def _inject(parsed: argparse.Namespace) -> int:
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


def _add_heal(commands: Commands) -> None:
    command = add(
        commands,
        "heal",
        "heal all injected faults, and print their evidence",
        _heal,
        about="Heals all injected faults, the newest first, and prints for each whether it took "
        "effect and what was measured. Exits 3 if one of them had no effect.",
        examples="kraft-chaos inject partition-leader && sleep 5 && kraft-chaos heal",
    )
    arguments.add_named(command)
    arguments.add_json(command, "the faults with their evidence")


def _heal(parsed: argparse.Namespace) -> int:
    """3 if a fault had no effect."""
    from chaos.play.playground import heal

    return heal(ground_of(parsed), as_json=parsed.json)


# --- ps


def _add_ps(commands: Commands) -> None:
    command = add(
        commands,
        "ps",
        "the clusters on this machine, their nodes and injected faults",
        _ps,
        about="Prints every cluster that `up` or `run --keep` left: what runs, the status, address "
        "and roles of each node, which one leads the quorum, and the faults that last; and runs "
        "that go on, or were killed.",
        examples="""\
            kraft-chaos ps
            kraft-chaos ps --json | jq -r '.clusters[].name'""",
    )
    arguments.add_runtime(command)
    arguments.add_json(command, "the clusters")


def _ps(parsed: argparse.Namespace) -> int:
    from chaos.play.looking import ps

    return ps(parsed.runtime, as_json=parsed.json)


# --- logs


_WITHIN_S = 2.0
_SECOND = 1e9
_LONGEST = 1_000_000


def _add_logs(commands: Commands) -> None:
    command = add(
        commands,
        "logs",
        "what a node wrote, in a recorded run or in a running cluster",
        _logs,
        about="With a RUN prints what a node wrote in it, each line with its time since the run "
        "began, as verdicts and pages tell times. Without one prints what a node of a running "
        "cluster has written so far.",
        examples="""\
            kraft-chaos logs 1 runs/latest --around 24.8s
            kraft-chaos logs 1 runs/latest --around 24.8s --within 500ms
            kraft-chaos logs 3 runs/latest --stderr
            kraft-chaos logs 2 --last 20                 of the cluster that `up` made
            kraft-chaos logs 2 --name five | grep ERROR""",
    )
    command.add_argument("node", type=whole(1, 99), metavar="NODE", help="its number")
    command.add_argument(
        "run_directory", nargs="?", type=Path, metavar="RUN", help="a recorded run"
    )
    command.add_argument(
        "--around",
        type=seconds(0, 1e6),
        metavar="TIME",
        help="with RUN: lines around this time, such as 24.8s",
    )
    command.add_argument(
        "--within",
        type=seconds(0, 1e6),
        metavar="TIME",
        help=f"with --around: as far as this from it (default {_WITHIN_S:g}s)",
    )
    command.add_argument(
        "--stderr", action="store_true", help="with RUN: what it wrote to stderr, without times"
    )
    command.add_argument(
        "--last", type=whole(1, 10**9), metavar="N", help="without RUN: its last lines only"
    )
    arguments.add_named(command)


def _logs(parsed: argparse.Namespace) -> int:
    from chaos.play.looking import logs_of_cluster

    if parsed.run_directory is None:
        if parsed.around is not None or parsed.within is not None or parsed.stderr:
            raise UsageError(
                "--around, --within and --stderr are of a recorded run\n"
                f"  try: kraft-chaos logs {parsed.node} runs/latest --around 24.8s"
            )
        return logs_of_cluster(ground_of(parsed), parsed.node, last=parsed.last)
    if parsed.last is not None:
        raise UsageError(
            "--last is of a running cluster\n"
            f"  try: kraft-chaos logs {parsed.node} {parsed.run_directory} | tail -{parsed.last}"
        )
    if parsed.within is not None and parsed.around is None:
        raise UsageError("--within needs a time\n  try: --around 24.8s")
    return _of_run(
        parsed.run_directory,
        parsed.node,
        around_s=parsed.around,
        within_s=_WITHIN_S if parsed.within is None else parsed.within,
        stderr=parsed.stderr,
    )


def _of_run(
    named: Path, node: int, *, around_s: float | None, within_s: float, stderr: bool
) -> int:
    """Print the lines of a recorded run with their times, as on its page; those around a time, if
    there is one. Raises UsageError for a node that has no log there."""
    from chaos.campaign.recorded_run import run_directory
    from checkers.history.sealed_run import read_run_info
    from checkers.page.run_page import LOGS, read_lines

    directory = run_directory(named)
    path = directory / LOGS / f"node-{node}.{'err' if stderr else 'log'}"
    if not path.is_file():
        known = ", ".join(sorted(each.name for each in (directory / LOGS).glob("node-*")))
        raise UsageError(f"{path}: there is no such log; there are {known or 'none'}")
    text = path.read_text(encoding="utf-8", errors="replace")
    if stderr:  # without times
        sys.stdout.write(text)
        return 0
    shown = 0
    for line in read_lines(text, read_run_info(directory), _LONGEST):
        at_s = line.at_ns / _SECOND
        if around_s is None or abs(at_s - around_s) <= within_s:
            sys.stdout.write(f"{at_s:11.4f} s  {line.text}\n")
            shown += 1
    if not shown and around_s is not None:
        sys.stderr.write(
            f"node {node} wrote nothing from {around_s - within_s:g} s to "
            f"{around_s + within_s:g} s\n  try: --within {2 * within_s + 1:g}s\n"
        )
    return 0


# --- shell


def _add_shell(commands: Commands) -> None:
    command = add(
        commands,
        "shell",
        "a shell, or a command, in the container of a node",
        _shell,
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


def _shell(parsed: argparse.Namespace) -> int:
    """The exit code is that of the shell, or of the command."""
    from chaos.play.looking import shell

    words = parsed.words[1:] if parsed.words[:1] == ["--"] else parsed.words
    return shell(ground_of(parsed), parsed.node, words)
