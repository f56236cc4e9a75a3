"""Planted bugs in group coordinators (G)."""

from collections.abc import Sequence

from chaos.bugs.planted import Planted
from node.broker.coordinators.group import Group, GroupState
from node.broker.coordinators.group_log import GroupLog, GroupRecord
from node.broker.coordinators.rebalancing import Rebalancing
from node.errors import ErrorCode
from node.ids import Now, Offset
from node.wire.group_membership import HeartbeatRequest

# G-ACK-WRITTEN: a coordinator acknowledges offsets, and returns them, before any other replica
# has them (KAFKA-20634 in the other order).


_append = GroupLog.append


def known_at_once(
    self: GroupLog, records: Sequence[GroupRecord], now: Now
) -> tuple[ErrorCode, Offset]:
    error, end = _append(self, records, now)
    if error is ErrorCode.NONE:
        for key, value in records:
            self._apply(key, value)
    return error, end


def as_written(self: GroupLog, end: Offset) -> ErrorCode | None:
    return ErrorCode.NONE if self.is_led and end <= self.end else ErrorCode.NOT_LEADER_OR_FOLLOWER


G_ACK_WRITTEN = Planted(
    owner=GroupLog,
    decision="append",
    wrong=known_at_once,
    other=Planted(owner=GroupLog, decision="acknowledgement", wrong=as_written),
)


# G-DEPOSED-COMMIT: a deposed coordinator acknowledges what it had appended as committed
# (KAFKA-20634).


_acknowledgement = GroupLog.acknowledgement


def while_another_leads(self: GroupLog, end: Offset) -> ErrorCode | None:
    return _acknowledgement(self, end) if self.is_led else ErrorCode.NONE


G_DEPOSED_COMMIT = Planted(owner=GroupLog, decision="acknowledgement", wrong=while_another_leads)


# G-DISOWN: a member that does not know yet that others have joined gets ILLEGAL_GENERATION, and is
# not waited for (against the rebalance time-out of KIP-62).


_as_it_should_g_disown = Rebalancing.heartbeat


def over_at_once(self: Rebalancing, group: Group, request: HeartbeatRequest, now: Now) -> ErrorCode:
    error = _as_it_should_g_disown(self, group, request, now)
    return ErrorCode.ILLEGAL_GENERATION if error is ErrorCode.REBALANCE_IN_PROGRESS else error


G_DISOWN = Planted(owner=Rebalancing, decision="heartbeat", wrong=over_at_once)


# G-OLD-GENERATION: heartbeats of an old generation succeed, and its member goes on reading
# partitions that others have: two members have one partition.


_as_it_should_g_old_generation = Rebalancing.heartbeat
_OVER = (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)


def all_is_well(self: Rebalancing, group: Group, request: HeartbeatRequest, now: Now) -> ErrorCode:
    error = _as_it_should_g_old_generation(self, group, request, now)
    return ErrorCode.NONE if error in _OVER else error


G_OLD_GENERATION = Planted(owner=Rebalancing, decision="heartbeat", wrong=all_is_well)


# G-UNREST: a member that is not the leader gets REBALANCE_IN_PROGRESS although nothing has
# changed, again and again: the group is never stable.


_as_it_should_g_unrest = Rebalancing.heartbeat


def join_again(self: Rebalancing, group: Group, request: HeartbeatRequest, now: Now) -> ErrorCode:
    error = _as_it_should_g_unrest(self, group, request, now)
    is_at_rest = error is ErrorCode.NONE and group.state is GroupState.STABLE
    if is_at_rest and request.member != group.leader:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return error


G_UNREST = Planted(owner=Rebalancing, decision="heartbeat", wrong=join_again)
