"""Q-SNAP-TORN: a snapshot is renamed before its bytes are durable.

A power cut then leaves an invalid snapshot, while the log before its end is already deleted.
"""

from chaos.mutations.planted import Planted
from node.ids import LogPosition
from node.storage.snapshots import Snapshots


def write_unflushed(self: Snapshots, id_: LogPosition, position: int, data: bytes) -> None:
    if position == 0:
        self._begin(id_)
    part = self._written(id_)
    part.reader.feed(data)
    part.file.append(data)


PLANTED = Planted(owner=Snapshots, decision="write", wrong=write_unflushed)
