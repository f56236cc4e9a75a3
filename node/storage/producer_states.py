"""The idempotent producers of a log that is open, and the snapshots of them beside it.

A snapshot is taken where a segment begins, durably, and at the end when the log is flushed; they go
with their segments, and with what is cut off. So whoever opens the log reads the headers behind the
newest one only. Within a segment others are taken, in the page cache, so that a cut never leads far
back: a segment may have millions of batches. What of them the power leaves is told by the CRC; what
cannot be read is dropped, and the one before it is used.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import field
from typing import Self

from node.ids import Offset
from node.lazy_dataclass import dataclass
from node.records.batch import BatchHeader
from node.storage.disk import Disk
from node.storage.producer_snapshot import (
    SNAPSHOT,
    decode_producers,
    encode_producers,
    parse_snapshot_name,
    snapshot_name,
)
from node.storage.producers import KnownProducers
from node.storage.storage_errors import CorruptLog

# What may lie behind a snapshot: some two microseconds a header that is read again, and for larger
# batches a system call. Where more producers than batches are known, they are what takes long.
MAX_BATCHES, MAX_BYTES = 50_000, 64 * 1024 * 1024
_STRAYS = 2  # that an open log keeps
_BEGIN = Offset(0)

# The headers of a log's batches, from one offset to before another.
Headers = Callable[[Offset, Offset], Iterator[BatchHeader]]


@dataclass(slots=True, kw_only=True)
class ProducerStates:
    """Of the log in `directory`. `known` tells of all batches below `end`; None, once the log could
    not be read."""

    disk: Disk
    directory: str
    offsets: list[Offset] = field(default_factory=list)  # of the snapshots, rising
    known: KnownProducers | None = field(default_factory=KnownProducers)
    end: Offset = _BEGIN
    damage: CorruptLog | None = None  # why it is None
    _start: Offset = _BEGIN  # of the first segment
    _loose: Offset | None = None  # the last snapshot, while it is in the page cache only
    _batches: int = 0  # since the last snapshot, or since it was opened
    _bytes: int = 0

    @classmethod
    def find(cls, disk: Disk, directory: str, names: Iterable[str]) -> Self:
        """Of a log that is about to be opened, which has files of these names."""
        found = {name: parse_snapshot_name(name) for name in names}
        unfinished = [name for name in found if name.endswith(f"{SNAPSHOT}.tmp")]
        if unfinished:
            disk.remove(*(f"{directory}/{name}" for name in unfinished))
        offsets = sorted(offset for offset in found.values() if offset is not None)
        return cls(disk=disk, directory=directory, offsets=offsets)

    # --- what is asked ---

    def producers(self) -> KnownProducers:
        """Raises CorruptLog where the log could not be read."""
        if self.known is None:
            assert self.damage is not None
            raise self.damage
        return self.known

    # --- as the log is read, or changes ---

    def begin(self, start: Offset) -> None:
        """Of a log whose first segment begins at `start`: by the snapshot there, if any."""
        self.known, self.damage, self.end, self._start = KnownProducers(), None, start, start
        if start in self.offsets:
            self._load(start)

    def advance(self, to: Offset, headers: Headers) -> None:
        """By the newest snapshot until there, and by what the log has behind it."""
        newer = [each for each in self.offsets if self.end < each <= to]
        while newer and not self._load(newer.pop()):
            pass
        if self.known is None:
            return
        try:
            for header in headers(self.end, to):
                self.known.appended(header)
        except CorruptLog as damage:
            self.known, self.damage = None, damage
        self.end = to

    def appended(self, header: BatchHeader) -> None:
        """The next batch of the log: it is there, or is about to be."""
        if self.known is not None:
            self.known.appended(header)
        self.end = header.next_offset
        self._batches += 1
        self._bytes += header.size

    def cut(self, end: Offset, headers: Headers) -> None:
        """The log ends at `end` now; `keep` was called before."""
        if self.known is not None and self.known.end <= end:
            self.end = end
            return
        self.begin(self._start)
        self.advance(end, headers)

    def clear(self, start: Offset) -> None:
        """All of the log is to go, and another begins at `start`."""
        self._remove(self.offsets)
        self.begin(start)

    # --- snapshots ---

    def take_if_due(self) -> None:
        """In the page cache."""
        most = max(MAX_BATCHES, len(self.known) if self.known is not None else 0)
        if self._batches >= most or self._bytes >= MAX_BYTES:
            self._put()

    def take(self) -> bool:
        """At the end of the log, and make its content durable, but not its name: false if it is
        there already."""
        is_new = self._put()
        if is_new or self._loose == self.end:
            self.disk.sync(self._path(self.end))
            self._loose = None
            return True
        return False

    def keep(self, first: Offset, end: Offset) -> None:
        """Durably none but those of a log from `first` on that ends, or is to end, at `end`."""
        self._start = max(self._start, first)
        self._remove([each for each in self.offsets if not first <= each <= end])

    def drop_within(self, first: Offset, last: Offset) -> None:
        """Those between two segments' beginnings: nobody will cut so far back."""
        self._remove([each for each in self.offsets if first < each < last])

    def drop_strays(self, bases: Collection[Offset]) -> None:
        """What former lives left within segments, but for the newest."""
        strays = [each for each in self.offsets if each not in bases]
        self._remove(strays[:-_STRAYS])

    def _put(self) -> bool:
        newest = self.offsets[-1] if self.offsets else _BEGIN
        self._batches = self._bytes = 0
        if self.known is None or self.end <= newest:
            return False
        self.disk.put(self._path(self.end), encode_producers(self.known))
        self.offsets.append(self.end)
        self._loose = self.end
        return True

    def _load(self, offset: Offset) -> bool:
        """False, and it is dropped, where it cannot be read."""
        try:
            known = decode_producers(self.disk.read_all(self._path(offset)))
        except ValueError:
            self._remove([offset])
            return False
        self.known, self.damage, self.end = known, None, offset
        return True

    def _remove(self, offsets: Iterable[Offset]) -> None:
        gone = set(offsets)
        if gone:
            self.disk.remove(*(self._path(each) for each in sorted(gone)))
            self.offsets = [each for each in self.offsets if each not in gone]

    def _path(self, offset: Offset) -> str:
        return f"{self.directory}/{snapshot_name(offset)}"
