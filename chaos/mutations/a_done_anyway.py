"""A-DONE-ANYWAY: a request that is only to be validated is carried out (KIP-339,
`ValidateOnly`)."""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.controller.controller import Controller
from node.ids import ConnectionId, Now
from node.wire.apis import Response, WriteRequest
from node.wire.configs import AlterConfigsRequest

_as_it_should = Controller.write


def altered_anyway(
    self: Controller, connection: ConnectionId, request: WriteRequest, now: Now
) -> Response | None:
    """The answer is the same, a little later."""
    if isinstance(request, AlterConfigsRequest):
        request = replace(request, validate_only=False)
    return _as_it_should(self, connection, request, now)


PLANTED = Planted(owner=Controller, decision="write", wrong=altered_anyway)
