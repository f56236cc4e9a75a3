"""Room for requests that are too large to be taken in as they come (`queued.max.request.bytes`).

Whoever sends one is read no further until there is room for all of it: TCP tells the sender, and
nobody is hung up on because others sent much (Kafka's `MemoryPool`, KIP-72). Room is given in the
order in which it was asked for, so a large request is not passed by smaller ones for ever.

Room that somebody has and does not use keeps others waiting: a sender that has room, and sends next
to nothing while somebody waits, has to go.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

from node.lazy_dataclass import dataclass

# While others wait: the least that is to come in each such time, of a request that has room.
PATIENCE_NS = 10 * 10**9
LEAST_BYTES = 640 * 1024

T = TypeVar("T")


@dataclass(slots=True)
class _Given:
    size: int
    # As of the last look.
    looked_ns: int
    arrived: int


class Room(Generic[T]):
    """Of one node, for connections `T`, each of which has room for one request at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._given: dict[T, _Given] = {}
        self._waiting: dict[T, int] = {}  # the size of what each sends; the first to ask first
        self.held_bytes = 0  # <= most

    def ask(self, who: T, size: int, now_ns: int) -> bool:
        """False: there is none yet; `grant` tells when there is. `size` is not above the most that
        there can be."""
        assert size <= self._most, f"{size} of {self._most} bytes"
        assert who not in self._given, f"{who} has room already"
        if who not in self._waiting:
            self._waiting[who] = size
        return self._grant(now_ns) == [who]

    def give_back(self, who: T, now_ns: int) -> list[T]:
        """What it has or waits for; who has room now that waited."""
        self._waiting.pop(who, None)
        given = self._given.pop(who, None)
        if given is not None:
            self.held_bytes -= given.size
        return self._grant(now_ns)

    def idle(self, arrived: Iterator[tuple[T, int]], now_ns: int) -> list[T]:
        """Who has to go; `arrived` is what there is of each request that is not whole yet."""
        if not self._waiting:
            return []
        idle = []
        for who, size in arrived:
            given = self._given.get(who)
            if given is None or now_ns - given.looked_ns < PATIENCE_NS:
                continue
            if size - given.arrived < LEAST_BYTES:
                idle.append(who)
            given.looked_ns, given.arrived = now_ns, size
        return idle

    def has(self, who: T) -> bool:
        return who in self._given

    def awaits(self, who: T) -> bool:
        return who in self._waiting

    def _grant(self, now_ns: int) -> list[T]:
        granted = []
        while self._waiting:
            who, size = next(iter(self._waiting.items()))
            if self.held_bytes + size > self._most:
                break
            del self._waiting[who]
            self._given[who] = _Given(size, now_ns, 0)
            self.held_bytes += size
            granted.append(who)
        return granted
