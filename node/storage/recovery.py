"""Opening the metadata log after any end: what is kept, what is truncated, what is refused.

Every batch of every segment is read and its CRC checked; offsets must be contiguous. The flush mark
says how far the log was flushed, and so what to do about damage:

* **Cut** it off from there on, if that is at or above the mark, in the last segment: a power cut
  took unflushed appends away. It may leave nothing of them, part of a batch, zeros where a size
  outlived its data, and holes, since pages are written back in any order: batches that follow a
  hole are sound, and are cut as well. Cutting is sound because an acknowledged byte was flushed,
  and flushed bytes are not torn: all of them are below the first damage. `Cut` says what was cut.
* **Refuse** damage below the mark or in a segment that is not the last (a segment is flushed whole
  before the next is made), and a log that ends below the mark: that is rot. A replica that silently
  forgot what it had acknowledged could elect a leader that lacks committed records.

The limit: the mark may be eight flushes late. Rot within those looks like a torn append and is cut,
and what was removed there is not missed. Without a mark (it was removed) nothing is cut, and a
sound log is opened with a warning: whole batches may be missing at its end.

A log that was truncated behind a snapshot starts at one: the oldest that ends within its segments,
which may begin before it. A log that ends below its newest snapshot is replaced by it: the node
took it from its leader and had not yet dropped its log, or it was leader and had less on its disk
than a majority. Whatever the mark vouches for is in the log or below that snapshot.

The CRC covers neither base offset nor leader epoch. Epochs are compared with
`leader-epoch-checkpoint`, which is made durable before the first batch of an epoch is written: if
it can be read, it must agree with the batches. If it is missing or cannot be read it is rebuilt
from them.
"""

from dataclasses import field
from typing import Self

from node.ids import Epoch, LogPosition, Offset
from node.lazy_dataclass import dataclass
from node.records.batch import BatchHeader, DamagedBatch
from node.storage.checkpoints import LeaderEpochs, encode_epochs, parse_epochs
from node.storage.disk import LEADER_EPOCHS, CorruptLog, Disk
from node.storage.segment import Segment, parse_segment_name, scan_batches, segment_name
from node.storage.snapshots import Snapshot, Snapshots, oldest_from

# The flush mark: how far the log was flushed, in the name of an empty file: `flushed-<offset>`.
#
# Every batch below the mark was made durable once, so damage there is rot. What is at or above it
# may never have been written, and damage there is what a power cut left. The files of the log hold
# nothing of this: they stay as Kafka writes them.
#
# * **Never ahead.** The file is renamed after the flush that it stands for, and before a
#   truncation.
# * **Not torn.** A rename is one event in a file system's journal: the old name or the new one.
# * **Cheap.** It is not synced: it becomes durable together with the next flush, which commits the
#   journal because the log has grown (ext4: `tests/sim/test_real_power_off.py`). And it is renamed
#   once in eight flushes, since what it adds to every commit of the journal was an eighth of the
#   CPU time of a write. So the last eight flushes may not be vouched for; if a file system commits
#   names later than that, more are not. After a clean start everything is.


_PREFIX = "flushed-"
_DIGITS = 20
FLUSHES_A_RISE = 8


@dataclass(slots=True, kw_only=True)
class FlushMark:
    """The mark of the log in `directory`, while that is open."""

    disk: Disk
    directory: str
    flushed: Offset  # as the name says
    late: int = 0  # flushes that it does not cover

    @classmethod
    def put(cls, disk: Disk, directory: str, end: Offset) -> Self:
        """All below `end` was flushed; makes the only mark, durable when it returns."""
        path = f"{directory}/{flush_mark_name(end)}"
        if end not in (found := _marks(disk, directory)):
            if found:
                disk.rename(f"{directory}/{flush_mark_name(found.pop())}", path)
            else:
                disk.open(path).close()
        for other in found:
            if other != end:
                disk.remove(f"{directory}/{flush_mark_name(other)}")
        disk.sync_names(directory)
        return cls(disk=disk, directory=directory, flushed=end)

    def rise(self, end: Offset) -> None:
        """All below `end` was flushed before this call."""
        assert end >= self.flushed
        self.late += 1
        if self.late == FLUSHES_A_RISE:
            self._move(end)

    def fall(self, end: Offset) -> None:
        """Called before a truncation to `end`; durable when it returns."""
        if end < self.flushed:
            self._move(end)
            self.disk.sync_names(self.directory)

    def _move(self, end: Offset) -> None:
        if end != self.flushed:
            old, new = flush_mark_name(self.flushed), flush_mark_name(end)
            self.disk.rename(f"{self.directory}/{old}", f"{self.directory}/{new}")
            self.flushed = end
        self.late = 0


def find_mark(disk: Disk, directory: str) -> Offset | None:
    """The mark as the last process left it, or None. Of several, which no node leaves behind, the
    highest.
    """
    return max(_marks(disk, directory), default=None)


def _marks(disk: Disk, directory: str) -> list[Offset]:
    """The marks, in rising order."""
    found = (_parse(name) for name in disk.names(directory))
    return [offset for offset in found if offset is not None]


def flush_mark_name(offset: Offset) -> str:
    return f"{_PREFIX}{offset:0{_DIGITS}d}"


def _parse(name: str) -> Offset | None:
    """The offset in a mark's file name, or None if it is no mark's."""
    digits = name.removeprefix(_PREFIX)
    ours = digits.isascii() and digits.isdecimal() and len(digits) == _DIGITS
    if not ours or name == digits:
        return None
    return Offset(int(digits))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The unflushed bytes behind `end` that recovery removed after a power cut."""

    segment: str  # the file
    end: Offset  # the log's from then on
    size: int  # bytes
    flushed: Offset  # the mark then, at or below `end`
    reason: str  # what was wrong with the first batch that was cut


@dataclass(slots=True, kw_only=True)
class RecoveredLog:
    """The log as found: at least one segment, the last of which is appended to."""

    flushed: Offset | None  # the mark as it was found
    was_unmarked: bool = False  # there was a log, and no mark
    segments: list[Segment] = field(default_factory=list)
    epochs: LeaderEpochs = field(default_factory=LeaderEpochs)
    start: LogPosition = LogPosition(Epoch(0), Offset(0))
    end: Offset = Offset(0)
    cut: Cut | None = None

    def last(self) -> LogPosition:
        return LogPosition(max(self.epochs.latest(), self.start.epoch), self.end)


def recover_log(disk: Disk, directory: str, snapshots: Snapshots) -> RecoveredLog:
    """The log in `directory`, its torn tail cut off, all of it durable. Raises CorruptLog."""
    found = RecoveredLog(flushed=find_mark(disk, directory))
    checkpoint = _read_checkpoint(disk, directory)
    bases = _segment_bases(disk, directory)
    newest = snapshots.newest()
    if not bases and newest is None:
        _refuse_if_known(directory, checkpoint, found.flushed)
        # Before the first segment: there is no log without a mark.
        FlushMark.put(disk, directory, Offset(0))
        bases = [Offset(0)]
    else:
        found.was_unmarked = found.flushed is None
    _scan(disk, directory, bases, found)
    first = oldest_from(snapshots.found, found.segments[0].base, found.end) if bases else None
    if first is not None and found.segments[0].base > 0:
        found.start = first.id
    if newest is not None and newest.id > found.last():
        _replace(disk, directory, found, newest)
        return found
    if found.flushed is not None and found.end < found.flushed:
        raise _too_short(found)
    if first is None and found.segments[0].base > 0:
        raise _no_snapshot(found)
    last = found.segments[-1]
    if found.cut is not None:
        last.file.truncate(last.size)
    # A killed process leaves bytes in the page cache only. From here on they count as the log, so
    # they are made as durable as it.
    last.file.flush()
    found.epochs.begin_at(found.start.offset, found.end)
    _reconcile(disk, directory, checkpoint, found)
    return found


def start_anew(disk: Disk, directory: str, segments: list[Segment], start: Offset) -> Segment:
    """Replace a log by an empty one that starts at `start`, where a snapshot ends.

    The oldest segment first: after a power cut in between, what is left is older than the snapshot.
    The mark is at `start` or below.
    """
    while segments:
        segments[0].file.close()
        disk.remove(segments.pop(0).path)
    disk.replace(f"{directory}/{LEADER_EPOCHS}", encode_epochs(LeaderEpochs()))
    path = f"{directory}/{segment_name(start)}"
    return Segment(base=start, path=path, file=disk.open(path))


def _scan(disk: Disk, directory: str, bases: list[Offset], found: RecoveredLog) -> None:
    found.end = bases[0] if bases else Offset(0)
    for base in bases:
        path = f"{directory}/{segment_name(base)}"
        if base != found.end:
            raise _gap(path, found.end)
        segment = Segment(base=base, path=path, file=disk.open(path))
        found.segments.append(segment)
        _recover_segment(found, segment, is_last=base == bases[-1])


def _replace(disk: Disk, directory: str, found: RecoveredLog, newest: Snapshot) -> None:
    """Replace the log by the snapshot, which is newer."""
    offset, flushed = newest.id.offset, found.flushed
    if flushed is not None and max(found.end, offset) < flushed:
        raise _too_short(found, newest)
    FlushMark.put(disk, directory, min(offset, flushed or Offset(0)))
    found.segments = [start_anew(disk, directory, found.segments, offset)]
    found.epochs, found.start, found.end = LeaderEpochs(), newest.id, offset


def _segment_bases(disk: Disk, directory: str) -> list[Offset]:
    bases = (parse_segment_name(name) for name in disk.names(directory))
    return sorted(base for base in bases if base is not None)


def _recover_segment(found: RecoveredLog, segment: Segment, *, is_last: bool) -> None:
    try:
        for position, header in scan_batches(segment.file):
            if header.base_offset != found.end or header.leader_epoch < found.epochs.latest():
                raise _does_not_continue(position, header, found)
            segment.add(header.base_offset, header.size)
            found.epochs.assign(header.leader_epoch, header.base_offset)
            found.end = header.next_offset
    except DamagedBatch as damage:
        flushed = found.flushed
        if not is_last or flushed is None or found.end < flushed:
            raise _corrupt(segment.path, damage, found, is_last=is_last) from None
        found.cut = Cut(
            segment=segment.path,
            end=found.end,
            size=segment.file.size() - damage.position,
            flushed=flushed,
            reason=damage.reason,
        )


def _read_checkpoint(disk: Disk, directory: str) -> LeaderEpochs | None:
    path = f"{directory}/{LEADER_EPOCHS}"
    if not disk.exists(path):
        return None
    try:
        return parse_epochs(disk.read_all(path))
    except ValueError:
        return None  # rebuilt from the batches, which are authoritative


def _reconcile(
    disk: Disk, directory: str, checkpoint: LeaderEpochs | None, found: RecoveredLog
) -> None:
    """Compare the checkpoint with the batches, and rewrite it if it has more, or nothing."""
    if checkpoint is not None:
        is_longer = checkpoint.begin_at(found.start.offset, found.end)
        is_longer |= checkpoint.truncate(found.end)
        if checkpoint != found.epochs:
            raise _epochs_differ(directory, checkpoint, found.epochs)
        if not is_longer:
            return
    disk.replace(f"{directory}/{LEADER_EPOCHS}", encode_epochs(found.epochs))


def _refuse_if_known(
    directory: str, checkpoint: LeaderEpochs | None, flushed: Offset | None
) -> None:
    """Epochs are saved, and flushes happen, only after the first segment was made."""
    epoch = checkpoint.latest() if checkpoint is not None else 0
    if epoch or flushed:
        raise CorruptLog(
            f"{directory} holds no segment, but its {LEADER_EPOCHS} knows of epoch {epoch}, and it"
            f" was flushed up to offset {flushed or 0}: the log was removed\n"
            f"  try: put the files back from a copy of this disk, or format an empty disk"
        )


def _corrupt(path: str, damage: DamagedBatch, found: RecoveredLog, *, is_last: bool) -> CorruptLog:
    if not is_last:
        why = "later segments follow, so this is no torn tail"
    elif found.flushed is None:
        why = f"there is no {flush_mark_name(found.end)} to tell that this was never flushed"
    else:
        why = f"the log was flushed up to offset {found.flushed}, so this is no torn tail"
    return CorruptLog(
        f"{path} is damaged at byte {damage.position}: {damage.reason}\n"
        f"  records up to offset {found.end} are sound; {why}\n"
        f"{_next_step(path)}"
    )


def _does_not_continue(position: int, header: BatchHeader, found: RecoveredLog) -> DamagedBatch:
    """Zeros over its base offset, which the CRC does not cover, leave a batch that looks sound."""
    return DamagedBatch(
        position,
        f"a sound batch of epoch {header.leader_epoch} with offset {header.base_offset} stands"
        f" where offset {found.end} of epoch {found.epochs.latest()} or later belongs",
    )


def _too_short(found: RecoveredLog, newest: Snapshot | None = None) -> CorruptLog:
    path = found.segments[-1].path if found.segments else "the log"
    beside = "" if newest is None else f", and its newest snapshot at {newest.id.offset}"
    return CorruptLog(
        f"{path} ends at offset {found.end}{beside}, but was flushed up to offset {found.flushed}:"
        " what follows is missing\n"
        f"{_next_step(path)}"
    )


def _no_snapshot(found: RecoveredLog) -> CorruptLog:
    path = found.segments[0].path
    return CorruptLog(
        f"{path} begins at offset {found.segments[0].base}, and no sound snapshot ends between"
        f" there and the log's end at {found.end}: what came before is missing\n"
        f"{_next_step(path)}"
    )


def _gap(path: str, end: Offset) -> CorruptLog:
    return CorruptLog(
        f"{path} does not continue the log, which ends at offset {end} before it:"
        " a segment is missing, cut or misnamed\n"
        f"{_next_step(path)}"
    )


def _epochs_differ(directory: str, checkpoint: LeaderEpochs, found: LeaderEpochs) -> CorruptLog:
    def text(epochs: LeaderEpochs) -> str:
        pairs = zip(epochs.epochs, epochs.starts, strict=True)
        return ", ".join(f"{epoch} from {start}" for epoch, start in pairs) or "none"

    return CorruptLog(
        f"{directory}/{LEADER_EPOCHS} and the batches disagree about the leader epochs\n"
        f"  checkpoint: {text(checkpoint)}\n"
        f"  batches: {text(found)}\n"
        f"{_next_step(directory + '/*.log')}; if the batches are right, remove the checkpoint"
    )


def _next_step(path: str) -> str:
    return f"  try: kraft-node dump-log LOG_DIR/{path} (nothing was changed)"
