"""G-DEPOSED-COMMIT: a deposed coordinator acknowledges what it had appended as committed
(KAFKA-20634)."""

from chaos.mutations.planted import Planted
from node.broker.coordinators.group_log import GroupLog
from node.errors import ErrorCode
from node.ids import Offset

_acknowledgement = GroupLog.acknowledgement


def as_if_nobody_else_led(self: GroupLog, end: Offset) -> ErrorCode | None:
    return _acknowledgement(self, end) if self.is_led else ErrorCode.NONE


PLANTED = Planted(owner=GroupLog, decision="acknowledgement", wrong=as_if_nobody_else_led)
