"""P-LASTEPOCH: a follower forgets the epoch of its last record after an empty Fetch, and the next
leader cannot tell where their logs diverge (KAFKA-15510)."""

from weakref import WeakSet

from chaos.mutations.planted import Planted
from node.broker.fetchers import Fetchers, _Fetcher
from node.broker.held_replicas import Held
from node.broker.replica import Replica
from node.ids import NO_EPOCH
from node.wire.partition_fetch import FetchedRecords

_take = Fetchers._take
_forgetful: WeakSet[Replica] = WeakSet()


def forget(
    self: Fetchers, fetcher: _Fetcher, held: Held, told: FetchedRecords, mono_ns: int
) -> bool:
    (_forgetful.discard if told.records else _forgetful.add)(held.replica)
    return _take(self, fetcher, held, told, mono_ns)


def until_more_is_appended(self: Replica) -> int:
    known = self._epochs.epochs
    return known[-1] if known and self not in _forgetful else NO_EPOCH


PLANTED = Planted(
    owner=Fetchers,
    decision="_take",
    wrong=forget,
    other=Planted(owner=Replica, decision="last_epoch", wrong=property(until_more_is_appended)),
)
