"""G-DISOWN: a member that does not know yet that others have joined gets ILLEGAL_GENERATION, and is
not waited for (against the rebalance time-out of KIP-62)."""

from chaos.mutations.planted import Planted
from node.broker.coordinators.group import Group
from node.broker.coordinators.rebalancing import Rebalancing
from node.errors import ErrorCode
from node.ids import Now
from node.wire.group_members import HeartbeatRequest

_as_it_should = Rebalancing.heartbeat


def over_at_once(self: Rebalancing, group: Group, request: HeartbeatRequest, now: Now) -> ErrorCode:
    error = _as_it_should(self, group, request, now)
    return ErrorCode.ILLEGAL_GENERATION if error is ErrorCode.REBALANCE_IN_PROGRESS else error


PLANTED = Planted(owner=Rebalancing, decision="heartbeat", wrong=over_at_once)
