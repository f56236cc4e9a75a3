"""G-UNREST: a member that is not the leader gets REBALANCE_IN_PROGRESS although nothing has
changed, again and again: the group is never stable."""

from chaos.mutations.planted import Planted
from node.broker.coordinators.group import Group, GroupState
from node.broker.coordinators.rebalancing import Rebalancing
from node.errors import ErrorCode
from node.ids import Now
from node.wire.group_members import HeartbeatRequest

_as_it_should = Rebalancing.heartbeat


def join_again(self: Rebalancing, group: Group, request: HeartbeatRequest, now: Now) -> ErrorCode:
    error = _as_it_should(self, group, request, now)
    is_at_rest = error is ErrorCode.NONE and group.state is GroupState.STABLE
    if is_at_rest and request.member != group.leader:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return error


PLANTED = Planted(owner=Rebalancing, decision="heartbeat", wrong=join_again)
