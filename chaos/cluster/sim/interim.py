"""A disk that forgets what was not flushed. INTERIM: until filesystem.py and disk.py are there."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from chaos.cluster.interface import PowerCutMode


@dataclass(slots=True)
class _Inode:
    cached: bytearray = field(default_factory=bytearray)
    durable: bytes = b""


@dataclass(slots=True)
class FileSystem:
    before: Callable[[], None] = lambda: None
    lying: bool = False
    lies: int = 0
    inodes: dict[str, _Inode] = field(default_factory=dict)
    directories: dict[str, None] = field(default_factory=lambda: {"": None})

    def power_cut(self, mode: PowerCutMode, rng: random.Random) -> None:
        del mode, rng
        for inode in self.inodes.values():
            inode.cached = bytearray(inode.durable)

    def files(self) -> Mapping[str, bytes]:
        return {path: bytes(inode.cached) for path, inode in sorted(self.inodes.items())}


@dataclass(slots=True)
class SimFile:
    fs: FileSystem
    inode: _Inode

    def size(self) -> int:
        return len(self.inode.cached)

    def append(self, data: bytes) -> None:
        self.fs.before()
        self.inode.cached += data

    def read(self, position: int, length: int) -> bytes:
        return bytes(self.inode.cached[position : position + length])

    def truncate(self, size: int) -> None:
        self.fs.before()
        del self.inode.cached[size:]

    def flush(self) -> None:
        self.fs.before()
        if self.fs.lying:
            self.fs.lies += 1
        else:
            self.inode.durable = bytes(self.inode.cached)

    def close(self) -> None:
        pass


@dataclass(slots=True)
class SimDisk:
    fs: FileSystem
    root: str

    def _at(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root

    def open(self, path: str) -> SimFile:
        full = self._at(path)
        if full.rpartition("/")[0] not in self.fs.directories:
            raise FileNotFoundError(path)
        self.fs.before()
        return SimFile(self.fs, self.fs.inodes.setdefault(full, _Inode()))

    def exists(self, path: str) -> bool:
        return self._at(path) in self.fs.inodes or self._at(path) in self.fs.directories

    def names(self, directory: str) -> list[str]:
        full = self._at(directory)
        paths = sorted([*self.fs.inodes, *self.fs.directories])
        return [p.rpartition("/")[2] for p in paths if p and p.rpartition("/")[0] == full]

    def make_directory(self, path: str) -> None:
        full = self._at(path)
        while full not in self.fs.directories:
            self.fs.before()
            self.fs.directories[full] = None
            full = full.rpartition("/")[0]

    def read_all(self, path: str) -> bytes:
        if self._at(path) not in self.fs.inodes:
            raise FileNotFoundError(path)
        return bytes(self.fs.inodes[self._at(path)].cached)

    def replace(self, path: str, data: bytes) -> None:
        file = self.open(path + ".tmp")
        file.truncate(0)
        file.append(data)
        file.flush()
        self.fs.before()
        self.fs.inodes[self._at(path)] = self.fs.inodes.pop(self._at(path + ".tmp"))

    def remove(self, path: str) -> None:
        self.fs.before()
        del self.fs.inodes[self._at(path)]
