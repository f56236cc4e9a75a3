"""The bounds of an exploration, and what all explored replicas share: names, addresses, time-outs,
and no randomness."""

import random
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from node.config import QuorumTimeouts
from node.ids import ConnectionId, Endpoint, NodeId, ReplicaKey
from node.raft.voter_forms import DYNAMIC
from node.raft.voter_history import VoterHistory

# The bounds of the exploration, and the quorum.


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallBounds:
    """A quorum, formed by its first node in epoch 1, and what may happen to it.

    `listed`: its voters are listed (KIP-856), else they were formatted (KIP-853), all but the last
    `observers`.
    """

    listed: bool = False
    nodes: int = 3
    observers: int = 0
    epochs: int = 3  # including the one in which it was formed
    changes: int = 2  # of the voters
    entries: int = 4  # batches of a log, behind those with which the quorum was formed
    crashes: int = 1
    disks: int = 0  # replaced disks


CLUSTER_ID = "explored"
LISTENER = "CONTROLLER"
PEERS = ConnectionId(1000)  # connection of peers' requests; operators use lower ones
_PORTS = 9000  # plus the id of a node
_DISKS = 1000  # of one node at most
_NEVER_MS = 10**9

# No time-out fires unless a replica is told to wait for it.
TIMEOUTS = QuorumTimeouts(
    election_ms=_NEVER_MS,
    fetch_ms=_NEVER_MS,
    request_ms=10 * _NEVER_MS,
    retry_backoff_ms=0,
    fetch_max_wait_ms=0,
)
OPERATOR_WAITS_MS = 2**31 - 1


class NoChance(random.Random):
    """The shortest waits, and the first of all choices."""

    def randrange(self, *_: Any) -> int:
        return 0

    def choice(self, seq: Any) -> Any:
        return seq[0]


def endpoint(node: NodeId) -> Endpoint:
    return Endpoint(name=LISTENER, host=f"n{node}", port=_PORTS + node)


def node_at(at: Endpoint) -> NodeId:
    """The node that listens there."""
    return NodeId(at.port - _PORTS)


def disk(node: NodeId, number: int = 1) -> ReplicaKey:
    """The node with its first disk, its second, ..."""
    return ReplicaKey(node, UUID(int=_DISKS * node + number))


def disk_number(key: ReplicaKey) -> int:
    return key.directory.int % _DISKS


def name(key: ReplicaKey) -> str:
    return f"n{key.id}" + ("" if disk_number(key) < 2 else f" (disk {disk_number(key)})")


# How the disks of a quorum are formatted, in the two forms (`node.raft.voter_forms`).


@dataclass(frozen=True, slots=True, kw_only=True)
class Formation:
    """Nodes 1, 2, ... of which the last are observers; `listed` (KIP-856): all are voters."""

    listed: bool
    nodes: int
    observers: int

    @property
    def voters(self) -> int:
        return self.nodes - self.observers

    def all_nodes(self) -> tuple[NodeId, ...]:
        return tuple(NodeId(node) for node in range(1, self.nodes + 1))

    def voters_of(self, key: ReplicaKey) -> VoterHistory:
        """The voters, where the log names none: as that disk was formatted."""
        if self.listed:
            return VoterHistory.listed({node: (endpoint(node),) for node in self.all_nodes()}, key)
        votes = key.id <= self.voters and disk_number(key) == 1
        voters = self.all_nodes()[: self.voters] if votes else ()
        rows = [(disk(node), (endpoint(node),)) for node in voters]
        return VoterHistory.formatted(rows, DYNAMIC)

    def servers(self) -> tuple[Endpoint, ...]:
        return () if self.listed else tuple(map(endpoint, self.all_nodes()))
