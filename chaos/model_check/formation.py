"""How the disks of a quorum are formatted, in the two forms (`node.raft.voter_forms`)."""

from dataclasses import dataclass

from chaos.model_check.setting import disk, disk_number, endpoint
from node.endpoint import Endpoint
from node.ids import NodeId, ReplicaKey
from node.raft.voter_forms import DYNAMIC
from node.raft.voter_history import VoterHistory


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
