"""`kraft-node`: formats a disk, runs a node on it, asks a quorum or brokers, prints a log."""

import argparse
import json
import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TypeAlias
from uuid import UUID

from node.config import OF_BROKERS, NodeConfig
from node.ids import Endpoint, NodeId, ReplicaKey, parse_uuid
from node.server.format_command import ELIGIBLE_LEADERS, STATIC_QUORUM, format_disk
from node.server.outcome import FAILED, WRONG_USAGE, Refusal
from node.server.properties import read_settings
from node.server.property_values import ConfigError, known_numbers, parse_endpoint
from node.storage.disk import StorageError

# The values of `kraft-node`'s options. Each function raises ArgumentTypeError.


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdigit() and int(port) < 1 << 16):
        raise ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def directory_id(text: str) -> UUID:
    try:
        return parse_uuid(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def endpoint(text: str) -> Endpoint:
    try:
        return parse_endpoint(text, "--endpoint")
    except ConfigError as error:
        raise ArgumentTypeError(str(error)) from error


def addresses(text: str) -> list[tuple[str, int]]:
    return [_address(entry.strip()) for entry in text.split(",")]


def controllers(text: str) -> list[tuple[ReplicaKey, str, int]]:
    """Kafka's syntax: id@host:port:directory-id, separated by commas."""
    return [_controller(entry.strip()) for entry in text.split(",")]


def _controller(entry: str) -> tuple[ReplicaKey, str, int]:
    node, at, rest = entry.partition("@")
    address, colon, directory = rest.rpartition(":")
    if not (at and colon and node.isdigit()):
        raise ArgumentTypeError(f"{entry!r} is not ID@HOST:PORT:DIRECTORY_ID")
    try:
        key = ReplicaKey(NodeId(int(node)), parse_uuid(directory))
    except ValueError as error:
        raise ArgumentTypeError(f"{entry!r}: {error}") from error
    return key, *_address(address)


FORMAT_EXAMPLE = """\
example:
  kraft-node format -t 4L6g3nShT-eMCtK--X86sw -c node-1.properties

  Where the file of every node sets controller.quorum.voters=1@node-1:9101,2@node-2:9102, these vote
  (KIP-856): every disk gets a new directory id, a replaced one too, and the first leader learns
  them. The id is printed. With --feature kraft.version=0 as well, the quorum is static: it knows
  voters by their ids alone, and a disk that was replaced votes as the lost one did. Two of three
  that were replaced can so elect a leader that knows nothing of what was committed.

  kraft-node format -t 4L6g3nShT-eMCtK--X86sw -c node-1.properties \\
    --initial-controllers 1@node-1:9101:JEXY6aqzQY-32P5TStzaFg,2@node-2:9102:aQIQ6wMPRwuLmGHy1MQbqA

  Where no file lists them, the disks name the voters (KIP-853), as for Apache Kafka's
  controllers and tools: every node of the quorum is formatted with the same list, and takes its own
  directory id from its own entry. With --standalone and --no-initial-controllers the disk is given
  a new one. A node with a new disk is formatted with --no-initial-controllers: it was another voter
  before.

  A cluster with disks that are formatted with --feature eligible.leader.replicas.version=1 keeps
  eligible leader replicas from its first record on (KIP-966).

  CLUSTER_ID and directory ids are 22 characters of URL-safe base64.
"""
START_EXAMPLE = """\
example:
  kraft-node start -c node-1.properties > node-1.trace

  stdout carries one JSON line an event, stderr what a person should know. SIGTERM stops it.

  process.roles is controller, broker, or broker,controller: both in one process. Its listeners in
  controller.listener.names then serve controllers, and all others serve clients and brokers.

  log.dirs=/disk-1/kraft,/disk-2/kraft gives a broker several log directories, each formatted. A new
  replica is in the one with the fewest. The metadata log is in metadata.log.dir, or else where it
  lies; format puts it in the first. A broker with a directory that fails ends: take that out of
  log.dirs, and its replicas are made anew in the others.
"""
SETTINGS = f"""\

numbers that the file may set, as Kafka calls them, and what they are otherwise:
{known_numbers()}
  When max.connections are open, or no descriptor is left but those kept for the disk and the other
  voters, a new connection takes the place of the one that was silent longest; those of the first of
  controller.listener.names, which is the voters' own, go last.
  A broker's socket.request.max.bytes is {OF_BROKERS.request_max_bytes}, and so is its
  queued.max.request.bytes.
  Requests of more than 64 KiB wait in their sockets until they have room, all of them together, in
  queued.max.request.bytes. As much is held again of answers that are not read, and then the
  connection that holds most of them is closed. A larger request than socket.request.max.bytes is
  hung up on.

metrics.listener=127.0.0.1:9404 serves metrics to Prometheus, at http://127.0.0.1:9404/metrics.
"""
QUORUM_EXAMPLE = """\
example:
  kraft-node quorum --bootstrap 127.0.0.1:9200 describe
  kraft-node quorum --bootstrap 127.0.0.1:9200 describe --replication --json
  kraft-node quorum --bootstrap 127.0.0.1:9200 remove-voter --replica-id 3 \\
    --replica-uuid 9EX5XQzJTxSbmU1pdMYKKg
  kraft-node quorum --bootstrap 127.0.0.1:9200 add-voter --replica-id 3 \\
    --replica-uuid aQIQ6wMPRwuLmGHy1MQbqA --endpoint CONTROLLER://node-3:9103
"""
ELECT_EXAMPLE = """\
example:
  kraft-node elect-leaders --bootstrap-server 127.0.0.1:9092 --election-type preferred \\
    --all-topic-partitions
  kraft-node elect-leaders --bootstrap-server 127.0.0.1:9092 --election-type longest_log_balanced \\
    --topic orders --partition 0
  kraft-node elect-leaders --bootstrap-server 127.0.0.1:9092 --election-type designation \\
    --path-to-json-file leaders.json

  The file is {"partitions": [{"topic": "orders", "partition": 0, "desiredLeader": 2}]};
  desiredLeader is for designations only.

  preferred: the first replica, where another one leads. unclean: any replica that is there.
  longest_log_aggressive: of the replicas that are there, the one with the longest log.
  longest_log_balanced: the same, once all that may have everything are there. designation: the
  replica that the file names. All but preferred are held only where a partition has no leader, and
  the last three need brokers and controllers of ours, as no released Kafka has them (KIP-966).

  It ends with 0 if every partition has a leader now, or had one, and with 1 if one has none.
"""
TOPICS_EXAMPLE = """\
example:
  kraft-node topics describe --bootstrap-server 127.0.0.1:9092
  kraft-node topics describe --bootstrap-server 127.0.0.1:9092,127.0.0.1:9093 --topic orders
  kraft-node topics describe --bootstrap-server 127.0.0.1:9092 --unavailable-partitions

  A line a topic and one a partition, in the form of kafka-topics. Elr: the replicas outside the ISR
  that may lead all the same (KIP-966); LastKnownElr: those that were in it when they went down
  uncleanly.
"""
DUMP_EXAMPLE = """\
example:
  kraft-node dump-log data/__cluster_metadata-0/00000000000000000000.log
"""


ELECTION_TYPES = (
    "PREFERRED",
    "UNCLEAN",
    "LONGEST_LOG_AGGRESSIVE",
    "LONGEST_LOG_BALANCED",
    "DESIGNATION",
)
PARTITION_FILTERS = {
    "--under-replicated-partitions": "only partitions with replicas outside the ISR",
    "--under-min-isr-partitions": "only those with a smaller ISR than min.insync.replicas",
    "--at-min-isr-partitions": "only those with an ISR of just min.insync.replicas",
    "--unavailable-partitions": "only those that no live broker leads",
}


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


class Parser(argparse.ArgumentParser):
    """argparse would exit with 2, which `make` does as well; wrong usage is 254 here."""

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"error: {message}\n  {self.prog}\n  try: {self.prog} --help\n")
        sys.exit(WRONG_USAGE)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        code = 0  # the reader of our output has seen enough
    except Refusal as refusal:
        code = _say(str(refusal), refusal.code)
    except ConfigError as error:
        step = "  try: correct that line; kraft-node start --help lists the settings"
        code = _say(f"error: {error}\n  {options.config}\n{step}", FAILED)
    except StorageError as error:
        code = _say(f"error: {error}", FAILED)
    except OSError as error:
        what = f"error: {error.strerror or error}\n  {error.filename or ''}\n"
        step = "  try: see that it exists, may be used by this user and has room, and start again"
        code = _say(what + step, FAILED)
    sys.stderr.flush()
    # Threads that still resolve a name must not delay the exit.
    os._exit(code)


def _say(text: str, code: int) -> int:
    sys.stderr.write(text + "\n")
    return code


def _parser() -> Parser:
    parser = Parser(
        prog="kraft-node",
        description=__doc__,
        epilog=FORMAT_EXAMPLE
        + START_EXAMPLE
        + QUORUM_EXAMPLE
        + ELECT_EXAMPLE
        + TOPICS_EXAMPLE
        + DUMP_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_format(commands)
    _add_start(commands)
    _add_quorum(commands)
    _add_elect(commands)
    _add_topics(commands)
    _add_dump(commands)
    return parser


def _command(commands: Commands, name: str, about: str, epilog: str) -> Parser:
    return commands.add_parser(
        name,
        help=about,
        description=about,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_format(commands: Commands) -> None:
    parser = _command(commands, "format", "give an empty disk to a node", FORMAT_EXAMPLE)
    parser.add_argument("-t", "--cluster-id", required=True, help="the same for every node")
    parser.add_argument("-c", "--config", type=Path, required=True, help="server.properties")
    voters = parser.add_mutually_exclusive_group()
    voters.add_argument(
        "--initial-controllers",
        type=controllers,
        metavar="ID@HOST:PORT:DIRECTORY_ID,...",
        help="every voter of a new quorum",
    )
    voters.add_argument(
        "--standalone", action="store_true", help="this node is the one voter of a new quorum"
    )
    voters.add_argument(
        "--no-initial-controllers",
        action="store_true",
        help="the quorum is there already: follow it, and wait to be added to its voters",
    )
    parser.add_argument(
        "--feature",
        action="append",
        choices=(STATIC_QUORUM, ELIGIBLE_LEADERS),
        default=[],
        help=f"{STATIC_QUORUM}: voters are those of controller.quorum.voters, by their ids alone; "
        f"{ELIGIBLE_LEADERS}: with eligible leader replicas (KIP-966); may be said again",
    )
    parser.add_argument(
        "--ignore-formatted", action="store_true", help="leave a disk that is this node's as it is"
    )
    parser.set_defaults(run=_format)


def _add_start(commands: Commands) -> None:
    parser = _command(
        commands, "start", "run a node on its formatted disk", START_EXAMPLE + SETTINGS
    )
    parser.add_argument("-c", "--config", type=Path, required=True, help="server.properties")
    parser.set_defaults(run=_start)


def _add_quorum(commands: Commands) -> None:
    parser = _command(commands, "quorum", "ask the leader about its quorum", QUORUM_EXAMPLE)
    parser.add_argument(
        "--bootstrap", required=True, type=addresses, metavar="HOST:PORT,...", help="controllers"
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    describe = _command(actions, "describe", "leader, voters and their lag", QUORUM_EXAMPLE)
    describe.add_argument("--replication", action="store_true", help="one line a replica")
    describe.add_argument("--json", action="store_true", help="for a script")
    describe.set_defaults(run=_describe_quorum)
    _add_change(actions, "add-voter", "make an observer a voter")
    _add_change(actions, "remove-voter", "a voter votes no more")


def _add_change(actions: Commands, name: str, about: str) -> None:
    parser = _command(actions, name, about, QUORUM_EXAMPLE)
    parser.add_argument("--replica-id", required=True, type=int, metavar="ID")
    parser.add_argument("--replica-uuid", required=True, type=directory_id, metavar="DIRECTORY_ID")
    if name == "add-voter":
        parser.add_argument(
            "--endpoint",
            default=[],
            action="append",
            type=endpoint,
            metavar="NAME://HOST:PORT",
            help="where the other voters reach it, unless controller.quorum.voters says so; may be"
            " said again for other listeners",
        )
        parser.add_argument(
            "--timeout-ms", type=int, default=30_000, help="how long it may wait; 30000"
        )
    parser.add_argument("--json", action="store_true", help="say what was done in JSON")
    parser.set_defaults(run=_change_voters)


def _add_bootstrap_server(parser: Parser) -> None:
    parser.add_argument(
        "--bootstrap-server",
        required=True,
        type=addresses,
        metavar="HOST:PORT,...",
        help="brokers; the first one that answers is asked",
    )


def _add_elect(commands: Commands) -> None:
    parser = _command(commands, "elect-leaders", "elect leaders of partitions", ELECT_EXAMPLE)
    _add_bootstrap_server(parser)
    parser.add_argument(
        "--election-type",
        required=True,
        type=str.upper,
        choices=ELECTION_TYPES,
        metavar="TYPE",
        help=", ".join(ELECTION_TYPES).lower(),
    )
    parser.add_argument("--topic", help="of one partition; with --partition")
    parser.add_argument("--partition", type=int, metavar="N", help="its number; with --topic")
    parser.add_argument(
        "--all-topic-partitions", action="store_true", help="every partition that needs one"
    )
    parser.add_argument(
        "--path-to-json-file", type=Path, metavar="FILE", help="the partitions that FILE lists"
    )
    parser.add_argument(
        "--timeout",
        type=int,
        default=60_000,
        metavar="MS",
        help="how long elections may take, of up to 1000 partitions at once; 60000",
    )
    parser.set_defaults(run=_elect_leaders, wrong=parser.error)


def _add_topics(commands: Commands) -> None:
    parser = _command(commands, "topics", "ask brokers about topics", TOPICS_EXAMPLE)
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    describe = _command(actions, "describe", "partitions, and which may lead them", TOPICS_EXAMPLE)
    _add_bootstrap_server(describe)
    describe.add_argument(
        "--topic", action="append", default=[], help="this one; may be said again; else all"
    )
    describe.add_argument(
        "--if-exists", action="store_true", help="pass over a --topic that is not there"
    )
    describe.add_argument(
        "--exclude-internal", action="store_true", help="no topics of Kafka's own"
    )
    only = describe.add_mutually_exclusive_group()
    for name, about in PARTITION_FILTERS.items():
        only.add_argument(name, action="store_const", dest="only", const=name, help=about)
    only.add_argument(
        "--topics-with-overrides",
        action="store_true",
        help="only topics with settings of their own, without their partitions",
    )
    describe.add_argument(
        "--partition-size-limit-per-response",
        type=int,
        default=2000,
        metavar="N",
        help="ask for so many partitions at once; a broker answers with no more than its "
        "max.request.partition.size.limit; 2000",
    )
    describe.set_defaults(run=_describe_topics, wrong=describe.error)


def _add_dump(commands: Commands) -> None:
    parser = _command(commands, "dump-log", "show the batches and records of files", DUMP_EXAMPLE)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.set_defaults(run=_dump_log)


def _config(path: Path) -> NodeConfig:
    settings = read_settings(path)
    for key in settings.unknown:
        sys.stderr.write(f"warning: {path}: {key} is not in force: this node has no such setting\n")
    return settings.config


def _format(options: argparse.Namespace) -> int:
    print_line(format_disk(options, _config(options.config)))
    return 0


def _start(options: argparse.Namespace) -> int:
    from node.server.run import serve

    return serve(_config(options.config))


def _describe_quorum(options: argparse.Namespace) -> int:
    from node.server.quorum_command import as_lines, describe, replication, status

    quorum = describe(options.bootstrap)
    told = replication(quorum) if options.replication else status(quorum)
    for line in [json.dumps(told, indent=2)] if options.json else as_lines(told):
        print_line(line)
    return 0


def _change_voters(options: argparse.Namespace) -> int:
    from node.server.quorum_command import add_voter, change_line, remove_voter

    voter = ReplicaKey(NodeId(options.replica_id), options.replica_uuid)
    if options.action == "add-voter":
        add_voter(options.bootstrap, voter, tuple(options.endpoint), options.timeout_ms)
    else:
        remove_voter(options.bootstrap, voter)
    print_line(change_line(options.action, voter, as_json=options.json))
    return 0


def _elect_leaders(options: argparse.Namespace) -> int:
    from node.server.elect_command import run

    return run(options, print_line)


def _describe_topics(options: argparse.Namespace) -> int:
    from node.server.topics_command import run

    return run(options, print_line)


def _dump_log(options: argparse.Namespace) -> int:
    from node.server.dump_log import dump

    return dump(options.files, sys.stdout)


def print_line(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
