"""The watch over the nodes of a whole quorum."""

from collections import Counter
from collections.abc import Iterable

from chaos.cluster.sim.invariants.known_batches import (
    NOTHING,
    Keys,
    KnownBatch,
    KnownBatches,
    holds,
)
from chaos.cluster.sim.invariants.ledgers import (
    Commits,
    Elections,
    EqualImages,
    Fetches,
    Ledgers,
    Origins,
    Replica,
)
from chaos.cluster.sim.invariants.rules import Broken, Looked
from chaos.cluster.sim.invariants.view import View
from chaos.cluster.sim.invariants.watched_life import WatchedLife
from node.ids import NodeId, ReplicaKey

# Share of a fetch time-out: no node gives up a leader that it heard more recently. Less than one,
# since a node may round.
_LEAST_SILENT = 0.9


class Watch:
    """One run with disks that were formatted with `voters`, or a configuration that lists them, by
    ids only; by the records of a log others may be voters later. Its nodes wait `fetch_timeout_ms`
    for their leader."""

    def __init__(
        self,
        voters: Iterable[ReplicaKey],
        fetch_timeout_ms: int = 2000,
        looked: Looked | None = None,
    ) -> None:
        self.looked = Counter() if looked is None else looked
        self.first = frozenset(voters)
        self._replicas = {key: Replica(key) for key in sorted(self.first)}
        self._owners: dict[str, NodeId] = {}
        self._cluster_id = ""  # no node has started yet
        batches = KnownBatches(self.first)
        self._ledgers = Ledgers(
            durable_of=self._durable_of,
            batches=batches,
            elections=Elections(),
            origins=Origins(),
            fetches=Fetches(),
            commits=Commits(self._count_holders, batches.voting),
            images=EqualImages(),
            looked=self.looked,
            least_silent_ns=int(fetch_timeout_ms * 1_000_000 * _LEAST_SILENT),
        )

    def begin(self, key: ReplicaKey, view: View, at_ns: int) -> WatchedLife:
        """A process of `key` has opened its log; what it found on its disk is judged at once.

        A key that is not a voter's (a wiped disk is another replica) is watched as well, and counts
        for no majority until it is one. Raises InvariantViolated.
        """
        replica = self._replicas.setdefault(key, Replica(key))
        replica.lives += 1
        life = WatchedLife(self._ledgers, replica, view)
        for rule in ("Q20-one-cluster", "V7-one-node-a-directory", "durable-stays"):
            self.looked[rule] += 1
        try:
            self._join(key, view.cluster_id)
            self._own(key)
            life.find()
        except Broken as broken:
            life.blame(broken, at_ns)
        return life

    def _join(self, key: ReplicaKey, cluster_id: str) -> None:
        self._cluster_id = self._cluster_id or cluster_id
        if cluster_id != self._cluster_id:
            what = f"n{key.id} is of the cluster {cluster_id}, and others are of {self._cluster_id}"
            raise Broken("Q20-one-cluster", what)

    def _own(self, key: ReplicaKey) -> None:
        """A directory id belongs to one node, for ever."""
        owner = self._owners.setdefault(str(key.directory), key.id)
        if owner != key.id:
            what = f"n{key.id} has the directory {key.directory}, which is that of n{owner}"
            raise Broken("V7-one-node-a-directory", what)

    def _count_holders(self, voters: Keys, batch: KnownBatch) -> int:
        return sum(holds(self._durable_of(key), batch) for key in voters)

    def _durable_of(self, key: ReplicaKey) -> KnownBatch:
        replica = self._replicas.get(key)
        return NOTHING if replica is None else replica.durable
