"""Opening a log after anything may have happened: what is kept, what is cut, what is refused.

Every batch of every segment is read and its CRC checked. The rule for what does not check:

* **Cut** what stands at the very end: the bytes after the last sound batch of the *last* segment,
  if no sound batch follows them. That is all that a power cut can leave behind when it takes
  unflushed appends away: nothing, part of a batch, or zeros where a size outlived its data. Cutting
  is sound because an acknowledged byte was flushed, and flushed bytes are not torn.
* **Refuse** everything else: damage that a sound batch follows, damage in a segment that is not
  the last, a missing segment, a sound batch that does not continue the one before it.

Why refusing is right: a segment is flushed whole before the next is made (`Log`), and a cut is
flushed before anything is appended after it (`Segment.cut`), so only the end of the last segment
can be unflushed, and old bytes never mix with new. A sound batch beyond the damage may be one that
was acknowledged, and then the damaged ones before it were too: that is rot, and a replica that
silently forgot it could elect a leader that lacks committed records.

Two limits, stated: (1) A power cut that writes the pages of unflushed appends back in another order
can leave a hole with sound batches after it. Nothing in the files tells such a hole from rot, so it
is refused as well; to tell them apart needs a record of how far the log had been flushed. (2) Rot
in the last batch alone looks like a torn append and is cut.

The CRC covers neither base offset nor leader epoch. Offsets must be contiguous; epochs are
compared with `leader-epoch-checkpoint`, which is made durable before the first batch of an epoch is
written: where it can be read, it must say what the batches say. Where it is missing or cannot be
read it is rebuilt from them.
"""

from dataclasses import dataclass, field

from node.ids import Offset
from node.records.batch import BatchHeader, DamagedBatch
from node.storage.disk import Disk, File
from node.storage.errors import CorruptLog
from node.storage.layout import LEADER_EPOCHS
from node.storage.leader_epochs import LeaderEpochs, encode_epochs, parse_epochs
from node.storage.scan import find_batch, scan_batches
from node.storage.segment import Segment, parse_segment_name, segment_name


@dataclass(slots=True, kw_only=True)
class Recovered:
    """What was found: at least one segment, the last of which is appended to."""

    segments: list[Segment] = field(default_factory=list)
    epochs: LeaderEpochs = field(default_factory=LeaderEpochs)
    end: Offset = Offset(0)
    cut_bytes: int = 0


def recover(disk: Disk, directory: str) -> Recovered:
    """The log in `directory`, its torn tail cut off, all of it durable. Raises CorruptLog."""
    found = Recovered()
    checkpoint = _read_checkpoint(disk, directory)
    bases = _segment_bases(disk, directory)
    if not bases:
        _refuse_if_known(directory, checkpoint)
        bases = [Offset(0)]
    for base in bases:
        path = f"{directory}/{segment_name(base)}"
        if base != found.end:
            raise _gap(path, found.end)
        segment = Segment(base=base, path=path, file=disk.open(path))
        found.segments.append(segment)
        _recover_segment(found, segment, is_last=base == bases[-1])
    # A process that was killed leaves bytes that are in the page cache only. From here on they
    # count as the log, so they are made as durable as it.
    found.segments[-1].file.flush()
    _reconcile(disk, directory, checkpoint, found)
    return found


def _segment_bases(disk: Disk, directory: str) -> list[Offset]:
    bases = (parse_segment_name(name) for name in disk.names(directory))
    return sorted(base for base in bases if base is not None)


def _recover_segment(found: Recovered, segment: Segment, *, is_last: bool) -> None:
    try:
        for position, header in scan_batches(segment.file):
            if header.base_offset != found.end or header.leader_epoch < found.epochs.latest():
                raise _does_not_continue(segment.path, position, header, found)
            segment.add(header.base_offset, header.size)
            found.epochs.assign(header.leader_epoch, header.base_offset)
            found.end = header.next_offset
    except DamagedBatch as damage:
        if not is_last:
            raise _corrupt(segment.path, damage, found.end, "later segments follow") from None
        found.cut_bytes = _cut_tail(segment.path, segment.file, damage, found.end)


def _cut_tail(path: str, file: File, damage: DamagedBatch, end: Offset) -> int:
    after = find_batch(file, damage.position + 1)
    if after is not None:
        position, header = after
        follows = f"a sound batch with offset {header.base_offset} follows at byte {position}"
        raise _corrupt(path, damage, end, follows)
    cut = file.size() - damage.position
    file.truncate(damage.position)
    return cut


def _read_checkpoint(disk: Disk, directory: str) -> LeaderEpochs | None:
    path = f"{directory}/{LEADER_EPOCHS}"
    if not disk.exists(path):
        return None
    try:
        return parse_epochs(disk.read_all(path))
    except ValueError:
        return None  # rebuilt from the batches, which are what counts


def _reconcile(
    disk: Disk, directory: str, checkpoint: LeaderEpochs | None, found: Recovered
) -> None:
    """Hold the checkpoint against the batches, and write it anew where it says more or nothing."""
    if checkpoint is not None:
        beyond = checkpoint.truncate(found.end)
        if checkpoint != found.epochs:
            raise _epochs_differ(directory, checkpoint, found.epochs)
        if not beyond:
            return
    disk.replace(f"{directory}/{LEADER_EPOCHS}", encode_epochs(found.epochs))


def _refuse_if_known(directory: str, checkpoint: LeaderEpochs | None) -> None:
    """An epoch is written down only after the first segment was made."""
    if checkpoint is not None and checkpoint.epochs:
        raise CorruptLog(
            f"{directory} holds no segment, but its {LEADER_EPOCHS} knows of epoch"
            f" {checkpoint.latest()}: the log was removed\n"
            f"  try: put the files back from a copy of this disk, or format an empty disk"
        )


def _corrupt(path: str, damage: DamagedBatch, end: Offset, why: str) -> CorruptLog:
    return CorruptLog(
        f"{path} is damaged at byte {damage.position}: {damage.reason}\n"
        f"  records up to offset {end} are sound; {why}, so this is no torn tail\n"
        f"{_next_step(path)}"
    )


def _does_not_continue(
    path: str, position: int, header: BatchHeader, found: Recovered
) -> CorruptLog:
    return CorruptLog(
        f"{path} is damaged at byte {position}: a sound batch of epoch {header.leader_epoch} with"
        f" offset {header.base_offset} stands where offset {found.end} of epoch"
        f" {found.epochs.latest()} or later belongs\n"
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
