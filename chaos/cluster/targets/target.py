"""What a cluster must know of the program that runs in its nodes, and nothing else may.

Our own node is one target, Apache Kafka the other, a quorum of both the third. A target says in
which image each node runs, what it is, how it is configured, formatted and started, and how long it
may take; containers, links, disks, scenarios and judges are the same for all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol, runtime_checkable

from chaos.cluster.interface import Address, NodeId, Roles

DATA = "/data"  # where a node's disk is mounted
LOG_DIRECTORY = "kraft"  # below it: an ext4 has a lost+found beside
SECOND_LOG_DIRECTORY = "kraft.second"  # beside that one, where a broker has two


def second_log_directory(first: str) -> str:
    """The path of the other log directory of a broker that has two."""
    return str(PurePosixPath(first).with_name(SECOND_LOG_DIRECTORY))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Where one node sits: what its configuration depends on."""

    node: NodeId
    directory_id: str  # Kafka's uuid text, 22 characters
    inner: Address  # by which other nodes reach it
    outer: Address  # by which clients reach it


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetBounds:
    """What a node may take."""

    answers_within_s: float = 120.0  # from its start; one that ended is not waited for
    stops_within_s: int = 10  # from SIGTERM; then it is killed
    disk_mebibytes: int = 256  # sparse: about 9 MiB are really occupied


class Target(Protocol):
    @property
    def name(self) -> str:
        """For people, with the release: `node`, `kafka 4.3.1`."""

    @property
    def word(self) -> str:
        """By which the command line names it."""

    def release_of(self, node: NodeId) -> str:
        """Of Apache Kafka, in whose image the node runs; "": in that of our own node."""

    @property
    def settings(self) -> Mapping[str, str]:
        """How it was configured; with `word`, all that makes the same target once more."""

    @property
    def promises(self) -> Sequence[str]:
        """What it promises its clients, in the words of `checkers.history.sealed_run`."""

    @property
    def traces(self) -> bool:
        """Whether it prints what it does as trace lines (`checkers.history.traces`)."""

    @property
    def judged_by_logs(self) -> bool:
        """Whether it is two programs that hear each other, so that their errors are judged."""

    @property
    def bounds(self) -> TargetBounds: ...

    @property
    def formats_at_start(self) -> bool:
        """The node's own first start formats its disk, and nothing syncs what that wrote."""

    @property
    def waits_when_formatted(self) -> bool:
        """That start goes no further: the node serves when it is started again."""

    def roles(self, node: NodeId) -> Roles: ...

    def inner_ports(self, node: NodeId) -> Sequence[int]:
        """By which other nodes reach it; the first is that of its seat."""

    def properties(self, seat: Seat, log_directory: str) -> str:
        """The text of the node's configuration file."""

    def format_command(
        self, cluster_id: str, seat: Seat, seats: Sequence[Seat], properties_file: str
    ) -> Sequence[str]:
        """Writes a new log directory for the node at `seat`, in a cluster of all `seats`."""

    def start_command(self, node: NodeId, properties_file: str) -> Sequence[str]: ...


@runtime_checkable
class Switching(Protocol):
    """A target of our node and Apache Kafka, whose image has both: each goes on where the other one
    stopped."""

    def switched(self, node: NodeId) -> "Target":
        """The same, but that this node is the other program."""


@runtime_checkable
class Reformatting(Protocol):
    """A target with nodes that may come back with an empty disk."""

    def reformat_command(
        self, cluster_id: str, node: NodeId, properties_file: str
    ) -> Sequence[str]:
        """Writes a log directory with a new directory id, for a node of a living cluster."""
