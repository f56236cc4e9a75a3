"""P-STALE-EPOCH: a leader keeps sending the broker epoch of a follower's first Fetch, and neither
it nor the controller compares that with the registration (KAFKA-14617)."""

from collections.abc import Sequence

from chaos.mutations.planted import Planted
from node.broker.broker import Broker
from node.broker.remote_replica import RemoteReplica
from node.controller import isr_proposals
from node.controller.image import Image
from node.ids import Offset
from node.wire.alter_partition import ANY_EPOCH, IsrMember

_fetched, _may_join = RemoteReplica.fetched, Broker.may_join


def by_the_first(
    self: RemoteReplica, offset: Offset, leader_end: Offset, broker_epoch: int, now_ns: int
) -> None:
    first = broker_epoch if self.broker_epoch == ANY_EPOCH else self.broker_epoch
    _fetched(self, offset, leader_end, first, now_ns)


def in_any_epoch(self: Broker, broker: int, _epoch: int) -> bool:
    return _may_join(self, broker, ANY_EPOCH)


def whoever_is_active(image: Image, isr: Sequence[IsrMember]) -> bool:
    return all(image.brokers.is_active(member.broker) for member in isr)


PLANTED = Planted(
    owner=RemoteReplica,
    decision="fetched",
    wrong=by_the_first,
    other=Planted(
        owner=Broker,
        decision="may_join",
        wrong=in_any_epoch,
        other=Planted(owner=isr_proposals, decision="_are_eligible", wrong=whoever_is_active),
    ),
)
