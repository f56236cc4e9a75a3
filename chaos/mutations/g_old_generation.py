"""G-OLD-GENERATION: heartbeats of an old generation succeed, and its member goes on reading
partitions that others have: two members have one partition."""

from chaos.mutations.planted import Planted
from node.broker.coordinators.group import Group
from node.broker.coordinators.rebalancing import Rebalancing
from node.errors import ErrorCode
from node.ids import Now
from node.wire.group_members import HeartbeatRequest

_as_it_should = Rebalancing.heartbeat
_OVER = (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)


def all_is_well(self: Rebalancing, group: Group, request: HeartbeatRequest, now: Now) -> ErrorCode:
    error = _as_it_should(self, group, request, now)
    return ErrorCode.NONE if error in _OVER else error


PLANTED = Planted(owner=Rebalancing, decision="heartbeat", wrong=all_is_well)
