"""Q-SNAP-OFF: a snapshot is named after its last offset (KAFKA-14618).

The right name is the offset after it. A replica that loads it expects the last record again.
"""

from chaos.mutations.planted import Planted
from node.ids import LogPosition, Offset
from node.raft.client import RaftClient


def last_contained(self: RaftClient) -> LogPosition:
    return LogPosition(self._epoch, Offset(self.handed_over - 1))


PLANTED = Planted(owner=RaftClient, decision="snapshot_id", wrong=last_contained)
