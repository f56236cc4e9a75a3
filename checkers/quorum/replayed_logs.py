"""Metadata logs on disks, replayed up to the ends of snapshots."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checkers.evidence.evidence import Evidence
from checkers.evidence.metadata_logs import StoredBatch
from checkers.evidence.replayed_image import RecordFields, ReplayedImage
from checkers.evidence.snapshot_images import StoredSnapshot

Snapshots = Sequence[StoredSnapshot]


@dataclass(frozen=True, slots=True)
class ReplayedLog:
    """The consecutive batches on one disk, and the records in them."""

    node: int
    batches: Sequence[StoredBatch]
    records: Sequence[RecordFields] = ()

    @property
    def start(self) -> int:
        return self.batches[0].base

    def epoch_before(self, end: int) -> int | None:
        """The epoch of the record right below an offset; None if the log has none there."""
        at = bisect_left(self.batches, end, key=lambda batch: batch.last + 1)
        is_there = at < len(self.batches) and self.batches[at].base < end
        return self.batches[at].epoch if is_there else None

    def whole_replays(
        self, wanted: Snapshots, known: Snapshots
    ) -> Iterator[tuple[StoredSnapshot, ReplayedImage]]:
        """The complete contents of a snapshot, for those of `wanted` that the log reaches when it
        is replayed from its beginning, or from the oldest snapshot with which it is contiguous."""
        base = self._base(known)
        if base is None and self.start > 0:
            return
        image = ReplayedImage()
        for row in base.records if base is not None else ():
            image.replay(row)
        yield from self._walk(image, 0 if base is None else base.end, wanted)

    def partial_replays(self, wanted: Snapshots) -> Iterator[tuple[StoredSnapshot, ReplayedImage]]:
        """What the log says by itself, wherever it begins."""
        yield from self._walk(ReplayedImage(is_whole=False), self.start, wanted)

    def _base(self, known: Snapshots) -> StoredSnapshot | None:
        """A log from 0 begins with the snapshot that its disk was formatted with, if that has
        records."""
        if self.start == 0:
            return next((each for each in known if (each.node, each.end) == (self.node, 0)), None)
        reached = [each for each in known if each.end >= self.start and self._goes_on(each)]
        return min(reached, key=lambda each: each.end, default=None)

    def _goes_on(self, snapshot: StoredSnapshot) -> bool:
        is_right_before = snapshot.end == self.start
        return is_right_before or self.epoch_before(snapshot.end) == snapshot.epoch

    def _walk(
        self, image: ReplayedImage, start: int, wanted: Snapshots
    ) -> Iterator[tuple[StoredSnapshot, ReplayedImage]]:
        """Records that another node's log has in place of a snapshot's last one may never have been
        committed; a node's own snapshot is of its own log."""
        at = bisect_left(self.records, start, key=lambda row: int(row["offset"]))
        for snapshot in sorted(wanted, key=lambda each: each.end):
            epoch = self.epoch_before(snapshot.end)
            is_its_log = epoch is not None and snapshot.node == self.node
            if snapshot.end <= start or not (is_its_log or epoch == snapshot.epoch):
                continue
            while at < len(self.records) and self.records[at]["offset"] < snapshot.end:
                image.replay(self.records[at])
                at += 1
            yield snapshot, image


def replayed_logs(evidence: Evidence) -> list[ReplayedLog]:
    """Of all collected disks with a log, except those with bytes that a fault damages."""
    damaged = damaged_disks(evidence)
    rows: dict[int, list[RecordFields]] = {}
    for row in evidence.tables["log_records"].to_pylist():
        rows.setdefault(row["node"], []).append(row)
    return [
        ReplayedLog(node, tuple(_connected(batches)), _of_the_log(rows.get(node, [])))
        for node, batches in sorted(evidence.metadata_logs.items())
        if node not in damaged
    ]


def damaged_disks(evidence: Evidence) -> set[int]:
    """The nodes with disks with bytes that a fault damages."""
    return {node for fault in evidence.faults if fault.damages_bytes for node in fault.nodes}


def _connected(batches: Sequence[StoredBatch]) -> Iterator[StoredBatch]:
    end = batches[0].base
    for batch in batches:
        if batch.base != end:
            return
        end = batch.last + 1
        yield batch


def _of_the_log(rows: Sequence[RecordFields]) -> Sequence[RecordFields]:
    """Without the snapshot with which they may begin."""
    ends = [at for at, row in enumerate(rows) if row["type"] == "SnapshotFooter"]
    return rows[ends[-1] + 1 :] if ends else rows
