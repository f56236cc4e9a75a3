"""A-DENY-CONTROL: an active controller answers NOT_CONTROLLER while one of its writes is not
committed."""

from chaos.mutations.planted import Planted
from node.controller.controller import Controller
from node.errors import ErrorCode
from node.ids import ConnectionId, Now
from node.wire.apis import Response, WriteRequest
from node.wire.configs import AlterConfigsRequest
from node.wire.refusals import refused

_as_it_should = Controller.write


def once_all_is_committed(
    self: Controller, connection: ConnectionId, request: WriteRequest, now: Now
) -> Response | None:
    if isinstance(request, AlterConfigsRequest) and self.is_active and self._appended:
        return refused(request, ErrorCode.NOT_CONTROLLER, "not now")
    return _as_it_should(self, connection, request, now)


PLANTED = Planted(owner=Controller, decision="write", wrong=once_all_is_committed)
