"""Room for large requests (`queued.max.request.bytes`).

The sender of one is read no further until there is room for all of it: TCP slows the sender, and no
connection is closed because others sent much (Kafka's `MemoryPool`, KIP-72). Room is given in the
order in which it was requested, so smaller requests never starve a large one.

Room that is held but not used keeps others waiting: a connection that has room, and sends next to
nothing while others wait, is closed.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar

from node.lazy_dataclass import dataclass

# While others wait: the period in which a request with room has to make some minimal progress.
PATIENCE_NS = 10 * 10**9
LEAST_BYTES = 640 * 1024

T = TypeVar("T")


@dataclass(slots=True)
class _Given:
    size: int
    # At the last look.
    looked_ns: int
    arrived: int


class Room(Generic[T]):
    """The room of one node, for connections `T`, each with room for one request at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._given: dict[T, _Given] = {}
        self._waiting: dict[T, int] = {}  # the size of each one's request; the first to ask first
        self.held_bytes = 0  # <= most

    def ask(self, asker: T, size: int, now_ns: int) -> bool:
        """False: there is none yet; `grant` is called when there is. `size` is no more than the
        total.
        """
        assert size <= self._most, f"{size} of {self._most} bytes"
        assert asker not in self._given, f"{asker} has room already"
        if asker not in self._waiting:
            self._waiting[asker] = size
        return self._grant(now_ns) == [asker]

    def give_back(self, asker: T, now_ns: int) -> list[T]:
        """Return what the connection has or waits for; returns the waiting ones that have room
        now.
        """
        self._waiting.pop(asker, None)
        given = self._given.pop(asker, None)
        if given is not None:
            self.held_bytes -= given.size
        return self._grant(now_ns)

    def idle(self, arrived: Iterator[tuple[T, int]], now_ns: int) -> list[T]:
        """The connections to close; `arrived` is how much there is of each unfinished request."""
        if not self._waiting:
            return []
        idle = []
        for asker, size in arrived:
            given = self._given.get(asker)
            if given is None or now_ns - given.looked_ns < PATIENCE_NS:
                continue
            if size - given.arrived < LEAST_BYTES:
                idle.append(asker)
            given.looked_ns, given.arrived = now_ns, size
        return idle

    def has(self, asker: T) -> bool:
        return asker in self._given

    def awaits(self, asker: T) -> bool:
        return asker in self._waiting

    def _grant(self, now_ns: int) -> list[T]:
        granted = []
        while self._waiting:
            asker, size = next(iter(self._waiting.items()))
            if self.held_bytes + size > self._most:
                break
            del self._waiting[asker]
            self._given[asker] = _Given(size, now_ns, 0)
            self.held_bytes += size
            granted.append(asker)
        return granted
