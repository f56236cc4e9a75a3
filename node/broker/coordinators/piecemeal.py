"""Requests that are about very many groups or offsets, answered a piece a step: what comes in
meanwhile is served between two pieces, and heartbeats are sent.

What is told is as it is when it is come to; so it is in Kafka, where others change groups while a
thread lists them.
"""

from collections.abc import Iterator

from node.ids import NEVER_NS, ConnectionId
from node.parking import Parking, Waiting
from node.wire.apis import Response

PIECE = 2_000  # groups or offsets, of some five microseconds

# None after each piece, and in the end the answer.
Work = Iterator[Response | None]


class Piecemeal:
    def __init__(self, parking: Parking) -> None:
        self._waiting = Waiting[Work](parking)

    def begin(self, connection: ConnectionId, work: Work) -> Response | None:
        """None: answered later, or hung up on."""
        response = next(work)
        if response is None:
            self._waiting.park(connection, work)
        return response

    def poll(self) -> None:
        """A piece of the request that has waited longest since its last one."""
        for connection, work in self._waiting.requests.items():
            response = next(work)
            if response is not None:
                self._waiting.respond(connection, response)
            else:
                self._waiting.requests[connection] = self._waiting.requests.pop(connection)
            return

    def deadline_ns(self) -> int:
        return 0 if self._waiting.requests else NEVER_NS
