"""Q-SEGMENT: the log is deleted past the newest snapshot, up to its last segment (KAFKA-14238).

What is between the snapshot and the log's new start is lost, and a replica that lacks it can
neither fetch nor load it.
"""

from chaos.mutations.planted import Planted
from node.ids import LogPosition
from node.storage.log import Log


def cut_past(self: Log, snapshot: LogPosition) -> None:
    while len(self.segments) > 1:
        oldest = self.segments.pop(0)
        oldest.file.close()
        self.disk.remove(oldest.path)
    self.kept.remove_before(snapshot.offset)
    start = max(self.segments[0].base, snapshot.offset)
    self.begin = LogPosition(snapshot.epoch, start)
    if self.epochs.begin_at(start, self.next_offset):
        self._save_epochs()


PLANTED = Planted(owner=Log, decision="delete_before_snapshot", wrong=cut_past)
