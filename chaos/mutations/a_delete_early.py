"""A-DELETE-EARLY: a deletion of records is acknowledged once the leader has done it, while
followers still have records that another leader would bring back (KIP-107: the low watermark of
all)."""

from chaos.mutations.planted import Planted
from node.broker.replica import Replica
from node.ids import Offset


def of_the_leader_alone(self: Replica) -> Offset | None:
    return self.start


PLANTED = Planted(owner=Replica, decision="low_watermark", wrong=of_the_leader_alone)
