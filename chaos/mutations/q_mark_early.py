"""Q-MARK-EARLY: the recovery point of the log rises when a batch is written, not flushed.

A power cut that keeps files and loses bytes then leaves a mark that vouches for lost data. The node
takes that for corruption, and never starts again: that costs one node, or the cluster if all lose
power.
"""

from chaos.mutations.planted import Planted
from node.storage.flush_mark import FLUSHES_A_RISE
from node.storage.log import Log


def write_and_mark(self: Log, data: bytes) -> None:
    if data:
        self.segments[-1].file.append(data)
        self.flushed = False
        self.mark.late = FLUSHES_A_RISE - 1
        self.mark.rise(self.next_offset)


PLANTED = Planted(owner=Log, decision="_write", wrong=write_and_mark)
