"""Opening the log of a partition.

After a clean shutdown each segment is opened by its indexes, if they are as that shutdown left them
(`index_checksums`). After any other end so is each segment below the log's recovery point, which
was flushed with its indexes before the point was saved (`PartitionLogs`). Read of such a segment
are both index files, whole; its first batch's header; and its batches from the last entry on,
whole, which is at most an interval and a batch. That shows where it ends, its times, and that the
next one continues it. Leader epochs are taken from their file, with which the batches read must
agree. Producers come from the newest snapshot within the log, and the headers behind it
(`producers`).

Otherwise, and if any of this does not fit, every batch of the segment is read, its CRC is checked,
and its indexes are rebuilt. What is whole and continues the log is kept, and the rest, with all
segments after it, is removed (`LogSegment.recover`, `LogLoader`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from node.ids import Epoch, Offset
from node.lazy_dataclass import dataclass
from node.records.batch import BatchHeader, DamagedBatch
from node.storage.checkpoints import LeaderEpochs, parse_epochs
from node.storage.disk import LEADER_EPOCHS, Disk
from node.storage.indexes import OFFSET_INDEX, TIME_INDEX
from node.storage.partition_segment import IndexChecksums, PartitionSegment, Reindexed
from node.storage.producers import ProducerStates
from node.storage.segment import SUFFIX, parse_segment_name, scan_batches


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouched:
    """What was durable of a log: after a clean shutdown all of it, otherwise what lies below its
    recovery point. `indexes`: the checksums of its segments then, by their bases.
    """

    indexes: Mapping[Offset, IndexChecksums] = field(default_factory=dict)
    below: Offset | None = Offset(0)  # None: all of it

    @property
    def is_clean(self) -> bool:
        return self.below is None

    def index_of(self, base: Offset, end: Offset | None) -> IndexChecksums | None:
        """The checksums for a segment up to `end`; None: it is the last one."""
        is_below = self.below is None or (end is not None and end <= self.below)
        return self.indexes.get(base) if is_below else None


NOTHING_VOUCHED = Vouched()


@dataclass(slots=True, kw_only=True)
class FoundLog:
    """The whole part of the log in `directory`."""

    disk: Disk
    directory: str
    interval: int
    known: LeaderEpochs | None  # as in the file; None: the file is malformed
    start: Offset  # all below was deleted
    end: Offset
    reindexed: list[Reindexed]  # is added to
    states: ProducerStates
    has_epochs: bool  # is there a file of them?
    vouched: Vouched
    segments: list[PartitionSegment] = field(default_factory=list)
    epochs: LeaderEpochs = field(default_factory=LeaderEpochs)
    cut_bytes: int = 0
    has_saved: bool = False  # indexes; their names are yet to be made durable

    def take(self, base: Offset, following: Offset | None) -> None:
        """Take the next segment, or what is whole of it; `following`: where another one begins."""
        if self.segments:
            self._finish(self.segments[-1])
        segment = self._open(base)
        self.segments.append(segment)
        vouched = self.vouched.index_of(base, following)
        if vouched is None or not self._is_opened(segment, vouched):
            self._scan(segment)

    def _finish(self, segment: PartitionSegment) -> None:
        """Another segment follows. One that was read is not read again after the next end, of any
        kind; and it may have been written without a flush (Kafka flushes it in the background).
        """
        if segment.saved is None and segment.size:
            segment.file.flush()
            segment.save_index()
            self.has_saved = True
        segment.finish()

    def drop(self, base: Offset) -> None:
        """A segment behind a gap."""
        segment = self._open(base)
        self.cut_bytes += max(1, segment.file.size())
        segment.remove()

    def epoch_before(self) -> Epoch | None:
        """The epoch of the last record before the start, by the file: if no batch is left, there is
        no other source.
        """
        told = (self.known or LeaderEpochs()).between(self.start, Offset(self.start + 1))
        return told[0][0] if told else None

    def _open(self, base: Offset) -> PartitionSegment:
        """Opened without making its name durable, if it is: a segment with a byte got its name
        durably before that, and so did the first segment of a log that never had a record, before
        the topic id was written. Another that is empty may be of a process that was killed before
        it could make it so, unless one shut down cleanly since.
        """
        found = PartitionSegment.found(
            self.disk, self.directory, base, self.interval, self.reindexed
        )
        is_first = base == 0 and not self.has_epochs
        if found.file.size() == 0 and not (is_first or self.vouched.is_clean):
            self.disk.sync_names(self.directory)
        return found

    def _is_opened(self, segment: PartitionSegment, vouched: IndexChecksums) -> bool:
        """Opened by its indexes?"""
        try:
            headers = segment.load_index(vouched)
            epochs = self._epochs_of(headers)
        except ValueError as why:
            self.reindexed.append(Reindexed(segment.path, str(why)))
            return False
        for epoch, start in epochs:
            self.epochs.assign(epoch, start)
        self.end = headers[-1].next_offset
        return True

    def _epochs_of(self, headers: Sequence[BatchHeader]) -> Sequence[tuple[Epoch, Offset]]:
        """The epochs of a segment with these batches, and others between the first two, by the
        file, which has none of what was deleted. Raises ValueError if they disagree.
        """
        known = self.known or LeaderEpochs()
        for header in headers:
            at = max(header.base_offset, self.start)
            if at < header.next_offset and not known.is_of(header.leader_epoch, at):
                raise ValueError(f"{LEADER_EPOCHS} does not tell the epoch of offset {at}")
        begin, end = max(headers[0].base_offset, self.start), headers[-1].next_offset
        return known.between(begin, end)

    def _scan(self, segment: PartitionSegment) -> None:
        self.states.advance(segment.base, self._headers_between)
        try:
            for position, header in scan_batches(segment.file):
                is_next = header.base_offset == self.end
                if not is_next or header.leader_epoch < self.epochs.latest():
                    raise DamagedBatch(position, "it does not continue the log")
                self.epochs.assign(header.leader_epoch, header.base_offset)
                segment.add(header)
                self.states.appended(header)
                self.end = header.next_offset
        except DamagedBatch:
            self.cut_bytes += segment.file.size() - segment.size
            segment.file.truncate(segment.size)

    def _headers_between(self, start: Offset, end: Offset) -> Iterator[BatchHeader]:
        """For the ends of segments that are opened by their indexes and not read."""
        ends = [*(each.base for each in self.segments[1:]), self.end]
        for segment, segment_end in zip(self.segments, ends, strict=True):
            if start < segment_end <= end:
                yield from segment.headers(start)


def find_log(
    disk: Disk,
    directory: str,
    interval: int,
    start: Offset,
    vouched: Vouched,
    reindexed: list[Reindexed],
) -> FoundLog:
    """Indexes that differ from `vouched` are added to `reindexed`."""
    names = disk.names(directory)
    bases = sorted(base for base in map(parse_segment_name, names) if base is not None)
    found = FoundLog(
        disk=disk,
        directory=directory,
        interval=interval,
        known=_read_epochs(disk, directory) if LEADER_EPOCHS in names else LeaderEpochs(),
        start=start,
        end=bases[0] if bases else start,
        reindexed=reindexed,
        states=ProducerStates.find(disk, directory, names),
        has_epochs=LEADER_EPOCHS in names,
        vouched=vouched,
    )
    found.states.begin(found.end)
    _remove_orphans(disk, directory, names)
    for index, base in enumerate(bases):
        following = bases[index + 1] if index + 1 < len(bases) else None
        if found.cut_bytes or base != found.end:
            found.drop(base)
        else:
            found.take(base, following)
    if found.has_saved:
        disk.sync_names(directory)
    found.states.keep(bases[0] if bases else start, found.end)
    found.states.drop_strays([each.base for each in found.segments])
    if found.segments and found.segments[-1].size:
        found.segments[-1].put_index()
    return found


def _remove_orphans(disk: Disk, directory: str, names: list[str]) -> None:
    """Remove indexes of segments that no longer exist."""
    for name in names:
        stem, dot, ending = name.rpartition(".")
        if dot + ending in (OFFSET_INDEX, TIME_INDEX) and stem + SUFFIX not in names:
            disk.remove(f"{directory}/{name}")


def _read_epochs(disk: Disk, directory: str) -> LeaderEpochs | None:
    """None if the file is malformed."""
    try:
        return parse_epochs(disk.read_all(f"{directory}/{LEADER_EPOCHS}"))
    except ValueError:
        return None
