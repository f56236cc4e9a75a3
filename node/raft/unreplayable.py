"""What in the log this node cannot replay, so that it may follow and vote, and not lead.

In a quorum of several implementations, or of several releases, a leader writes records that others
do not know. Whoever only replicates them needs to know no more than their bytes. A controller that
left one out of its image would decide from another state than the one that was committed; so a node
with such a record in its log, committed or not, does not stand for election (Kafka's controllers
end there).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from node.ids import Offset
from node.records.batch import Batch
from node.records.metadata import UnknownRecord, all_known, unknown_record
from node.records.snapshot import SnapshotReader
from node.storage.snapshots import Snapshot
from node.storage.view import LogView

_PIECE_BYTES = 1024 * 1024  # of a snapshot at most in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreplayable:
    """The first such record of the log."""

    offset: Offset
    record: UnknownRecord


def first_unreplayable(batches: Iterable[Batch]) -> Unreplayable | None:
    """Of batches that were found sound (`node.records.contents`)."""
    for batch in batches:
        values = () if batch.header.is_control else batch.values()
        if not all_known(values):
            for offset, value in enumerate(values, batch.header.base_offset):
                unknown = unknown_record(value)
                if unknown is not None:
                    return Unreplayable(offset=Offset(offset), record=unknown)
    return None


def unreplayable_below(view: LogView) -> Unreplayable | None:
    """In the snapshot that the log starts at, which was found sound when it was opened."""
    start = view.start()
    found = _in_snapshot(view, view.snapshots()[0]) if start > 0 else None
    # Its place in the log is not known any more, but that it lies below the snapshot's end.
    return found and replace(found, offset=Offset(start - 1))


def _in_snapshot(view: LogView, snapshot: Snapshot) -> Unreplayable | None:
    reader = SnapshotReader(snapshot.id.epoch)
    position = 0
    while position < snapshot.size:
        data = view.read_snapshot(snapshot.id, position, _PIECE_BYTES)
        position += len(data)
        if (found := first_unreplayable(reader.feed(data))) is not None:
            return found
    return None
