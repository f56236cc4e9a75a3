"""P-EARLY-HWM: a follower with a diverging log takes over the leader's high watermark first, and
truncates its log afterwards (KAFKA-14704)."""

from chaos.mutations.planted import Planted
from node.broker.fetchers import Fetchers, _Fetcher
from node.broker.held_replicas import Held
from node.ids import Offset
from node.wire.partition_fetch import FetchedRecords

_take = Fetchers._take


def before_the_cut(
    self: Fetchers, fetcher: _Fetcher, held: Held, told: FetchedRecords, mono_ns: int
) -> bool:
    if held.replica.leading is None and told.diverging is not None:
        held.replica.told_high_watermark(Offset(max(told.high_watermark, 0)))
    return _take(self, fetcher, held, told, mono_ns)


PLANTED = Planted(owner=Fetchers, decision="_take", wrong=before_the_cut)
