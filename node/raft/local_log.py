"""The node's own log: appends of this step, durable end, and the voters that it names."""

from collections.abc import Iterable, Iterator, Sequence

from node.effects import AppendBatches, FlushLog, ReplaceLog, TruncateLog
from node.ids import METADATA_LOG, Epoch, LogPosition, Now, Offset, uuid_text
from node.lazy_dataclass import dataclass
from node.outbox import Outbox
from node.raft.voter_history import VoterHistory, VotersSince
from node.records.batch import (
    Batch,
    BatchHeader,
    KeyValue,
    encode_batch,
    read_header,
    split_batches,
)
from node.records.control import ControlRecord
from node.records.metadata import UnknownRecord, all_known, unknown_record
from node.storage.view import LogView

# Records in the log that this node cannot replay: it may then follow and vote, but not lead.
#
# In a quorum of several implementations, or of several releases, a leader writes records that
# others do not know. A node that only replicates them needs no more than their bytes. A controller
# that left one out of its image would decide from another state than the committed one; so a node
# with such a record in its log, committed or not, does not stand for election (Kafka's controllers
# exit there).


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreplayable:
    """The first such record of the log."""

    offset: Offset
    record: UnknownRecord


def first_unreplayable(batches: Iterable[Batch]) -> Unreplayable | None:
    """Of batches that were found valid (`node.records.metadata`)."""
    for batch in batches:
        values = () if batch.header.is_control else batch.values()
        found = first_unknown(values)
        if found is not None:
            place, record = found
            return Unreplayable(offset=Offset(batch.header.base_offset + place), record=record)
    return None


def first_unknown(values: Sequence[bytes | None]) -> tuple[int, UnknownRecord] | None:
    """The first unknown record among them: its index from 0, and what it is."""
    if not all_known(values):
        for place, value in enumerate(values):
            unknown = unknown_record(value)
            if unknown is not None:
                return place, unknown
    return None


_READ_BYTES = 1024 * 1024  # read at once when the log is opened


class LocalLog:
    """Writes through effects, reads through the view, which shows writes only in the next step.

    `before` is the voter set before any record of the log. Invariant: durable <= end.offset.
    """

    def __init__(self, view: LogView, before: VoterHistory, outbox: Outbox) -> None:
        self.view = view
        self.start = view.start()  # as of this step
        self.voters = before
        if self.start > 0:
            first = view.snapshots()[0]
            self.voters = before.after_snapshot(first.controls, first.id.offset)
        # Where metadata begins, after leading control records; None: there is none.
        self.metadata_from: Offset | None = self.start if self.start > 0 else None
        self.unreplayable: Unreplayable | None = None
        self.is_read = self.start == 0  # including the snapshot it starts from (`read_below`)
        for batch in _whole_log(view):
            self.voters = self._read(batch)
            if self.unreplayable is None:
                self.unreplayable = first_unreplayable([batch])
        self.end: LogPosition = view.end()
        # Nothing is claimed before the first flush: what a killed process left in the page cache is
        # readable, and not yet durable.
        self.durable: Offset = view.start()
        self._flushed = True
        self.changes = 0  # number of appends, truncations and replacements
        self._seen = 0  # how many of them the view shows
        self._outbox = outbox

    def read_below(self, unknown: UnknownRecord | None) -> None:
        """The snapshot below the log's start was read. `unknown`: a record in it that this node
        cannot replay, if there is one."""
        self.is_read = True
        if unknown is not None:
            # Its offset is not known, only that it lies below the log's start.
            self.unreplayable = Unreplayable(offset=Offset(self.start - 1), record=unknown)

    def begin_step(self) -> None:
        """What the last step wrote is now in the view."""
        if self.is_written:
            self._seen = self.changes
            self.end = self.view.end()
        self.start = self.view.start()

    @property
    def is_written(self) -> bool:
        """Was anything written in this step, which the view does not show yet?"""
        return self._seen != self.changes

    @property
    def is_flushed(self) -> bool:
        """Is every append and truncation durable?"""
        return self._flushed

    def append_as_leader(
        self, records: Sequence[KeyValue], epoch: Epoch, now: Now, *, control: bool = False
    ) -> BatchHeader:
        """Append one batch. Durable with the next `LogFlushed`."""
        data = encode_batch(
            records,
            base_offset=self.end.offset,
            leader_epoch=epoch,
            timestamp_ms=now.wall_ns // 1_000_000,
            control=control,
        )
        (batch,) = split_batches(data)
        self._append(data, [batch], "leader")
        return batch.header

    def append_as_follower(self, data: bytes, batches: Sequence[Batch]) -> None:
        """Append what the leader sent, bytes unchanged; `batches` are those bytes decoded."""
        if self.unreplayable is None:
            self._note_unreplayable(first_unreplayable(batches))
        self._append(data, batches, "follower")

    def truncate(self, end: LogPosition, high_watermark: Offset, role: str) -> None:
        """Truncate what diverges. Never below what is committed: that would be lost."""
        assert end.offset >= high_watermark, f"truncation to {end} below {high_watermark}"
        self.changes += 1
        self._outbox.emit(TruncateLog(log=METADATA_LOG, end=end.offset))
        self._outbox.trace("q.truncate", end=end.offset, hwm=high_watermark, role=role)
        if self.unreplayable is not None and self.unreplayable.offset >= end.offset:
            self._note_unreplayable(None)
        self.end = end
        self.durable = min(self.durable, end.offset)
        if self.metadata_from is not None and self.metadata_from >= end.offset:
            self.metadata_from = None
        self._follow_voters(self.voters.truncated(end.offset))
        self.flush()

    def replace(
        self,
        snapshot: LogPosition,
        controls: Sequence[ControlRecord],
        unreplayable: Unreplayable | None,
    ) -> None:
        """Replace the whole log by a snapshot of committed state, with these control records."""
        self.changes += 1
        self._outbox.emit(ReplaceLog(log=METADATA_LOG, snapshot=snapshot))
        self._note_unreplayable(unreplayable)
        self.end = snapshot
        self.start = self.durable = self.metadata_from = snapshot.offset
        self._flushed = True
        self._follow_voters(self.voters.after_snapshot(controls, snapshot.offset))

    def trace_known_voters(self) -> None:
        """Trace the voters that the log names when a process begins, including a change by its
        newest record, which may not be committed."""
        for since in self.voters.sets[-2:]:
            self._trace_voters(since)

    def _trace_voters(self, since: VotersSince) -> None:
        """Trace the voters, and the record they are in force from; epoch 0: none in the log."""
        keys: list[dict[str, int | str]] = [
            {"id": key.id, "dir": uuid_text(key.directory)} for key in since.voters.keys
        ]
        self._outbox.trace("q.voters", offset=since.offset, epoch=since.epoch, voters=keys)

    def flush(self) -> None:
        self._flushed = False
        self._outbox.emit(FlushLog(log=METADATA_LOG))

    def on_flushed(self, end: Offset) -> None:
        """`end` may lie below the log's end when more was written since the flush was requested."""
        self.durable = max(self.durable, min(end, self.end.offset))
        self._flushed = self.durable == self.end.offset
        self._outbox.trace("q.fsync", end=self.durable)

    def trace_unreplayable(self) -> None:
        found = self.unreplayable
        if found is None:
            self._outbox.trace("q.unfit", offset=-1, record="")
        else:
            self._outbox.trace("q.unfit", offset=found.offset, record=str(found.record))

    def _note_unreplayable(self, found: Unreplayable | None) -> None:
        if found != self.unreplayable:
            self.unreplayable = found
            self.trace_unreplayable()

    def _append(self, data: bytes, batches: Sequence[Batch], role: str) -> None:
        self.changes += 1
        self._outbox.emit(AppendBatches(log=METADATA_LOG, data=data))
        for batch in batches:
            header = batch.header
            self._outbox.trace(
                "q.append",
                base=header.base_offset,
                last=header.last_offset,
                epoch=header.leader_epoch,
                crc=header.crc,
                role=role,
            )
        last = batches[-1].header
        self.end = LogPosition(epoch=last.leader_epoch, offset=last.next_offset)
        for batch in batches:
            self._follow_voters(self._read(batch))
        self.flush()

    def _read(self, batch: Batch) -> VoterHistory:
        """The voters with this batch at the log's end: in force from now on, committed or not."""
        if batch.header.is_control:
            return self.voters.appended(batch)
        if self.metadata_from is None:
            self.metadata_from = batch.header.base_offset
        return self.voters

    def _follow_voters(self, voters: VoterHistory) -> None:
        before, self.voters = self.voters, voters
        if voters.sets[-1] is not before.sets[-1]:
            self._trace_voters(voters.sets[-1])


def _whole_log(view: LogView) -> Iterator[Batch]:
    """The log as it was opened, each batch validated."""
    offset, end = view.start(), view.end().offset
    while offset < end:
        data = view.read(offset, _READ_BYTES)
        position = 0
        while position < len(data):
            header = read_header(data, position)
            following = position + header.size
            yield Batch(header, data[position:following])
            position, offset = following, header.next_offset
