"""Where the replicas of new partitions go (Kafka's `StripedReplicaPlacer`).

Racks take turns, and within a rack its brokers: the next partition begins one rack and one broker
further. A fenced broker is taken only where its rack has no other left, and never first: the first
replica is to lead. One that is about to shut down is not taken at all.
"""

import random
from collections.abc import Sequence
from dataclasses import field

from node import limits
from node.controller.decision import RefusedError
from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.records.metadata import RegisterBrokerRecord


@dataclass(slots=True)
class _Round:
    """Brokers in turn, each once in a round."""

    brokers: list[int]
    offset: int = 0
    round: int = 0
    taken: int = 0

    def next(self, round_: int) -> int | None:
        if self.round != round_:
            self.round, self.taken = round_, 0
            self.offset = (self.offset + 1) % max(len(self.brokers), 1)
        if self.taken >= len(self.brokers):
            return None
        self.taken += 1
        return self.brokers[(self.taken - 1 + self.offset) % len(self.brokers)]


@dataclass(slots=True)
class _Rack:
    unfenced: _Round = field(default_factory=lambda: _Round([]))
    fenced: _Round = field(default_factory=lambda: _Round([]))

    def next(self, round_: int) -> int | None:
        found = self.unfenced.next(round_)
        return self.fenced.next(round_) if found is None else found


def place(
    brokers: Sequence[RegisterBrokerRecord], partitions: int, replication: int, rng: random.Random
) -> list[tuple[int, ...]]:
    """The replicas of each partition, who is to lead first. Raises RefusedError."""
    usable = [each for each in brokers if not each.in_controlled_shutdown]
    _check(usable, replication)
    placer = _Placer(usable, rng)
    return [placer.place(replication) for _ in range(partitions)]


def _check(usable: Sequence[RegisterBrokerRecord], replication: int) -> None:
    most = limits.MAX_REPLICATION
    reached = "the target replication factor of {} cannot be reached because only {} broker(s) are"
    if replication > most:
        why = f"{most} is the most here."
    elif replication > len(usable):
        why = f"{reached.format(replication, len(usable))} registered."
    elif all(each.fenced for each in usable):
        why = "All brokers are currently fenced."
    else:
        return
    raise RefusedError(
        ErrorCode.INVALID_REPLICATION_FACTOR,
        f"Unable to replicate the partition {replication} time(s): {why}",
    )


class _Placer:
    def __init__(self, usable: Sequence[RegisterBrokerRecord], rng: random.Random) -> None:
        self._rng = rng
        self._racks: dict[str, _Rack] = {}
        for each in usable:
            rack = self._racks.setdefault(each.rack or "", _Rack())
            (rack.fenced if each.fenced else rack.unfenced).brokers.append(each.broker_id)
        for round_ in self._rounds():
            round_.brokers.sort()
            round_.offset = rng.randrange(len(round_.brokers))
        self._names = sorted(self._racks)
        self._unfenced = sum(not each.fenced for each in usable)
        self._offset = rng.randrange(len(self._names))
        self._round = 0

    def place(self, replication: int) -> tuple[int, ...]:
        """One partition."""
        if self._round == self._unfenced and self._unfenced > 1:
            self._shuffle()
        racks = [self._racks[name] for name in self._names]
        start = self._offset % len(racks)
        order = racks[start:] + racks[:start]
        first = next(rack for rack in order if rack.unfenced.brokers)
        leader = first.unfenced.next(self._round)
        assert leader is not None, "a round begins with all of its brokers"
        found = [leader]
        # The leader's rack had its turn, and the others come before it again.
        skipped = first
        while len(found) < replication:
            for rack in order:
                broker = None if rack is skipped else rack.next(self._round)
                skipped = _NO_RACK if rack is skipped else skipped
                if broker is not None and len(found) < replication:
                    found.append(broker)
        self._round += 1
        self._offset = start + 1
        return tuple(found)

    def _shuffle(self) -> None:
        """Every assignment was made: do not make the same ones again."""
        self._rng.shuffle(self._names)
        for round_ in self._rounds():
            self._rng.shuffle(round_.brokers)
        self._round = 0

    def _rounds(self) -> list[_Round]:
        """Of all racks, those that have brokers."""
        every = [each for rack in self._racks.values() for each in (rack.unfenced, rack.fenced)]
        return [each for each in every if each.brokers]


_NO_RACK = _Rack()
