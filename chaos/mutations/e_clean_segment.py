"""E-CLEAN-SEGMENT: a clean shutdown vouches for all segments, and syncs only the last: earlier ones
were never synced (as Apache Kafka does with the end of a time index)."""

from chaos.mutations.planted import Planted
from node.storage.partition_log import PartitionLog


def without_a_flush(self: PartitionLog) -> None:
    self._begin_segment(self.next_offset)


PLANTED = Planted(owner=PartitionLog, decision="_roll", wrong=without_a_flush)
