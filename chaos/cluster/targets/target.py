"""The interface of a target: what a cluster must know of the program that runs in its nodes.

Our own node is one target, Apache Kafka another, a quorum of both the third. A target knows the
image of each node, its role, how it is configured, formatted and started, and how long it may take;
containers, links, disks, scenarios and judges are the same for all targets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol, runtime_checkable

from chaos.cluster.interface import Address, NodeId, Roles

DATA = "/data"  # where a node's disk is mounted
LOG_DIRECTORY = "kraft"  # below it: an ext4 has a lost+found there
SECOND_LOG_DIRECTORY = "kraft.second"  # beside that one, if a broker has two


def second_log_directory(first: str) -> str:
    """The path of the other log directory of a broker that has two."""
    return str(PurePosixPath(first).with_name(SECOND_LOG_DIRECTORY))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """The place of one node: what its configuration depends on."""

    node: NodeId
    directory_id: str  # Kafka's uuid text, 22 characters
    inner: Address  # for other nodes
    outer: Address  # for clients


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetBounds:
    """The limits of a node's time and disk."""

    answers_within_s: float = 120.0  # from its start; one that ended is not waited for
    stops_within_s: int = 10  # from SIGTERM; then it is killed
    disk_mebibytes: int = 256  # sparse: about 9 MiB are really occupied


class Target(Protocol):
    @property
    def name(self) -> str:
        """For people, with the release: `node`, `kafka 4.3.1`."""

    @property
    def word(self) -> str:
        """Its name on the command line."""

    def release_of(self, node: NodeId) -> str:
        """The release of Apache Kafka that the node's image holds; "" for the image of our own
        node."""

    @property
    def settings(self) -> Mapping[str, str]:
        """Its configuration; together with `word`, it makes the same target again."""

    @property
    def promises(self) -> Sequence[str]:
        """Its promises to clients, in the words of `checkers.history.sealed_run`."""

    @property
    def traces(self) -> bool:
        """Whether it prints its actions as trace lines (`checkers.history.traces`)."""

    @property
    def judged_by_logs(self) -> bool:
        """Whether it is two programs that talk to each other, so that their errors are judged."""

    @property
    def bounds(self) -> TargetBounds: ...

    @property
    def formats_at_start(self) -> bool:
        """The node's own first start formats its disk, and nothing syncs what it wrote."""

    @property
    def waits_when_formatted(self) -> bool:
        """The first start only formats: the node serves when it is started again."""

    def roles(self, node: NodeId) -> Roles: ...

    def inner_ports(self, node: NodeId) -> Sequence[int]:
        """The ports for other nodes; the first is that of its seat."""

    def properties(self, seat: Seat, log_directory: str) -> str:
        """The text of the node's configuration file."""

    def format_command(
        self, cluster_id: str, seat: Seat, seats: Sequence[Seat], properties_file: str
    ) -> Sequence[str]:
        """The command that writes a new log directory for the node at `seat`, in a cluster of all
        `seats`."""

    def start_command(self, node: NodeId, properties_file: str) -> Sequence[str]: ...


@runtime_checkable
class Switching(Protocol):
    """A target of our node and Apache Kafka, with an image that has both: each goes on where the
    other one stopped."""

    def switched(self, node: NodeId) -> "Target":
        """The same target, with the other program in this node."""


@runtime_checkable
class Reformatting(Protocol):
    """A target with nodes that may come back with an empty disk."""

    def reformat_command(
        self, cluster_id: str, node: NodeId, properties_file: str
    ) -> Sequence[str]:
        """The command that writes a log directory with a new directory id, for a node of a living
        cluster."""
