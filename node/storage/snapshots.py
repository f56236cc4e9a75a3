"""The snapshots of a log, `OFFSET-EPOCH.checkpoint` beside its segments (KIP-630).

One is written to `....checkpoint.part`, synced piece by piece, and gets its name, durably, once it
is whole. So a power cut leaves a `.part`, which is removed at the next start, or a whole snapshot.
Any other damage to one is rot: it is reported, and never loaded.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Self

from node.ids import Epoch, LogPosition, Offset
from node.lazy_dataclass import dataclass
from node.records.control import ControlRecord
from node.records.snapshot import SnapshotReader
from node.storage.disk import VOTERS_CHECKPOINT, Disk, File

_SUFFIX = ".checkpoint"
_PART = ".part"
_DELETED = ".deleted"  # Kafka removes one in two steps
_WINDOW = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A whole, sound snapshot."""

    id: LogPosition  # the offset after its last record, and that record's epoch
    size: int
    timestamp_ms: int  # of that record
    controls: tuple[ControlRecord, ...]  # the quorum's control records there: the voters


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedSnapshot:
    path: str
    reason: str


@dataclass(slots=True, kw_only=True)
class _Part:
    """A snapshot that is being written."""

    id: LogPosition
    path: str
    file: File
    reader: SnapshotReader


@dataclass(slots=True, kw_only=True)
class Snapshots:
    """The snapshots of the log in `directory`, oldest first."""

    disk: Disk
    directory: str
    found: list[Snapshot] = field(default_factory=list)
    damaged: list[DamagedSnapshot] = field(default_factory=list)  # when they were opened
    _part: _Part | None = None

    @classmethod
    def open(cls, disk: Disk, directory: str) -> Self:
        """Open the existing ones, each read to its end; unfinished ones are removed."""
        snapshots = cls(disk=disk, directory=directory)
        for name in disk.names(directory):
            path = f"{directory}/{name}"
            if name.endswith((_SUFFIX + _PART, _SUFFIX + _DELETED)):
                disk.remove(path)
            elif (id_ := parse_snapshot_name(name)) is not None and path != VOTERS_CHECKPOINT:
                snapshots._check(id_, path)
        snapshots.found.sort(key=lambda snapshot: snapshot.id.offset)
        return snapshots

    def newest(self) -> Snapshot | None:
        return self.found[-1] if self.found else None

    def read(self, id_: LogPosition, position: int, length: int) -> bytes:
        """Up to `length` bytes of an existing one."""
        return self.disk.read(self._path(id_), position, length)

    def write(self, id_: LogPosition, position: int, data: bytes) -> None:
        """Write the next piece, durable when it returns. Position 0 drops what was begun before, of
        this snapshot or another.
        """
        if position == 0:
            self._begin(id_)
        part = self._written(id_)
        assert part.file.size() == position, "not in order"
        part.reader.feed(data)
        part.file.append(data)
        part.file.flush()

    def finish(self, id_: LogPosition) -> None:
        """It is whole: it has its name, durably, when this returns."""
        part = self._written(id_)
        assert part.reader.is_complete, "it is not whole"
        size = part.file.size()
        part.file.close()
        self._part = None
        if self.disk.exists(self._path(id_)):  # and rotten
            self.disk.remove(self._path(id_))
        self.disk.rename(part.path, self._path(id_))
        self.disk.sync_names(self.directory)
        self._add(id_, size, part.reader)

    def remove_before(self, offset: Offset) -> None:
        """Remove those that end below `offset`, the oldest first."""
        while self.found and self.found[0].id.offset < offset:
            self.disk.remove(self._path(self.found[0].id))
            del self.found[0]

    def _written(self, id_: LogPosition) -> _Part:
        assert self._part is not None, f"{id_} was not begun"
        assert self._part.id == id_, f"{self._part.id} was begun, not {id_}"
        return self._part

    def _begin(self, id_: LogPosition) -> None:
        if self._part is not None:
            self._part.file.close()
            self.disk.remove(self._part.path)
        path = self._path(id_) + _PART
        file = self.disk.open(path)
        self._part = _Part(id=id_, path=path, file=file, reader=SnapshotReader(id_.epoch))

    def _check(self, id_: LogPosition, path: str) -> None:
        reader = SnapshotReader(id_.epoch)
        position = 0
        try:
            while piece := self.disk.read(path, position, _WINDOW):
                reader.feed(piece)
                position += len(piece)
        except ValueError as error:  # DamagedBatch and MalformedRecord
            self.damaged.append(DamagedSnapshot(path=path, reason=str(error)))
            return
        if reader.is_complete:
            self._add(id_, position, reader)
        else:
            why = f"it ends at byte {position}, without a snapshot's footer"
            self.damaged.append(DamagedSnapshot(path=path, reason=why))

    def _add(self, id_: LogPosition, size: int, reader: SnapshotReader) -> None:
        self.found.append(
            Snapshot(
                id=id_,
                size=size,
                timestamp_ms=reader.timestamp_ms,
                controls=tuple(reader.controls),
            )
        )

    def _path(self, id_: LogPosition) -> str:
        return f"{self.directory}/{snapshot_name(id_)}"


def snapshot_name(id_: LogPosition) -> str:
    return f"{id_.offset:020d}-{id_.epoch:010d}{_SUFFIX}"


def parse_snapshot_name(name: str) -> LogPosition | None:
    """The id in a snapshot's file name, or None if it is no snapshot's."""
    offset, dash, epoch = name.removesuffix(_SUFFIX).partition("-")
    if not (name.endswith(_SUFFIX) and dash and offset.isdecimal() and epoch.isdecimal()):
        return None
    id_ = LogPosition(Epoch(int(epoch)), Offset(int(offset)))
    return id_ if snapshot_name(id_) == name else None


def oldest_from(snapshots: Sequence[Snapshot], first: Offset, end: Offset) -> Snapshot | None:
    """The oldest at which a log of the offsets from `first` to `end` may start."""
    return next((each for each in snapshots if first <= each.id.offset <= end), None)
