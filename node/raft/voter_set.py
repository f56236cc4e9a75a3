"""The voters: a static set, keyed by node id and directory id (KIP-856)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from node.endpoint import Endpoint
from node.ids import NodeId, ReplicaKey


def majority_of(size: int) -> int:
    """How many of `size` voters are a majority: half of them, and one."""
    return size // 2 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterSet:
    """Who votes, and where each voter is reached. Iterates in the order of node ids."""

    endpoints: Mapping[ReplicaKey, tuple[Endpoint, ...]]
    by_id: Mapping[NodeId, ReplicaKey]
    majority: int

    @classmethod
    def of(cls, voters: Iterable[tuple[ReplicaKey, tuple[Endpoint, ...]]]) -> "VoterSet":
        """Raises ValueError when there is no voter, or one node id twice."""
        ordered = dict(sorted(voters, key=lambda voter: voter[0]))
        by_id = {key.id: key for key in ordered}
        if not ordered or len(by_id) != len(ordered):
            raise ValueError(f"not a voter set: {list(ordered)}")
        return cls(endpoints=ordered, by_id=by_id, majority=majority_of(len(ordered)))

    @property
    def keys(self) -> Iterable[ReplicaKey]:
        return self.endpoints.keys()

    def __contains__(self, key: object) -> bool:
        """Is this very replica (id and directory) a voter?"""
        return key in self.endpoints

    def __len__(self) -> int:
        return len(self.endpoints)

    def others(self, me: ReplicaKey) -> list[ReplicaKey]:
        """The voters on other nodes: what had our id on an earlier disk cannot be reached."""
        return [key for key in self.endpoints if key.id != me.id]

    def endpoint(self, node: NodeId, listener: str | None = None) -> Endpoint | None:
        """Where `node` listens: by `listener` if the set knows it, else by its first one."""
        key = self.by_id.get(node)
        known = self.endpoints[key] if key is not None else ()
        named = (endpoint for endpoint in known if endpoint.name == listener)
        return next(named, known[0] if known else None)
