"""Whether the simulated file system may leave all that a real one does: both run the same programs.

A program is a few appends, truncates, syncs, renames, unlinks and mkdirs, and power cuts between
them. The real side is the project's own: a loop-device ext4, formatted, mounted and cut as a node's
disk is in containers.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Protocol, assert_never

from chaos.cluster.docker import agent_program as agent
from chaos.cluster.docker.disks import MOUNT_OPTIONS
from chaos.cluster.docker.power import FLAGS
from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.filesystem import FileSystem
from chaos.cluster.sim.journal import PAGE

State = Mapping[str, bytes | None]  # what a path holds; None: it is a directory


@dataclass(frozen=True, slots=True)
class Append:
    """Creates the file where there is none."""

    path: str
    data: bytes

    def __str__(self) -> str:
        return f"append {self.path} {len(self.data)}"


@dataclass(frozen=True, slots=True)
class Truncate:
    path: str
    size: int

    def __str__(self) -> str:
        return f"truncate {self.path} {self.size}"


@dataclass(frozen=True, slots=True)
class Sync:
    path: str
    data_only: bool

    def __str__(self) -> str:
        return f"{'fdatasync' if self.data_only else 'fsync'} {self.path}"


@dataclass(frozen=True, slots=True)
class SyncDirectory:
    path: str

    def __str__(self) -> str:
        return f"fsync {self.path}/"


@dataclass(frozen=True, slots=True)
class Rename:
    old: str
    new: str

    def __str__(self) -> str:
        return f"rename {self.old} {self.new}"


@dataclass(frozen=True, slots=True)
class Unlink:
    path: str

    def __str__(self) -> str:
        return f"unlink {self.path}"


@dataclass(frozen=True, slots=True)
class Mkdir:
    path: str

    def __str__(self) -> str:
        return f"mkdir {self.path}"


@dataclass(frozen=True, slots=True)
class CutPower:
    mode: PowerCutMode
    seed: int

    def __str__(self) -> str:
        return f"cut {self.mode}"


Operation = Append | Truncate | Sync | SyncDirectory | Rename | Unlink | Mkdir
SIZES = (1, 100, 1000, 3000, 4096, 5000, 6000, 8192, 9000, 12288)


def draw_operation(fs: FileSystem, home: str, rng: Random, number: int) -> Operation:
    """One that will succeed; it is performed on `fs`."""
    files = sorted(f"{home}/{path}" for path in fs.files(home))
    directories = [home] + [d for d in (f"{home}/d",) if fs.exists(d)]
    kinds = ["append"] * 4 + ["new"]
    if files:
        kinds += ["truncate", "fsync", "fsync", "fdatasync", "fdatasync", "rename", "rename", "unlink"]
    kinds += ["syncdir"]
    if len(directories) == 1:
        kinds += ["mkdir"]
    kind = rng.choice(kinds)
    anywhere = f"{rng.choice(directories)}/{rng.choice('abc')}"
    match kind:
        case "append" | "new":
            path = rng.choice(files) if files and kind == "append" else anywhere
            size = rng.choice(SIZES)
            return Append(path, bytes([number]) * size)
        case "truncate":
            path = rng.choice(files)
            size = len(fs.files(home)[path.removeprefix(home + "/")])
            return Truncate(path, rng.choice((0, size // 2, size // PAGE * PAGE, max(size - 10, 0), size, max(size-4500,0))))
        case "fsync" | "fdatasync":
            return Sync(rng.choice(files), kind == "fdatasync")
        case "rename":
            return Rename(rng.choice(files), anywhere)
        case "unlink":
            return Unlink(rng.choice(files))
        case "syncdir":
            return SyncDirectory(rng.choice(directories))
        case _:
            return Mkdir(f"{home}/d")


class Side(Protocol):
    def perform(self, operation: Operation) -> None: ...


@dataclass
class Simulated:
    fs: FileSystem

    def perform(self, operation: Operation) -> None:
        fs = self.fs
        match operation:
            case Append(path, data):
                d = fs.open(path, create=True)
                fs.write(d, fs.size(d), data)
                fs.close(d)
            case Truncate(path, size):
                d = fs.open(path)
                fs.truncate(d, size)
                fs.close(d)
            case Sync(path, data_only):
                d = fs.open(path)
                (fs.fdatasync if data_only else fs.fsync)(d)
                fs.close(d)
            case SyncDirectory(path):
                fs.fsync_directory(path)
            case Rename(old, new):
                fs.rename(old, new)
            case Unlink(path):
                fs.unlink(path)
            case Mkdir(path):
                fs.mkdir(path)


@dataclass
class Real:
    root: Path
    device: str

    def perform(self, operation: Operation) -> None:
        match operation:
            case Append(path, data):
                with self.opened(path, os.O_RDWR | os.O_CREAT) as d:
                    assert os.pwrite(d, data, os.fstat(d).st_size) == len(data)
            case Truncate(path, size):
                with self.opened(path, os.O_RDWR) as d:
                    os.ftruncate(d, size)
            case Sync(path, data_only):
                with self.opened(path, os.O_RDWR) as d:
                    (os.fdatasync if data_only else os.fsync)(d)
            case SyncDirectory(path):
                with self.opened(path, os.O_RDONLY | os.O_DIRECTORY) as d:
                    os.fsync(d)
            case Rename(old, new):
                (self.root / old).rename(self.root / new)
            case Unlink(path):
                (self.root / path).unlink()
            case Mkdir(path):
                (self.root / path).mkdir()

    @contextmanager
    def opened(self, path: str, flags: int) -> Iterator[int]:
        d = os.open(self.root / path, flags | os.O_CLOEXEC, 0o644)
        try:
            yield d
        finally:
            os.close(d)

    def sync(self) -> None:
        agent.command("sync", "-f", str(self.root))

    def cut(self, mode: PowerCutMode, seed: str, home: str) -> None:
        if mode is PowerCutMode.TORN:
            agent.tear(os.getpid(), str(self.root / home), seed)
        agent.shutdown(os.getpid(), str(self.root), FLAGS[mode])
        self.unmount()
        self.mount()

    def unmount(self) -> None:
        agent.command("umount", str(self.root))
        agent.wait_gone(self.device)

    def mount(self) -> None:
        agent.command("mount", "-t", "ext4", "-o", MOUNT_OPTIONS, self.device, str(self.root))

    def state(self, home: str) -> State:
        base = self.root / home
        found = {str(at.relative_to(base)): None if at.is_dir() else at.read_bytes() for at in sorted(base.rglob("*"))}
        self.unmount()
        self.mount()
        return found


@contextmanager
def real_disk() -> Iterator[Real]:
    with tempfile.TemporaryDirectory() as scratch:
        image, root = Path(scratch) / "disk.img", Path(scratch) / "root"
        root.mkdir()
        with image.open("wb") as file:
            file.truncate(256 << 20)
        agent._format(image, 0, 0)
        device = agent.command("losetup", "-f", "--show", str(image))
        real = Real(root, device)
        try:
            real.mount()
            yield real
        finally:
            with suppress(agent.RefusedError):
                agent.command("umount", str(root))
            agent.wait_gone(device)
            agent.command("losetup", "-d", device)
