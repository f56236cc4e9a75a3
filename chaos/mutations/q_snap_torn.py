"""Q-SNAP-TORN: a snapshot has its name before its bytes are durable.

A power cut then leaves a snapshot that is none, where the log behind it is gone already.
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
