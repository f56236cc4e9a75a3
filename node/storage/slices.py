"""Parts of a partition's segments that answers are made of: read when they are sent, not before.

An answer may be under way for long: its reader is slow. Meanwhile the segment is rolled, deleted or
cut. What was rolled is read on by its name; a file that is deleted is held open until it is sent. A
part that is cut off is sent no more, and whoever was to get it is hung up on, as by Kafka, whose
`FileRecords.writeTo` fails where a file "has been truncated during write": what stands there next
are other records.
"""

from weakref import WeakSet

from node.storage.disk import File

# Deleted files that may be held open at once: what else has to be sent of one is gone.
MAX_HELD = 16


class HeldFile:
    """A file that has no name any more; closed when nothing of it is to be sent."""

    count = 0  # of this process

    def __init__(self, file: File) -> None:
        self._file = file
        HeldFile.count += 1

    def read(self, position: int, length: int) -> bytes:
        return self._file.read(position, length)

    def __del__(self) -> None:
        HeldFile.count -= 1
        self._file.close()


class _Source:
    """The file of a segment, as the slices that were taken of it at one time have it."""

    __slots__ = ("__weakref__", "file", "sound")

    def __init__(self, file: File) -> None:
        self.file: File | HeldFile = file
        self.sound: int | None = None  # bytes before this are what they were; None: all are


class FileSlice:
    """`len` bytes of a file."""

    __slots__ = ("_size", "_source", "_start")

    def __init__(self, source: _Source, start: int, size: int) -> None:
        self._source = source
        self._start = start
        self._size = size

    def __len__(self) -> int:
        return self._size

    def read(self, position: int, length: int) -> bytes | None:
        """So many bytes of it; None: they are not what they were any more."""
        source, start = self._source, self._start + position
        if source.sound is not None and self._start + self._size > source.sound:
            return None
        data = source.file.read(start, length)
        return data if len(data) == length else None


class Slices:
    """Those of one segment that are still to be sent."""

    __slots__ = ("_sources",)

    def __init__(self) -> None:
        # Most segments never have one, and a set of weak references is large.
        self._sources: WeakSet[_Source] | tuple[()] = ()

    def take(self, file: File, start: int, size: int) -> FileSlice:
        source = next((each for each in self._sources if each.sound is None), None)
        if source is None:
            source = _Source(file)
            self._sources = self._sources or WeakSet()
            self._sources.add(source)
        return FileSlice(source, start, size)

    def moved(self, file: File) -> None:
        """The same bytes are in this one from now on."""
        for source in self._sources:
            source.file = file

    def cut(self, size: int) -> None:
        """The file is about to end there."""
        for source in self._sources:
            source.sound = size if source.sound is None else min(source.sound, size)

    def must_be_held(self) -> bool:
        """May the file not be closed, which is about to be deleted? If it may, nothing is sent of
        it any more."""
        if not self._sources:
            return False
        if HeldFile.count < MAX_HELD:
            return True
        self.cut(0)
        return False

    def hold(self, file: File) -> None:
        held = HeldFile(file)
        for source in self._sources:
            source.file = held
