"""A disk in memory with a page cache a file, whose power can be cut before any of its steps.

Names are durable as `Disk` says. Content is in the page cache until a flush; `power_off` keeps of
it what the kind of power cut keeps.
"""

from dataclasses import dataclass, field
from enum import Enum, auto
from random import Random

PAGE = 4096


class PowerCut(Exception):
    """The power went while the disk was at work."""


class Keeps(Enum):
    """What a power cut leaves of unflushed content."""

    NOTHING = auto()  # the last flushed content and size
    NUL_TAIL = auto()  # the new size without its data: zeros after the flushed content
    PREFIX = auto()  # the first of the bytes appended, cut anywhere
    PAGES = auto()  # any of the changed pages, zeros or old content in the others


@dataclass(slots=True)
class _Inode:
    cached: bytearray = field(default_factory=bytearray)
    durable: bytes = b""


@dataclass(slots=True)
class SimulatedFile:
    disk: "SimulatedDisk"
    inode: _Inode

    def size(self) -> int:
        return len(self.inode.cached)

    def append(self, data: bytes) -> None:
        self.disk.step()
        self.inode.cached += data

    def read(self, position: int, length: int) -> bytes:
        return bytes(self.inode.cached[position : position + length])

    def truncate(self, size: int) -> None:
        self.disk.step()
        assert size <= len(self.inode.cached)
        del self.inode.cached[size:]

    def flush(self) -> None:
        self.disk.step()
        self.inode.durable = bytes(self.inode.cached)

    def close(self) -> None:
        pass


@dataclass(slots=True)
class SimulatedDisk:
    """`steps_left`: how many more steps the power lasts; None for ever."""

    steps_left: int | None = None
    steps: int = 0
    files: dict[str, _Inode] = field(default_factory=dict)
    directories: set[str] = field(default_factory=lambda: {""})

    def step(self) -> None:
        """Another change of the disk is about to happen, unless the power goes first."""
        if self.steps_left is not None:
            if self.steps_left == 0:
                raise PowerCut
            self.steps_left -= 1
        self.steps += 1

    def open(self, path: str) -> SimulatedFile:
        self._check_parent(path)
        if path not in self.files:
            self.step()
            self.files[path] = _Inode()
        return SimulatedFile(self, self.files[path])

    def exists(self, path: str) -> bool:
        return path in self.files or path in self.directories

    def names(self, directory: str) -> list[str]:
        paths = sorted(self.files.keys() | self.directories - {""})
        return [path.split("/")[-1] for path in paths if _parent(path) == directory]

    def make_directory(self, path: str) -> None:
        while path not in self.directories:
            self.step()
            self.directories.add(path)
            path = _parent(path)

    def read_all(self, path: str) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return bytes(self.files[path].cached)

    def replace(self, path: str, data: bytes) -> None:
        """The temporary file, its content, its fsync and the rename are steps of their own."""
        temporary = self.open(path + ".tmp")
        temporary.truncate(0)
        temporary.append(data)
        temporary.flush()
        self.step()
        self.files[path] = self.files.pop(path + ".tmp")

    def remove(self, path: str) -> None:
        self.step()
        del self.files[path]

    def power_off(self, rng: Random, keeps: Keeps = Keeps.NOTHING) -> None:
        """Forget, and come back with the power on."""
        self.steps_left = None
        for _, inode in sorted(self.files.items()):
            inode.durable = _survivor(inode, rng, keeps)
            inode.cached = bytearray(inode.durable)

    def _check_parent(self, path: str) -> None:
        if _parent(path) not in self.directories:
            raise FileNotFoundError(path)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _survivor(inode: _Inode, rng: Random, keeps: Keeps) -> bytes:
    old, new = inode.durable, bytes(inode.cached)
    if keeps is Keeps.NOTHING or old == new:
        return old
    if keeps is Keeps.PAGES:
        return _mixed_pages(old, new, rng)
    common = _common_prefix(old, new)
    if common < len(old):
        return old  # cut, and not flushed: the old content is back
    grown = rng.randint(0, len(new) - len(old))
    return old + (bytes(grown) if keeps is Keeps.NUL_TAIL else new[len(old) : len(old) + grown])


def _mixed_pages(old: bytes, new: bytes, rng: Random) -> bytes:
    size = rng.choice((len(old), len(new)))
    padded = old[:size].ljust(size, b"\0")
    pages = []
    for start in range(0, size, PAGE):
        source = new if rng.random() < 0.5 else padded
        pages.append(source[start : min(start + PAGE, size)].ljust(min(PAGE, size - start), b"\0"))
    return b"".join(pages)


def _common_prefix(left: bytes, right: bytes) -> int:
    length = min(len(left), len(right))
    return next((at for at in range(length) if left[at] != right[at]), length)
