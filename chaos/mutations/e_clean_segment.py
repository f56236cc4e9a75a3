"""E-CLEAN-SEGMENT: a clean stop vouches for all segments, and syncs the last one alone: those that
were full before were never synced (what Apache Kafka does to the end of a time index)."""

from chaos.mutations.planted import Planted
from node.storage.partition_log import PartitionLog


def without_a_flush(self: PartitionLog) -> None:
    self._begin_segment(self.next_offset)


PLANTED = Planted(owner=PartitionLog, decision="_roll", wrong=without_a_flush)
