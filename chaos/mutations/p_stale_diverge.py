"""P-STALE-DIVERGE: a log is truncated where it diverges from that of an earlier leader, which
answers late, whichever broker leads since (KAFKA-18991)."""

from chaos.mutations.planted import Planted
from node.broker.fetchers import Fetchers, _Fetcher
from node.broker.held_replicas import Held
from node.wire.partition_fetch import FetchedRecords

_take = Fetchers._take


def whenever_it_comes(
    self: Fetchers, fetcher: _Fetcher, held: Held, told: FetchedRecords, mono_ns: int
) -> bool:
    if held.replica.leading is None and told.diverging is not None:
        self._replicas.truncate(held, held.replica.truncation(told.diverging))
        return True
    return _take(self, fetcher, held, told, mono_ns)


PLANTED = Planted(owner=Fetchers, decision="_take", wrong=whenever_it_comes)
