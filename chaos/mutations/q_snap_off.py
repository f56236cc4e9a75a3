"""Q-SNAP-OFF: a snapshot is named after the last offset that it stands for (KAFKA-14618).

The name says the offset behind it. Who loads it takes the last record for one that is yet to come.
"""

from chaos.mutations.planted import Planted
from node.ids import LogPosition, Offset
from node.raft.client import RaftClient


def last_contained(self: RaftClient) -> LogPosition:
    return LogPosition(self._epoch, Offset(self.handed_over - 1))


PLANTED = Planted(owner=RaftClient, decision="snapshot_id", wrong=last_contained)
