"""Opening the log of a partition.

After a clean shutdown each segment is opened by its indexes, if they are as that shutdown left them
(`index_checksums`). Of a segment are read then: both index files, whole; its first batch's header;
and its batches from the last entry on, whole, which is at most an interval and a batch. That tells
where it ends, its times, and that it goes on in the next one. Leader epochs are taken from their
file, which the batches read must agree with. Of producers the newest snapshot tells that the log
reaches, and the headers behind it (`producer_states`).

Otherwise, and where anything of this does not fit, every batch of the segment is read, its CRC is
checked, and its indexes are made anew. What is whole and continues the log is kept, and the rest,
with all segments after it, goes (`LogSegment.recover`, `LogLoader`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from node.ids import Epoch, Offset
from node.lazy_dataclass import dataclass
from node.records.batch import BatchHeader, DamagedBatch
from node.storage.disk import Disk
from node.storage.layout import LEADER_EPOCHS
from node.storage.leader_epochs import LeaderEpochs, parse_epochs
from node.storage.offset_index import OFFSET_INDEX
from node.storage.partition_segment import IndexChecksums, PartitionSegment, Reindexed
from node.storage.producer_states import ProducerStates
from node.storage.scan import scan_batches
from node.storage.segment import SUFFIX, parse_segment_name
from node.storage.time_index import TIME_INDEX

Vouched = Mapping[Offset, IndexChecksums]  # by the base of each segment


@dataclass(slots=True, kw_only=True)
class FoundLog:
    """What is whole of the log in `directory`."""

    disk: Disk
    directory: str
    interval: int
    known: LeaderEpochs | None  # as the file tells them
    start: Offset  # all below was deleted
    end: Offset
    reindexed: list[Reindexed]  # is added to
    states: ProducerStates
    segments: list[PartitionSegment] = field(default_factory=list)
    epochs: LeaderEpochs = field(default_factory=LeaderEpochs)
    cut_bytes: int = 0

    def take(self, base: Offset, vouched: IndexChecksums | None) -> None:
        """The next segment, or what is whole of it."""
        if self.segments:
            self.segments[-1].finish()
        segment = self._open(base)
        self.segments.append(segment)
        if vouched is None or not self._is_opened(segment, vouched):
            self._scan(segment)

    def drop(self, base: Offset) -> None:
        """A segment behind a gap."""
        segment = self._open(base)
        self.cut_bytes += max(1, segment.file.size())
        segment.remove()

    def epoch_before(self) -> Epoch | None:
        """Of the last record before the start, as the file tells: where no batch is left, nothing
        else does."""
        told = (self.known or LeaderEpochs()).between(self.start, Offset(self.start + 1))
        return told[0][0] if told else None

    def _open(self, base: Offset) -> PartitionSegment:
        return PartitionSegment.open(self.disk, self.directory, base, self.interval, self.reindexed)

    def _is_opened(self, segment: PartitionSegment, vouched: IndexChecksums) -> bool:
        """By its indexes."""
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
        """Of a segment with these batches, and others between the first two, as the file tells;
        of what was deleted it tells nothing. Raises ValueError where they disagree."""
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
        """Where segments end, which are opened by their indexes and not read."""
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
    """`vouched`: the indexes that are as a clean shutdown left them, if it was one. Those that are
    not so are added to `reindexed`."""
    names = disk.names(directory)
    bases = sorted(base for base in map(parse_segment_name, names) if base is not None)
    found = FoundLog(
        disk=disk,
        directory=directory,
        interval=interval,
        known=_read_epochs(disk, directory),
        start=start,
        end=bases[0] if bases else start,
        reindexed=reindexed,
        states=ProducerStates.find(disk, directory, names),
    )
    found.states.begin(found.end)
    _remove_orphans(disk, directory, names)
    for base in bases:
        if found.cut_bytes or base != found.end:
            found.drop(base)
        else:
            found.take(base, vouched.get(base))
    found.states.keep(bases[0] if bases else start, found.end)
    found.states.drop_strays([each.base for each in found.segments])
    if found.segments and found.segments[-1].size:
        found.segments[-1].put_index()
    return found


def _remove_orphans(disk: Disk, directory: str, names: list[str]) -> None:
    """Indexes of segments that are no more."""
    for name in names:
        stem, dot, ending = name.rpartition(".")
        if dot + ending in (OFFSET_INDEX, TIME_INDEX) and stem + SUFFIX not in names:
            disk.remove(f"{directory}/{name}")


def _read_epochs(disk: Disk, directory: str) -> LeaderEpochs | None:
    """None where the file is missing, or says what nobody writes."""
    path = f"{directory}/{LEADER_EPOCHS}"
    try:
        return parse_epochs(disk.read_all(path)) if disk.exists(path) else None
    except ValueError:
        return None
