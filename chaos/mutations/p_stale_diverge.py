"""P-STALE-DIVERGE: where a log parts from that of a leader of an earlier epoch, which answers late,
it is cut, whoever leads since (KAFKA-18991)."""

from chaos.mutations.planted import Planted
from node.broker.fetchers import Fetchers, _Fetcher
from node.wire.partition_fetch import FetchedRecords

_take = Fetchers._take


def whenever_it_comes(
    self: Fetchers, fetcher: _Fetcher, told: FetchedRecords, mono_ns: int
) -> bool:
    held = self._replicas.find(told.partition)
    follows = held is not None and held.replica.leading is None
    if held is not None and follows and told.diverging is not None:
        self._replicas.truncate(held, held.replica.truncation(told.diverging))
        return True
    return _take(self, fetcher, told, mono_ns)


PLANTED = Planted(owner=Fetchers, decision="_take", wrong=whenever_it_comes)
