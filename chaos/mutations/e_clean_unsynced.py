"""E-CLEAN-UNSYNCED: the clean-shutdown file is synced, and the logs that it vouches for are not
(KIP-966, "Detection of an unclean shutdown")."""

from chaos.mutations.planted import Planted
from node.ids import Offset
from node.storage.partition_log import PartitionLog


def taken_for_done(self: PartitionLog) -> Offset:
    self.flushed = True
    return self.next_offset


PLANTED = Planted(owner=PartitionLog, decision="flush", wrong=taken_for_done)
