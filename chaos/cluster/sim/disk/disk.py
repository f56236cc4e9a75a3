"""A simulated node's disk, with exactly the system calls of the real one; the harness's faults and
canary on it.

A call that raises leaves its descriptor open, until `FileSystem.close_all`: its process ends.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from chaos.cluster.fault_evidence import FORGOTTEN
from chaos.cluster.interface import DiskSickness, DiskTrouble, PowerCutMode
from chaos.cluster.sim.disk.filesystem import Descriptor, FileSystem
from chaos.cluster.sim.disk.journal import PAGE, DiskStep
from chaos.conditions import Conditions


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

    def make_directory(self, *paths: str) -> None:
        parents: dict[str, None] = {}
        for path in paths:
            target = self.root
            for part in path.split("/"):
                parents[target] = None
                target = f"{target}/{part}" if target else part
                if not self.filesystem.exists(target):
                    self.filesystem.mkdir(target)
        for parent in parents:
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


# The disk of a simulated machine, with the harness's faults and canary.


LOG_DIRECTORY = "kraft"  # other things lie beside it, as in containers
_CANARY = "canary"
_PAGES = 64  # of the canary: that a torn power cut keeps all of them does not happen
_SLOW_NS = 40_000_000
_STALLED_NS = 1_000_000_000
_WRITES_LEFT = 20  # at most, before one fails


@dataclass(frozen=True, slots=True, kw_only=True)
class LateFlush:
    """A flush during which the process goes on. Both in ns from its beginning."""

    synced_ns: int  # what was written by then is durable
    told_ns: int  # not earlier


class Drive:
    """`before` is called ahead of every step that changes the disk; it may raise. `others`: the log
    directories beside LOG_DIRECTORY."""

    def __init__(
        self,
        rng: random.Random,
        late_rng: random.Random,
        before: Callable[[], None],
        conditions: Conditions,
        others: Sequence[str] = (),
    ) -> None:
        self._rng = rng
        self._late_rng = late_rng
        self._late_flushes = conditions.late_flushes
        self._late_most_ns = conditions.late_most_us * 1000
        self._usual_ns = range(conditions.sync_least_us * 1000, conditions.sync_most_us * 1000)
        self._overwriting = b""
        self._overwritings = 0
        self.trouble: DiskTrouble | None = None
        self.sickness: DiskSickness | None = None
        self.files = FileSystem(before=lambda _: before())
        outer = SimDisk(self.files)
        outer.make_directory(LOG_DIRECTORY)
        outer.replace(_CANARY, _filled(b"synced long ago"))
        self.disk = SimDisk(self.files, LOG_DIRECTORY)
        self._others = others
        for name in others:
            outer.make_directory(name)

    def directory(self, name: str) -> SimDisk:
        """A log directory of its node. All are on this one disk, and forget together."""
        assert name in (LOG_DIRECTORY, *self._others), name
        return SimDisk(self.files, name)

    def go_wrong(self, trouble: DiskTrouble) -> None:
        """Syncs are slow, or are not done, until the power is cut."""
        self.trouble = trouble
        self.files.troubled_syncs = 0
        self._well()
        match trouble:
            case DiskTrouble.SLOW:
                self._make_slow(_SLOW_NS)
            case DiskTrouble.STALLED:
                self._make_slow(_STALLED_NS)
            case DiskTrouble.LYING:
                self._make_lie()
            case _:
                assert_never(trouble)

    def _make_slow(self, delay_ns: int) -> None:
        self.files.trouble.sync_delay_ns = delay_ns

    def _make_lie(self) -> None:
        self.files.trouble.lying = True

    def _well(self) -> None:
        self.files.trouble.sync_delay_ns = 0
        self.files.trouble.lying = False

    def sicken(self, sickness: DiskSickness) -> None:
        """Until `mend`. An error meets a write: after a sync that failed, what a process reads is
        not what the disk has, which no node can know that only reads (PostgreSQL's fsyncgate)."""
        self.sickness = sickness
        trouble = self.files.trouble
        match sickness:
            case DiskSickness.SLOW:
                self.files.troubled_syncs = 0
                trouble.sync_delay_ns = _SLOW_NS
            case DiskSickness.ERROR:
                trouble.failing[DiskStep.WRITE] = self._rng.randrange(_WRITES_LEFT)
            case DiskSickness.FULL:
                trouble.capacity = 0

    def mend(self) -> int:
        """Be well again; how many syncs were slow meanwhile."""
        slow = self.files.troubled_syncs if self.sickness is DiskSickness.SLOW else 0
        self.sickness = None
        trouble = self.files.trouble
        trouble.sync_delay_ns, trouble.capacity = 0, None
        trouble.failing.clear()
        return slow

    @property
    def troubled(self) -> int:
        """How many syncs went wrong since they began to."""
        return self.files.troubled_syncs if self.trouble is not None else 0

    def sync_ns(self) -> int:
        """How long the next sync takes; the caller waits before it is done."""
        return (
            self._rng.randrange(self._usual_ns.start, self._usual_ns.stop)
            + self.files.trouble.sync_delay_ns
        )

    def late_flush(self) -> LateFlush | None:
        """None: the next flush is waited for, as long as `sync_ns` says."""
        rng = self._late_rng
        if rng.random() >= self._late_flushes:
            return None
        told_ns = rng.randrange(self._late_most_ns) + self.files.trouble.sync_delay_ns
        return LateFlush(synced_ns=rng.randint(0, told_ns), told_ns=told_ns)

    def overwrite_canary(self, token: str) -> bool:
        """In place, without a sync; whether the new bytes can be read.

        Each time with another text: a torn cut leaves most pages of the last one, and what is
        overwritten by itself cannot be seen to be forgotten.
        """
        self._overwritings += 1
        self._overwriting = _filled(f"{token}, number {self._overwritings}".encode())
        descriptor = self.files.open(_CANARY)
        self.files.write(descriptor, 0, self._overwriting)
        self.files.close(descriptor)
        return self._read_canary() == self._overwriting

    def canary(self) -> str:
        """What is left of the last overwriting: FORGOTTEN if any of it is gone."""
        return "new" if self._read_canary() == self._overwriting else FORGOTTEN

    def cut_power(self, mode: PowerCutMode) -> None:
        """Forget what `mode` says; no trouble outlives it."""
        self.trouble = None
        self._well()
        self.files.power_cut(mode, self._rng)

    def log_directory(self) -> Mapping[str, bytes]:
        """The node's files, by their paths in its log directory; those of others lie below, as a
        disk of a container is saved."""
        beside = {
            f"{name}/{path}": content
            for name in self._others
            for path, content in self.files.files(name).items()
        }
        return {**self.files.files(LOG_DIRECTORY), **beside}

    def _read_canary(self) -> bytes:
        return SimDisk(self.files).read_all(_CANARY)


def _filled(text: bytes) -> bytes:
    return text.ljust(PAGE) * _PAGES
