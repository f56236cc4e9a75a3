"""The watch over a whole cluster."""

from collections.abc import Iterable

from chaos.cluster.sim.invariants.broken import Broken
from chaos.cluster.sim.invariants.commits import Commits
from chaos.cluster.sim.invariants.confirmed_reads import Fetches
from chaos.cluster.sim.invariants.elections import Elections
from chaos.cluster.sim.invariants.epoch_origins import Origins
from chaos.cluster.sim.invariants.images import Images
from chaos.cluster.sim.invariants.known_batches import KnownBatch, KnownBatches, holds
from chaos.cluster.sim.invariants.view import View
from chaos.cluster.sim.invariants.watched_life import Ledgers, Replica, WatchedLife
from node.ids import ReplicaKey

# Of a fetch time-out: nobody gives a leader up that was heard more lately. Less than one, for what
# a node may round.
_LEAST_SILENT = 0.9


class Watch:
    """One run of a static voter set, whose nodes wait `fetch_timeout_ms` for their leader."""

    def __init__(self, voters: Iterable[ReplicaKey], fetch_timeout_ms: int = 2000) -> None:
        keys = sorted(voters)
        majority = len(keys) // 2 + 1  # not by the node's own rule, which may be wrong
        self._replicas = {key: Replica(key) for key in keys}
        self._voters = list(self._replicas.values())
        self._ledgers = Ledgers(
            batches=KnownBatches(),
            elections=Elections({key.id: key for key in keys}, majority),
            origins=Origins(),
            fetches=Fetches(keys, majority),
            commits=Commits(self._count_holders, majority),
            images=Images(),
            least_silent_ns=int(fetch_timeout_ms * 1_000_000 * _LEAST_SILENT),
        )

    def begin(self, key: ReplicaKey, view: View, at_ns: int) -> WatchedLife:
        """A process of `key` has opened its log; what it found on its disk is judged at once.

        A key that is no voter's (a disk that was wiped is another replica) is watched as well, and
        counts for no majority. Raises InvariantViolated.
        """
        replica = self._replicas.setdefault(key, Replica(key))
        replica.lives += 1
        life = WatchedLife(self._ledgers, replica, view)
        try:
            life.find()
        except Broken as broken:
            life.blame(broken, at_ns)
        return life

    def _count_holders(self, batch: KnownBatch) -> int:
        return sum(holds(voter.durable, batch) for voter in self._voters)
