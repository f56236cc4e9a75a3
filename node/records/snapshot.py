"""Snapshots (KIP-630): batches between a SnapshotHeader and a SnapshotFooter, in place of a log.

A snapshot holds the state that the records of a log up to an offset add up to. Its own offsets
begin at 0 and are not offsets of the log; its batches carry the epoch of the last record that it
covers. A file without its footer is not complete.
"""

from collections.abc import Sequence

from node import limits
from node.ids import Epoch, Offset
from node.records.batch import (
    Batch,
    BatchHeader,
    DamagedBatch,
    KeyValue,
    check_batch,
    encode_batch,
)
from node.records.control import (
    ControlRecord,
    SnapshotFooter,
    SnapshotHeader,
    decode_control,
    encode_control,
)


class SnapshotEncoder:
    """Encodes a snapshot, batch by batch."""

    def __init__(self, epoch: Epoch, timestamp_ms: int) -> None:
        self._epoch = epoch
        self._timestamp_ms = timestamp_ms  # of the last record that the snapshot covers
        self._next = Offset(0)

    def opening(self, controls: Sequence[ControlRecord]) -> bytes:
        """The header, and the quorum's control records."""
        header = SnapshotHeader(last_contained_timestamp_ms=self._timestamp_ms)
        return self._batch([encode_control(each) for each in (header, *controls)], control=True)

    def data(self, values: Sequence[bytes]) -> bytes:
        """A batch of metadata records."""
        return self._batch([(None, value) for value in values])

    def closing(self) -> bytes:
        return self._batch([encode_control(SnapshotFooter())], control=True)

    def _batch(self, records: Sequence[KeyValue], *, control: bool = False) -> bytes:
        data = encode_batch(
            records,
            base_offset=self._next,
            leader_epoch=self._epoch,
            timestamp_ms=self._timestamp_ms,
            control=control,
        )
        assert len(data) <= limits.MAX_BATCH_BYTES, "no reader takes a batch of that size"
        self._next = Offset(self._next + len(records))
        return data


class SnapshotReader:
    """Takes the bytes of a snapshot in pieces cut anywhere, and returns its batches of metadata.

    Every batch is checked, and its position. `controls` are those between header and footer.
    """

    def __init__(self, epoch: Epoch) -> None:
        self.timestamp_ms = -1  # of the last record that the snapshot covers; -1: not yet read
        self.controls: list[ControlRecord] = []
        self._epoch = epoch
        self._rest = b""  # an incomplete batch
        self._position = 0  # of `_rest`
        self._next = 0  # offset
        self._has_footer = False

    @property
    def is_complete(self) -> bool:
        """It ends with its footer."""
        return self._has_footer and not self._rest

    def feed(self, data: bytes) -> list[Batch]:
        """The metadata batches completed by `data`. Raises DamagedBatch or MalformedRecord."""
        data = self._rest + data
        found = []
        at = 0
        while at < len(data):
            header = self._check(data, at)
            if header is None:
                break
            batch = Batch(header, data[at : at + header.size])
            at += header.size
            if header.is_control:
                self._read_controls(batch)
            else:
                found.append(batch)
            self._next = header.next_offset
        self._rest = data[at:]
        self._position += at
        return found

    def _check(self, data: bytes, at: int) -> BatchHeader | None:
        """None: it is not complete yet."""
        position = self._position + at
        if self._has_footer:
            raise DamagedBatch(position, "bytes after the snapshot's footer")
        try:
            header = check_batch(data, at)
        except DamagedBatch as damage:
            if damage.torn and not _claims_too_much(data, at):
                return None
            raise DamagedBatch(position, damage.reason) from None
        if (header.base_offset, header.leader_epoch) != (self._next, self._epoch):
            why = f"offset {header.base_offset} of epoch {header.leader_epoch} stands where offset"
            raise DamagedBatch(position, f"{why} {self._next} of epoch {self._epoch} belongs")
        if self.timestamp_ms < 0 and not header.is_control:
            raise DamagedBatch(position, "it does not begin with a snapshot's header")
        return header

    def _read_controls(self, batch: Batch) -> None:
        for record in batch.records():
            match decode_control(record.key, record.value):
                case SnapshotHeader(last_contained_timestamp_ms=timestamp_ms) if self._is_first:
                    self.timestamp_ms = max(timestamp_ms, 0)
                case SnapshotFooter() if not self._is_first and not self._has_footer:
                    self._has_footer = True
                case SnapshotHeader() | SnapshotFooter() as misplaced:
                    raise DamagedBatch(self._position, f"a misplaced {type(misplaced).__name__}")
                case control if self._is_first or self._has_footer:
                    what = f"a {type(control).__name__} outside of header and footer"
                    raise DamagedBatch(self._position, what)
                case control:
                    self.controls.append(control)

    @property
    def _is_first(self) -> bool:
        return self.timestamp_ms < 0


def _claims_too_much(data: bytes, at: int) -> bool:
    """Does a batch declare a size larger than any that is written?"""
    length = data[at + 8 : at + 12]
    return len(length) == 4 and int.from_bytes(length, "big") > limits.MAX_BATCH_BYTES
