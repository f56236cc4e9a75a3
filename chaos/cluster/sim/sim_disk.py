"""The node's disk over a simulated file system, by exactly the system calls of the real one.

A call that raises leaves its descriptor open, until `FileSystem.close_all`: its process ends.
"""

from dataclasses import dataclass

from chaos.cluster.sim.filesystem import Descriptor, FileSystem


@dataclass(slots=True)
class SimFile:
    """An open file, by descriptor."""

    filesystem: FileSystem
    descriptor: Descriptor
    length: int

    def size(self) -> int:
        return self.length

    def append(self, data: bytes) -> None:
        self.filesystem.write(self.descriptor, self.length, data)
        self.length += len(data)

    def read(self, position: int, length: int) -> bytes:
        return self.filesystem.read(self.descriptor, position, length)

    def truncate(self, size: int) -> None:
        assert size <= self.length
        self.filesystem.truncate(self.descriptor, size)
        self.length = size

    def flush(self) -> None:
        self.filesystem.fdatasync(self.descriptor)

    def close(self) -> None:
        self.filesystem.close(self.descriptor)


@dataclass(frozen=True, slots=True)
class SimDisk:
    """A `Disk` in `root`, which must exist; "" is the file system's own."""

    filesystem: FileSystem
    root: str = ""

    def open(self, path: str) -> SimFile:
        target = self._at(path)
        descriptor = self.filesystem.open(target, create=True)
        self.filesystem.fsync_directory(_parent(target))
        return SimFile(self.filesystem, descriptor, self.filesystem.size(descriptor))

    def reopen(self, path: str) -> SimFile:
        descriptor = self.filesystem.open(self._at(path))
        return SimFile(self.filesystem, descriptor, self.filesystem.size(descriptor))

    def exists(self, path: str) -> bool:
        return self.filesystem.exists(self._at(path))

    def names(self, directory: str) -> list[str]:
        target = self._at(directory)
        return self.filesystem.names(target) if self.filesystem.is_directory(target) else []

    def make_directory(self, path: str) -> None:
        target = self.root
        for part in path.split("/"):
            parent, target = target, f"{target}/{part}" if target else part
            if not self.filesystem.exists(target):
                self.filesystem.mkdir(target)
            self.filesystem.fsync_directory(parent)

    def read_all(self, path: str) -> bytes:
        descriptor = self.filesystem.open(self._at(path))
        data = self.filesystem.read(descriptor, 0, self.filesystem.size(descriptor))
        self.filesystem.close(descriptor)
        return data

    def read(self, path: str, position: int, length: int) -> bytes:
        descriptor = self.filesystem.open(self._at(path))
        data = self.filesystem.read(descriptor, position, length)
        self.filesystem.close(descriptor)
        return data

    def replace(self, path: str, data: bytes) -> None:
        target = self._at(path)
        temporary = f"{target}.tmp"
        descriptor = self.filesystem.open(temporary, create=True, truncate=True)
        self.filesystem.write(descriptor, 0, data)
        self.filesystem.fsync(descriptor)
        self.filesystem.close(descriptor)
        self.filesystem.rename(temporary, target)
        self.filesystem.fsync_directory(_parent(target))

    def put(self, path: str, data: bytes) -> None:
        descriptor = self.filesystem.open(self._at(path), create=True, truncate=True)
        self.filesystem.write(descriptor, 0, data)
        self.filesystem.close(descriptor)

    def sync(self, path: str) -> None:
        descriptor = self.filesystem.open(self._at(path))
        self.filesystem.fdatasync(descriptor)
        self.filesystem.close(descriptor)

    def rename(self, old: str, new: str) -> None:
        self.filesystem.rename(self._at(old), self._at(new))

    def sync_names(self, directory: str) -> None:
        self.filesystem.fsync_directory(self._at(directory))

    def remove(self, *paths: str) -> None:
        for path in paths:
            self.filesystem.unlink(self._at(path))
        self.filesystem.fsync_directory(_parent(self._at(paths[0])))

    def _at(self, path: str) -> str:
        return f"{self.root}/{path}" if self.root and path else self.root + path


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
