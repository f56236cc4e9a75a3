"""A-DENY-LEAD: while the controller has not answered its AlterPartition, a leader answers that it
does not lead; clients look for another, and find it again."""

from chaos.mutations.planted import Planted
from node.broker.replica import Replica
from node.errors import ErrorCode
from node.ids import NO_EPOCH

_as_it_should = Replica.refusal


def until_it_is_answered(
    self: Replica, epoch: int = NO_EPOCH, *, may_follow: bool = False
) -> ErrorCode:
    if self.leading is not None and self.leading.isr.pending is not None:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return _as_it_should(self, epoch, may_follow=may_follow)


PLANTED = Planted(owner=Replica, decision="refusal", wrong=until_it_is_answered)
