"""A-ACK-EARLY: records that all of the ISR are to have are acknowledged once their leader has them,
as it answers acks=1 (KAFKA-6361: acknowledged by who did not know yet that it leads no more)."""

from chaos.mutations.planted import Planted
from node.broker.replica import Replica
from node.errors import ErrorCode
from node.ids import Offset


def once_the_leader_has_it(self: Replica, end: Offset) -> ErrorCode | None:
    """Nothing is lost by it unless the leader is, at once."""
    return ErrorCode.NONE if end <= self.end else None


PLANTED = Planted(owner=Replica, decision="acknowledgement", wrong=once_the_leader_has_it)
