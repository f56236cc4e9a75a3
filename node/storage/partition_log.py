"""The log of a replica of a partition: written to the page cache, and flushed when it shuts down.

As in Kafka nothing is flushed before it is acknowledged: what keeps a record is that it is on
several brokers (KIP-966 counts on that, and on no more). So a power cut takes what it likes of the
end, and recovery keeps what is whole, up to the first batch that is not (`LogLoader`). Whoever
restarts like that says so, by not saying that it shut down cleanly (`clean_shutdown`).

Nothing is removed from the beginning: a log starts at offset 0.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from node.ids import Epoch, LogPosition, Offset, parse_uuid, uuid_text
from node.records.batch import HEADER_SIZE, BatchHeader, DamagedBatch, read_header
from node.storage.disk import Disk
from node.storage.layout import LEADER_EPOCHS, PARTITION_METADATA
from node.storage.leader_epochs import LeaderEpochs, encode_epochs
from node.storage.scan import scan_batches
from node.storage.segment import Segment, accept_batches, parse_segment_name, segment_name
from node.storage.storage_errors import CorruptFile

_BEGIN = LogPosition(Epoch(0), Offset(0))


@dataclass(slots=True, kw_only=True)
class PartitionLog:
    disk: Disk
    directory: str
    topic: UUID
    segment_bytes: int
    segments: list[Segment]
    epochs: LeaderEpochs
    next_offset: Offset
    cut_bytes: int = 0  # that recovery took off when the log was opened
    flushed: bool = False

    @classmethod
    def create(cls, disk: Disk, directory: str, topic: UUID, segment_bytes: int) -> Self:
        """An empty one, in the place of whatever the directory holds."""
        disk.make_directory(directory)
        metadata = f"{directory}/{PARTITION_METADATA}"
        # The id first: without it the rest belongs to nobody.
        for name in sorted(disk.names(directory), key=lambda name: name != PARTITION_METADATA):
            disk.remove(f"{directory}/{name}")
        segment = _segment(disk, directory, Offset(0))
        disk.replace(metadata, f"version: 0\ntopic_id: {uuid_text(topic)}".encode())
        return cls(
            disk=disk,
            directory=directory,
            topic=topic,
            segment_bytes=segment_bytes,
            segments=[segment],
            epochs=LeaderEpochs(),
            next_offset=Offset(0),
        )

    @classmethod
    def open(cls, disk: Disk, directory: str, segment_bytes: int) -> Self:
        """What is whole of the one that is there. Raises CorruptFile where nothing says whose it
        is."""
        log = cls(
            disk=disk,
            directory=directory,
            topic=_read_topic(disk, f"{directory}/{PARTITION_METADATA}"),
            segment_bytes=segment_bytes,
            segments=[],
            epochs=LeaderEpochs(),
            next_offset=Offset(0),
        )
        log._recover()
        return log

    # --- what is asked ---

    def end(self) -> LogPosition:
        return LogPosition(self.epochs.latest(), self.next_offset)

    def end_of_epoch(self, epoch: Epoch) -> LogPosition:
        """The largest epoch <= `epoch` in the log, and the offset after its last record."""
        return self.epochs.end_of(epoch, _BEGIN, self.next_offset)

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset`, at least one if there is any; nothing at
        the log's end, and never across the end of a segment."""
        assert 0 <= offset <= self.next_offset
        if offset == self.next_offset:
            return b""
        index = bisect_right(self.segments, offset, key=lambda segment: segment.base) - 1
        return self.segments[index].read(offset, max_bytes)

    def headers(self) -> Iterator[BatchHeader]:
        """Of all batches."""
        for segment in self.segments:
            for position in segment.positions:
                yield read_header(segment.file.read(position, HEADER_SIZE))

    # --- what is done ---

    def append(self, data: bytes) -> None:
        """Whole, sound batches that continue the log, in the page cache only. Raises
        DamagedBatch."""
        position = written = 0
        for header in accept_batches(data, self.end()):
            if self.epochs.assign(header.leader_epoch, header.base_offset):
                self._save_epochs()
            if 0 < self.segments[-1].size > self.segment_bytes - header.size:
                self._write(data[written:position])
                written = position
                self._roll()
            self.segments[-1].add(header.base_offset, header.size)
            self.next_offset = header.next_offset
            position += header.size
        self._write(data[written:position])

    def truncate(self, end: Offset) -> None:
        """Cut the log so that it ends at `end`, a batch's boundary."""
        assert 0 <= end <= self.next_offset
        if end == self.next_offset:
            return
        self.flushed = False
        while len(self.segments) > 1 and self.segments[-1].base >= end:
            self._remove_last()
        if self.next_offset > end:
            self.segments[-1].cut(end)
        self.next_offset = end
        if self.epochs.truncate(end):
            self._save_epochs()

    def flush(self) -> Offset:
        """Make all of it durable. The offset below which everything is."""
        if not self.flushed:
            self.segments[-1].file.flush()
            self.flushed = True
        return self.next_offset

    def close(self) -> None:
        for segment in self.segments:
            segment.file.close()

    def remove(self) -> None:
        """All files of it; the id first, without which the rest belongs to nobody."""
        self.close()
        for name in sorted(
            self.disk.names(self.directory), key=lambda name: name != PARTITION_METADATA
        ):
            self.disk.remove(f"{self.directory}/{name}")

    # --- recovery ---

    def _recover(self) -> None:
        """Keep what is whole and continues; the rest, and all segments after it, go."""
        names = self.disk.names(self.directory)
        bases = sorted(base for base in map(parse_segment_name, names) if base is not None)
        for base in bases:
            if self.cut_bytes or base != self.next_offset:
                path = f"{self.directory}/{segment_name(base)}"
                self.cut_bytes += max(1, len(self.disk.read_all(path)))
                self.disk.remove(path)
            else:
                self._recover_segment(_segment(self.disk, self.directory, base))
        if not self.segments:
            self.segments.append(_segment(self.disk, self.directory, Offset(0)))
        self._save_epochs()

    def _recover_segment(self, segment: Segment) -> None:
        self.segments.append(segment)
        try:
            for position, header in scan_batches(segment.file):
                is_next = header.base_offset == self.next_offset
                if not is_next or header.leader_epoch < self.epochs.latest():
                    raise DamagedBatch(position, "it does not continue the log")
                self.epochs.assign(header.leader_epoch, header.base_offset)
                segment.add(header.base_offset, header.size)
                self.next_offset = header.next_offset
        except DamagedBatch:
            self.cut_bytes += segment.file.size() - segment.size
            segment.file.truncate(segment.size)

    # --- files ---

    def _roll(self) -> None:
        """The full one is flushed, as Kafka does."""
        self.segments[-1].file.flush()
        self.segments.append(_segment(self.disk, self.directory, self.next_offset))

    def _remove_last(self) -> None:
        last = self.segments.pop()
        last.file.close()
        self.disk.remove(last.path)
        self.next_offset = last.base

    def _write(self, data: bytes) -> None:
        if data:
            self.segments[-1].file.append(data)
            self.flushed = False

    def _save_epochs(self) -> None:
        self.disk.replace(f"{self.directory}/{LEADER_EPOCHS}", encode_epochs(self.epochs))


def _segment(disk: Disk, directory: str, base: Offset) -> Segment:
    path = f"{directory}/{segment_name(base)}"
    return Segment(base=base, path=path, file=disk.open(path))


def _read_topic(disk: Disk, path: str) -> UUID:
    try:
        version, topic = disk.read_all(path).decode().splitlines()
        if version != "version: 0" or not topic.startswith("topic_id: "):
            raise ValueError(topic)
        return parse_uuid(topic.removeprefix("topic_id: "))
    except ValueError as error:
        raise CorruptFile(
            f"{path} does not say which topic's the log is: {error}\n"
            "  try: put it back from a copy of this disk; or remove the directory, and the broker"
            " fetches the replica anew"
        ) from error
