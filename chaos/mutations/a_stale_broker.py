"""A-STALE-BROKER: a controller answers STALE_BROKER_EPOCH to a broker that is about to shut down,
as if it were gone (KIP-841: it is registered until its session ends)."""

from chaos.mutations.planted import Planted
from node.controller import heartbeats
from node.controller.broker_registration import at_epoch
from node.controller.decision import RefusedError
from node.controller.image import Image
from node.errors import ErrorCode
from node.records.metadata import RegisterBrokerRecord


def if_it_stays(image: Image, broker: int, epoch: int) -> RegisterBrokerRecord:
    found = at_epoch(image, broker, epoch)
    if found.in_controlled_shutdown:
        raise RefusedError(ErrorCode.STALE_BROKER_EPOCH, "It is about to shut down.")
    return found


PLANTED = Planted(owner=heartbeats, decision="at_epoch", wrong=if_it_stays)
