"""G-ACK-WRITTEN: a coordinator acknowledges offsets, and returns them, before any other replica has
them (KAFKA-20634 in the other order)."""

from collections.abc import Sequence

from chaos.mutations.planted import Planted
from node.broker.coordinators.group_log import GroupLog, GroupRecord
from node.errors import ErrorCode
from node.ids import Now, Offset

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


PLANTED = Planted(
    owner=GroupLog,
    decision="append",
    wrong=known_at_once,
    other=Planted(owner=GroupLog, decision="acknowledgement", wrong=as_written),
)
