"""What all explored replicas share: names, addresses, time-outs, and no randomness."""

import random
from typing import Any
from uuid import UUID

from node.config import QuorumTimeouts
from node.endpoint import Endpoint
from node.ids import ConnectionId, NodeId, ReplicaKey

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
