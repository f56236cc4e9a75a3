"""Connections between the nodes of a story. Messages arrive at once, in the order they were sent,
unless the story delays them or cuts their way.

As with TCP, a direction in which something was swallowed stays dead until the connection is closed.
"""

import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from node.ids import ConnectionId
from node.wire.apis import Request

Party = str  # n1, n2, client
Way = tuple[Party, Party]  # from, to


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request that was not answered yet."""

    correlation_id: int
    request: Request


@dataclass(eq=False, slots=True, kw_only=True)
class Link:
    """A connection that `client` opened. One with a label was opened by the story in the name of
    the client: what comes back over it is for the reader alone."""

    id: ConnectionId
    client: Party
    server: Party
    label: str | None
    waiting: deque[Asked] = field(default_factory=deque)
    dead: set[Way] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flight:
    """A message, or the news that a connection is closed, on its way."""

    way: Way
    link: Link
    arrive: Callable[[], None]


class Links:
    def __init__(self) -> None:
        self.cut: set[Way] = set()
        self.delayed: set[Way] = set()
        self._open: dict[tuple[Party, Party, str | None], Link] = {}
        self._flying: list[Flight] = []
        self._ids = itertools.count(1)

    def heal(self) -> None:
        """Nothing is cut or delayed any more; what was swallowed is lost."""
        self.cut.clear()
        self.delayed.clear()

    # --- connections ---

    def connect(self, client: Party, server: Party, label: str | None = None) -> Link:
        """The connection that is open, or else a new one; `label` is of the story's own."""
        at = (client, server, label)
        if at not in self._open:
            self._open[at] = Link(
                id=ConnectionId(next(self._ids)), client=client, server=server, label=label
            )
        return self._open[at]

    def find(self, connection: ConnectionId) -> Link | None:
        return next((link for link in self._open.values() if link.id == connection), None)

    def between(self, client: Party, server: Party) -> list[Link]:
        return [
            link for link in self._open.values() if (link.client, link.server) == (client, server)
        ]

    def of(self, party: Party) -> list[Link]:
        return [link for link in self._open.values() if party in (link.client, link.server)]

    def is_open(self, link: Link) -> bool:
        return self._open.get((link.client, link.server, link.label)) is link

    def close(self, link: Link) -> None:
        self._open.pop((link.client, link.server, link.label), None)

    # --- messages ---

    def launch(self, way: Way, link: Link, arrive: Callable[[], None]) -> str:
        """Send; says in brackets what keeps the message from arriving at once."""
        if self._swallows(way, link):
            return " (lost)"
        self._flying.append(Flight(way=way, link=link, arrive=arrive))
        return " (delayed)" if way in self.delayed else ""

    def land(self) -> bool:
        """Let the oldest message arrive that nothing delays; False if there is none."""
        for flight in self._flying:
            if flight.way not in self.delayed:
                self._arrive(flight)
                return True
        return False

    def deliver(self, way: Way) -> int:
        """Let arrive what is on its way now, delayed or not. How much it was."""
        due = [flight for flight in self._flying if flight.way == way]
        for flight in due:
            self._arrive(flight)
        return len(due)

    def drop(self, way: Way) -> int:
        """Lose what is on its way; its connections are dead in that direction. How much it was."""
        lost = [flight for flight in self._flying if flight.way == way]
        self._flying = [flight for flight in self._flying if flight.way != way]
        for flight in lost:
            flight.link.dead.add(way)
        return len(lost)

    def _arrive(self, flight: Flight) -> None:
        self._flying.remove(flight)
        if not self._swallows(flight.way, flight.link):
            flight.arrive()

    def _swallows(self, way: Way, link: Link) -> bool:
        if way in self.cut:
            link.dead.add(way)
        return way in link.dead
