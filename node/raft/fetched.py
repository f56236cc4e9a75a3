"""What a Fetch answer may hold, to be taken into our log: the leader may be damaged or lie."""

from node.ids import Epoch, LogPosition, Offset
from node.lazy_dataclass import dataclass
from node.raft.portion import portion
from node.records.batch import Batch, DamagedBatch, read_header, split_batches
from node.records.contents import check_contents
from node.records.metadata import MalformedRecord
from node.storage.view import LogView


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The batches to append, and what is wrong with the bytes after them, if anything is."""

    batches: list[Batch]
    fault: str | None = None


def sound_batches(data: bytes, end: LogPosition, epoch: Epoch) -> Fetched:
    """The batches to append: whole and sound, from our end on, and none of an epoch above ours.

    A batch of a newer epoch was read by a leader that changed meanwhile; its log may not be the
    one we are being compared with (KAFKA-18723). A Fetch may cut its last batch anywhere, but
    never its first. What is more than a step has time for is left to the next Fetch.
    """
    batches: list[Batch] = []
    try:
        for batch in portion(split_batches(data)):
            _check_order(batch, end, epoch)
            check_contents(batch)
            batches.append(batch)
            end = LogPosition(batch.header.leader_epoch, batch.header.next_offset)
    except DamagedBatch as damage:
        if not (damage.torn and batches):
            return Fetched(batches=batches, fault=str(damage))
    except MalformedRecord as malformed:
        return Fetched(batches=batches, fault=str(malformed))
    return Fetched(batches=batches)


def _check_order(batch: Batch, end: LogPosition, epoch: Epoch) -> None:
    header = batch.header
    if header.base_offset != end.offset or not end.epoch <= header.leader_epoch <= epoch:
        raise DamagedBatch(
            0,
            f"offset {header.base_offset} of epoch {header.leader_epoch} stands where offset"
            f" {end.offset} of epoch {end.epoch} to {epoch} belongs",
        )


def truncation_point(view: LogView, diverging: LogPosition) -> LogPosition:
    """How much of our log may be part of the leader's (`ReplicatedLog.truncateToEndOffset`).

    The leader says where its log ends in the largest epoch not above our last one. If we have
    that epoch, the shorter end of the two; if not, the end of our own largest lower epoch.
    """
    ours = view.end_of_epoch(diverging.epoch)
    if diverging.epoch == 0:
        return LogPosition(Epoch(0), min(diverging.offset, view.end().offset))
    if ours.epoch == diverging.epoch:
        return LogPosition(ours.epoch, min(ours.offset, diverging.offset))
    return ours


def is_cut(view: LogView, end: Offset) -> bool:
    """Can our log be cut at `end`: is a batch to go, and whole? Two logs part between batches."""
    if not view.start() <= end < view.end().offset:
        return False
    return read_header(view.read(end, 1)).base_offset == end
