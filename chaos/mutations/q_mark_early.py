"""Q-MARK-EARLY: the mark of how far the log was flushed rises when a batch is written, not flushed.

A power cut that keeps names and takes bytes then leaves a mark that vouches for what is gone. The
node takes that for rot, and never starts again: at most a nuisance of one node, and the end of the
cluster where all of them lose power.
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
