"""The node's disk over a directory of a real file system."""

import os
from pathlib import Path

from node.lazy_dataclass import dataclass


@dataclass(slots=True)
class RealFile:
    """An open file, by descriptor: unbuffered, straight into the page cache."""

    descriptor: int
    length: int

    def size(self) -> int:
        return self.length

    def append(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.pwrite(self.descriptor, view, self.length)
            self.length += written
            view = view[written:]

    def read(self, position: int, length: int) -> bytes:
        data = os.pread(self.descriptor, length, position)
        wanted = min(length, max(self.length - position, 0))
        while len(data) < wanted:
            more = os.pread(self.descriptor, wanted - len(data), position + len(data))
            if not more:
                break
            data += more
        return data

    def truncate(self, size: int) -> None:
        assert size <= self.length
        os.ftruncate(self.descriptor, size)
        self.length = size

    def flush(self) -> None:
        os.fdatasync(self.descriptor)

    def close(self) -> None:
        os.close(self.descriptor)


def open_to_read(path: Path) -> RealFile:
    """An existing file, for reading only: any other operation raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return RealFile(descriptor, os.fstat(descriptor).st_size)


@dataclass(frozen=True, slots=True)
class RealDisk:
    """A `Disk` in `root`, which must exist."""

    root: Path

    def open(self, path: str) -> RealFile:
        target = self.root / path
        descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        # Also if it exists: the process that made it may have been killed before this line.
        _sync_directory(target.parent)
        return RealFile(descriptor, os.fstat(descriptor).st_size)

    def reopen(self, path: str) -> RealFile:
        descriptor = os.open(f"{self.root}/{path}", os.O_RDWR | os.O_CLOEXEC)
        return RealFile(descriptor, os.fstat(descriptor).st_size)

    def exists(self, path: str) -> bool:
        return (self.root / path).exists()

    def names(self, directory: str) -> list[str]:
        try:
            return sorted(os.listdir(f"{self.root}/{directory}"))  # noqa: PTH208 - of each log
        except (FileNotFoundError, NotADirectoryError):
            return []

    def make_directory(self, *paths: str) -> None:
        parents: dict[Path, None] = {}
        for path in paths:
            target = self.root
            for part in Path(path).parts:
                parents[target] = None
                target = target / part
                target.mkdir(exist_ok=True)
        for parent in parents:
            _sync_directory(parent)

    def read_all(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def read(self, path: str, position: int, length: int) -> bytes:
        file = open_to_read(self.root / path)
        try:
            return file.read(position, length)
        finally:
            file.close()

    def replace(self, path: str, data: bytes) -> None:
        target = self.root / path
        temporary = target.with_name(target.name + ".tmp")
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        _sync_directory(target.parent)

    def put(self, path: str, data: bytes) -> None:
        (self.root / path).write_bytes(data)

    def sync(self, path: str) -> None:
        descriptor = os.open(self.root / path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)

    def rename(self, old: str, new: str) -> None:
        # Called once a flush: making Paths would take longer than the call.
        os.rename(f"{self.root}/{old}", f"{self.root}/{new}")  # noqa: PTH104

    def sync_names(self, directory: str) -> None:
        _sync_directory(self.root / directory)

    def remove(self, *paths: str) -> None:
        for path in paths:
            (self.root / path).unlink()
        _sync_directory((self.root / paths[0]).parent)


def _sync_directory(directory: Path) -> None:
    """Make the names in `directory` durable: fsync of a file says nothing about its name."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
