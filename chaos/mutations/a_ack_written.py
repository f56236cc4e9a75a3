"""A-ACK-WRITTEN: a change of configurations is acknowledged once it is decided, not once it is
committed."""

from chaos.mutations.planted import Planted
from node.controller.controller import Controller
from node.ids import ConnectionId, Now
from node.wire.apis import Response, WriteRequest
from node.wire.configs import AlterConfigsRequest

_as_it_should = Controller.write


def once_it_is_decided(
    self: Controller, connection: ConnectionId, request: WriteRequest, now: Now
) -> Response | None:
    """It is committed all the same, a moment later, unless its leader fails first."""
    response = _as_it_should(self, connection, request, now)
    if response is None and isinstance(request, AlterConfigsRequest):
        write = self._writes.find(connection)
        if write is not None:
            self._writes.respond(connection, write.response)
    return response


PLANTED = Planted(owner=Controller, decision="write", wrong=once_it_is_decided)
