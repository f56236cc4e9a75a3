"""What in the log this node cannot replay, so that it may follow and vote, and not lead.

In a quorum of several implementations, or of several releases, a leader writes records that others
do not know. Whoever only replicates them needs to know no more than their bytes. A controller that
left one out of its image would decide from another state than the one that was committed; so a node
with such a record in its log, committed or not, does not stand for election (Kafka's controllers
end there).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from node.ids import Offset
from node.records.batch import Batch, BatchHeader, read_header, value_starts
from node.records.metadata import UnknownRecord, is_known, unknown_record
from node.records.snapshot import SnapshotReader
from node.storage.snapshots import Snapshot
from node.storage.view import LogView

_PIECE_BYTES = 1024 * 1024  # of the log at most in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreplayable:
    """The first such record of the log."""

    offset: Offset
    record: UnknownRecord


def first_unreplayable(batches: Iterable[Batch]) -> Unreplayable | None:
    """Of batches that were found sound (`node.records.contents`)."""
    for batch in batches:
        if batch.header.is_control:
            continue
        for record in batch.records():
            unknown = unknown_record(record.value)
            if unknown is not None:
                return Unreplayable(offset=record.offset, record=unknown)
    return None


def find_unreplayable(view: LogView) -> Unreplayable | None:
    """In all that the log holds, and in what it starts at: what was read and found sound when it
    was opened."""
    at, end = view.start(), view.end().offset
    if at > 0 and (unknown := _in_snapshot(view, view.snapshots()[0])) is not None:
        # Its place in the log is not known any more, but that it lies below the snapshot's end.
        return Unreplayable(offset=Offset(at - 1), record=unknown.record)
    while at < end:
        data, position = view.read(at, _PIECE_BYTES), 0
        while position < len(data):
            header = read_header(data, position)
            if not header.is_control and not _is_known(data, position, header):
                batch = Batch(header=header, data=data[position : position + header.size])
                return first_unreplayable([batch])
            at, position = header.next_offset, position + header.size
    return None


def _in_snapshot(view: LogView, snapshot: Snapshot) -> Unreplayable | None:
    reader = SnapshotReader(snapshot.id.epoch)
    position = 0
    while position < snapshot.size:
        data = view.read_snapshot(snapshot.id, position, _PIECE_BYTES)
        position += len(data)
        for batch in reader.feed(data):
            if not _is_known(batch.data, 0, batch.header):
                return first_unreplayable([batch])
    return None


def _is_known(data: bytes, position: int, header: BatchHeader) -> bool:
    """All records of the batch, by what they begin with."""
    return all(is_known(data, start) for start in value_starts(data, position, header))
