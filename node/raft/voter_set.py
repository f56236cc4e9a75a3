"""The voters at one moment, keyed by node id and directory id (KIP-856, KIP-853)."""

from collections.abc import Iterable, Mapping

from node.ids import Endpoint, NodeId, ReplicaKey, one_key
from node.lazy_dataclass import dataclass
from node.records.control import Voter


def majority_of(size: int) -> int:
    """How many of `size` voters are a majority: more than half of them."""
    return size // 2 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterSet:
    """The voters, and the endpoints of each. Iterates in the order of keys.

    It is empty on a disk that was formatted without voters, until the log names some. Two
    directories of one node id may be voters at once (KIP-856): they have one address. Before the
    log names any, a voter may be known by its id alone; it then has the zero directory id.
    """

    rows: Mapping[ReplicaKey, Voter]
    by_id: Mapping[NodeId, ReplicaKey]
    majority: int

    @classmethod
    def of(cls, voters: Iterable[tuple[ReplicaKey, tuple[Endpoint, ...]]]) -> "VoterSet":
        """Voters known only by their endpoints. Raises ValueError for a voter listed twice."""
        return cls.of_rows(Voter(key=key, endpoints=endpoints) for key, endpoints in voters)

    @classmethod
    def of_rows(cls, rows: Iterable[Voter], majority: int | None = None) -> "VoterSet":
        """`majority`: given if more than half and one. Raises ValueError for a voter listed
        twice."""
        ordered = sorted(rows, key=lambda row: row.key)
        by_key = {one_key(row.key): row for row in ordered}
        if len(by_key) != len(ordered):
            raise ValueError(f"not a voter set: {[row.key for row in ordered]}")
        by_id = {key.id: key for key in by_key}
        return cls(rows=by_key, by_id=by_id, majority=majority or majority_of(len(by_key)))

    @property
    def keys(self) -> Iterable[ReplicaKey]:
        return self.rows.keys()

    def __contains__(self, key: object) -> bool:
        """Is this very replica (id and directory) a voter?"""
        return key in self.rows

    def own(self, key: ReplicaKey) -> ReplicaKey:
        """This set's own object for an equal key: a look-up of that object needs no comparison."""
        known = self.by_id.get(key.id, key)
        return known if known == key else key

    def may_include(self, key: ReplicaKey) -> bool:
        """Is it a voter, or one with a directory id that is not known yet?"""
        return key in self.rows or ReplicaKey(key.id) in self.rows

    def __len__(self) -> int:
        return len(self.rows)

    def others(self, me: ReplicaKey) -> list[ReplicaKey]:
        """The voters on other nodes: a voter with our id on an earlier disk cannot be reached."""
        return [key for key in self.rows if key.id != me.id]

    def endpoints_of(self, key: ReplicaKey) -> tuple[Endpoint, ...]:
        """Empty for a non-voter."""
        row = self.rows.get(key)
        return () if row is None else row.endpoints

    def endpoint(self, node: NodeId, listener: str | None = None) -> Endpoint | None:
        """Where `node` listens: by `listener` if the set knows it, else by its first one."""
        key = self.by_id.get(node)
        known = self.rows[key].endpoints if key is not None else ()
        named = (endpoint for endpoint in known if endpoint.name == listener)
        return next(named, known[0] if known else None)

    def plus(self, voter: Voter) -> "VoterSet":
        """With this voter added, or its row replaced."""
        return VoterSet.of_rows([*self.minus(voter.key).rows.values(), voter])

    def minus(self, key: ReplicaKey) -> "VoterSet":
        return VoterSet.of_rows(row for row in self.rows.values() if row.key != key)
