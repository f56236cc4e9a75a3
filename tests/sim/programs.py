"""Small random programs of system calls and power cuts, for two kinds of file system.

Each name of `Calls` is one or two system calls of the real file system, and a method of the
simulated one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Protocol, assert_never

from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.disk.filesystem import Descriptor
from chaos.cluster.sim.disk.journal import PAGE

State = Mapping[str, bytes | None]  # what a path holds; None: it is a directory

# Within a page, to its end, over it, and over several.
SIZES = (1, 100, 1000, 3000, PAGE, 5000, 6000, 2 * PAGE, 9000, 3 * PAGE)
PLACES = ("a", "b", "c", "d/a", "d/b", "d/c")


class Calls(Protocol):
    def open(self, path: str, *, create: bool = False) -> Descriptor: ...
    def close(self, descriptor: Descriptor) -> None: ...
    def size(self, descriptor: Descriptor) -> int: ...
    def write(self, descriptor: Descriptor, position: int, data: bytes) -> None: ...
    def truncate(self, descriptor: Descriptor, size: int) -> None: ...
    def fsync(self, descriptor: Descriptor) -> None: ...
    def fdatasync(self, descriptor: Descriptor) -> None: ...
    def fsync_directory(self, path: str) -> None: ...
    def mkdir(self, path: str) -> None: ...
    def rename(self, old: str, new: str) -> None: ...
    def unlink(self, path: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Append:
    """One write at the end; the file is made where there is none."""

    path: str
    byte: int
    count: int


@dataclass(frozen=True, slots=True)
class Truncate:
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Fsync:
    path: str


@dataclass(frozen=True, slots=True)
class Fdatasync:
    path: str


@dataclass(frozen=True, slots=True)
class FsyncDirectory:
    path: str


@dataclass(frozen=True, slots=True)
class Rename:
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Unlink:
    path: str


@dataclass(frozen=True, slots=True)
class Mkdir:
    path: str


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep it open until the power is cut, whatever happens to its name."""

    path: str


@dataclass(frozen=True, slots=True)
class PowerCut:
    mode: PowerCutMode
    seed: str


Operation = Append | Truncate | Fsync | Fdatasync | FsyncDirectory | Rename | Unlink | Mkdir | Hold
DRAWN: tuple[tuple[type[Operation], int], ...] = (
    (Append, 8),
    (Truncate, 2),
    (Fsync, 3),
    (Fdatasync, 3),
    (FsyncDirectory, 1),
    (Rename, 3),
    (Unlink, 1),
    (Mkdir, 1),
    (Hold, 1),
)


def perform(calls: Calls, operation: Operation) -> None:
    match operation:
        case FsyncDirectory(path):
            calls.fsync_directory(path)
        case Rename(old, new):
            calls.rename(old, new)
        case Unlink(path):
            calls.unlink(path)
        case Mkdir(path):
            calls.mkdir(path)
        case Hold(path):
            calls.open(path)
        case Append() | Truncate() | Fsync() | Fdatasync():
            descriptor = calls.open(operation.path, create=isinstance(operation, Append))
            _perform_on_file(calls, descriptor, operation)
            calls.close(descriptor)
        case _:
            assert_never(operation)


def _perform_on_file(
    calls: Calls, descriptor: Descriptor, operation: Append | Truncate | Fsync | Fdatasync
) -> None:
    match operation:
        case Append(_, byte, count):
            calls.write(descriptor, calls.size(descriptor), bytes([byte]) * count)
        case Truncate(_, size):
            calls.truncate(descriptor, size)
        case Fsync():
            calls.fsync(descriptor)
        case Fdatasync():
            calls.fdatasync(descriptor)
        case _:
            assert_never(operation)


@dataclass(slots=True)
class Program:
    """Operations drawn one after the other, each of which will succeed, below `home`."""

    home: str
    rng: Random
    sizes: dict[str, int] = field(default_factory=dict)  # of the files that are there
    has_directory: bool = False
    drawn: int = 0

    def see(self, state: State) -> None:
        """What a power cut left."""
        start = f"{self.home}/"
        below = {
            path.removeprefix(start): content
            for path, content in state.items()
            if path.startswith(start)
        }
        self.sizes = {path: len(it) for path, it in below.items() if it is not None}
        self.has_directory = "d" in below

    def draw(self) -> Operation:
        self.drawn += 1
        kinds, weights = zip(*DRAWN, strict=True)
        while True:
            operation = self._draw(self.rng.choices(kinds, weights)[0])
            if operation is not None:
                return operation

    def _draw(self, kind: type[Operation]) -> Operation | None:
        """None: not now."""
        if kind is Append:
            path = self._some_file() if self.rng.random() < 0.8 else None
            return self._append(path or self._anywhere())
        if kind is FsyncDirectory:
            inner = self.has_directory and self.rng.random() < 0.5
            return FsyncDirectory(f"{self.home}/d" if inner else self.home)
        if kind is Mkdir:
            made = None if self.has_directory else Mkdir(f"{self.home}/d")
            self.has_directory = True
            return made
        path = self._some_file()
        return self._draw_on_file(kind, path) if path else None

    def _draw_on_file(self, kind: type[Operation], path: str) -> Operation:
        target = f"{self.home}/{path}"
        if kind is Truncate:
            self.sizes[path] = self._smaller(self.sizes[path])
            return Truncate(target, self.sizes[path])
        if kind is Rename:
            new = self._anywhere()
            self.sizes[new] = self.sizes.pop(path)
            return Rename(target, f"{self.home}/{new}")
        if kind is Unlink:
            del self.sizes[path]
            return Unlink(target)
        if kind is Hold:
            return Hold(target)
        return Fsync(target) if kind is Fsync else Fdatasync(target)

    def _append(self, path: str) -> Append:
        count = self.rng.choice(SIZES)
        self.sizes[path] = self.sizes.get(path, 0) + count
        return Append(f"{self.home}/{path}", self.drawn, count)

    def _smaller(self, size: int) -> int:
        """Anywhere interesting: also to the same size."""
        near = (0, size // 2, size // PAGE * PAGE, size - 10, size - PAGE - 400, size)
        return max(0, self.rng.choice(near))

    def _some_file(self) -> str | None:
        return self.rng.choice(sorted(self.sizes)) if self.sizes else None

    def _anywhere(self) -> str:
        return self.rng.choice(PLACES if self.has_directory else PLACES[:3])


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What was done, how the power was cut, and what was left."""

    operations: tuple[Operation, ...]
    cut: PowerCut
    left: State

    def files(self) -> dict[str, bytes]:
        return {path: it for path, it in self.left.items() if it is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A fresh directory, which is durable, and one or more rounds below it."""

    root: str
    homes: tuple[str, ...]  # of the programs that ran side by side
    rounds: tuple[Round, ...] = ()

    def then(self, latest: Round) -> "Observation":
        return replace(self, rounds=(*self.rounds, latest))
