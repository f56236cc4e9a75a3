"""A-DONE-ANYWAY: what a request asks to have validated, and no more, is done (KIP-339,
`ValidateOnly`)."""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.controller.controller import Controller
from node.ids import ConnectionId, Now
from node.wire.configs import AlterConfigsRequest, AlterConfigsResponse

_as_it_should = Controller.alter_configs


def altered_anyway(
    self: Controller, connection: ConnectionId, request: AlterConfigsRequest, now: Now
) -> AlterConfigsResponse | None:
    """The answer is the same, a little later."""
    return _as_it_should(self, connection, replace(request, validate_only=False), now)


PLANTED = Planted(owner=Controller, decision="alter_configs", wrong=altered_anyway)
