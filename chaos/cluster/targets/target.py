"""What a cluster must know of the program that runs in its nodes, and nothing else may.

Our own node is one target. A target says how it is configured, formatted and started; containers,
links, disks, scenarios and judges are the same for all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from chaos.cluster.interface import Address, NodeId

DATA = "/data"  # where a node's disk is mounted
LOG_DIRECTORY = "kraft"  # below it: an ext4 has a lost+found beside


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Where one node sits: what its configuration depends on."""

    node: NodeId
    directory_id: str  # Kafka's uuid text, 22 characters
    inner: Address  # by which other nodes reach it
    outer: Address  # by which clients reach it


class Target(Protocol):
    @property
    def name(self) -> str: ...

    def properties(self, seat: Seat, log_directory: str) -> str:
        """The text of the node's configuration file."""

    def format_command(
        self, cluster_id: str, seats: Sequence[Seat], properties_file: str
    ) -> Sequence[str]:
        """Writes a new log directory, for the voters who sit at `seats`."""

    def start_command(self, properties_file: str) -> Sequence[str]: ...
