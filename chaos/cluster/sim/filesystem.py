"""A file system in memory that forgets as ext4 with noauto_da_alloc does when the power goes.

A file's content is in its page cache; a page that is written back goes to its block on the disk,
and gets one first if it has none (delayed allocation). Names, sizes and the places of pages are
metadata and go through the `journal`. fsync writes the file's dirty pages back, then commits the
journal, whole, if it holds anything of this inode: so it makes earlier renames durable as well, and
a second fsync makes nothing durable. What a power cut leaves is decided in `power_cut`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from errno import EBADF, EEXIST, EIO, EISDIR, ENOENT, ENOSPC, ENOTDIR, EROFS
from os import strerror
from random import Random
from typing import NewType

from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.journal import (
    PAGE,
    ROOT,
    Block,
    Cut,
    Event,
    Freed,
    Grown,
    Inode,
    Journal,
    Made,
    Metadata,
    Moved,
    Placed,
    Unlinked,
    ordered_pages,
)

Descriptor = NewType("Descriptor", int)

TORN_SHARE = 0.7  # of the dirty pages, which survive a torn cut


class Step(Enum):
    """What changes the file system, a step at a time; a process may die before each."""

    CREATE = auto()
    MKDIR = auto()
    WRITE = auto()  # of what lies in one page
    TRUNCATE = auto()
    RENAME = auto()
    UNLINK = auto()
    SYNC = auto()  # its pages are written back
    COMMIT = auto()  # of the journal, as the second half of a sync


@dataclass(slots=True)
class CachedFile:
    """A file as processes see it. `dirty`: pages that the disk does not have as they are here."""

    data: bytearray = field(default_factory=bytearray)
    dirty: set[int] = field(default_factory=set)

    def page(self, page: int) -> bytes:
        return bytes(self.data[page * PAGE : (page + 1) * PAGE])


@dataclass(slots=True)
class Trouble:
    """What is wrong with the disk. Nothing at first."""

    sync_delay_ns: int = 0  # each sync takes so much longer
    lying: bool = False  # syncs are acknowledged and not done
    read_only: bool = False
    capacity: int | None = None  # pages that fit
    # How many more of these steps succeed before one fails with EIO.
    failing: dict[Step, int] = field(default_factory=dict)


@dataclass(slots=True)
class FileSystem:
    """Paths have `/` between parts; the root is "". Methods raise OSError as system calls do.

    `before` is called ahead of each step; what it raises leaves the step undone. `sync_cost_ns`
    tells how long the disk takes for a sync that has something to do.
    """

    before: Callable[[Step], None] = lambda _: None
    sync_cost_ns: Callable[[], int] = lambda: 0
    trouble: Trouble = field(default_factory=Trouble)
    waited_ns: int = 0  # by all syncs; nobody slept
    troubled_syncs: int = 0  # that were slow or not done
    journal: Journal = field(default_factory=Journal)
    cached: dict[Inode, CachedFile] = field(default_factory=dict)
    _open: dict[Descriptor, Inode] = field(default_factory=dict)
    _unread: set[Inode] = field(default_factory=set)  # nobody looked at it since the mount
    _last_descriptor: int = 2
    _last_inode: int = ROOT

    # Files

    def open(self, path: str, *, create: bool = False, truncate: bool = False) -> Descriptor:
        directory, name = self._place(path)
        inode = self.journal.running.directories[directory].get(name)
        if inode is None:
            if not create:
                raise _error(ENOENT, path)
            inode = self._make(directory, name, Step.CREATE)
        elif inode not in self.cached:
            raise _error(EISDIR, path)
        self._look_at(inode)
        self._last_descriptor += 1
        descriptor = Descriptor(self._last_descriptor)
        self._open[descriptor] = inode
        if truncate:
            self.truncate(descriptor, 0)
        return descriptor

    def close(self, descriptor: Descriptor) -> None:
        inode = self._inode(descriptor)
        del self._open[descriptor]
        self._free(inode)

    def size(self, descriptor: Descriptor) -> int:
        return len(self.cached[self._inode(descriptor)].data)

    def read(self, descriptor: Descriptor, position: int, length: int) -> bytes:
        return bytes(self.cached[self._inode(descriptor)].data[position : position + length])

    def write(self, descriptor: Descriptor, position: int, data: bytes) -> None:
        """Over what is there, or at the end; a page at a time."""
        inode = self._inode(descriptor)
        assert position <= len(self.cached[inode].data)
        written = 0
        while written < len(data):
            room = PAGE - (position + written) % PAGE
            goes_on = room < len(data) - written
            piece = data[written : written + room]
            self._write_in_page(inode, position + written, piece, goes_on=goes_on)
            written += room

    def truncate(self, descriptor: Descriptor, size: int) -> None:
        inode = self._inode(descriptor)
        self._step(Step.TRUNCATE)
        file = self.cached[inode]
        assert size <= len(file.data)
        del file.data[size:]
        file.dirty = {page for page in file.dirty if page * PAGE < size}
        on_disk = self.journal.running.files[inode].size
        self.journal.record(Cut(inode, size), inode, data=inode if size != on_disk else None)
        last = size // PAGE
        if size % PAGE and last in self.journal.running.files[inode].blocks:
            file.dirty.add(last)  # its end is zeros now

    def fsync(self, descriptor: Descriptor) -> None:
        inode = self._inode(descriptor)
        self._sync(inode, self.journal.touched)

    def fdatasync(self, descriptor: Descriptor) -> None:
        """Commits the journal only for a size or the place of a page."""
        inode = self._inode(descriptor)
        self._sync(inode, self.journal.touched_data)

    # Names

    def mkdir(self, path: str) -> None:
        directory, name = self._place(path)
        if name in self.journal.running.directories[directory]:
            raise _error(EEXIST, path)
        self._make(directory, name, Step.MKDIR)

    def rename(self, old: str, new: str) -> None:
        """Of a file; atomic."""
        source, old_name = self._place(old)
        target, new_name = self._place(new)
        inode = self._file(source, old_name, old)
        replaced = self.journal.running.directories[target].get(new_name)
        if replaced == inode:
            return
        if replaced is not None:
            self._file(target, new_name, new)
        self._step(Step.RENAME)
        moved = Moved(source, old_name, target, new_name)
        self.journal.record(moved, source, target, inode)
        if replaced is not None:
            self.journal.touched.add(replaced)
            self._free(replaced)

    def unlink(self, path: str) -> None:
        directory, name = self._place(path)
        inode = self._file(directory, name, path)
        self._step(Step.UNLINK)
        self.journal.record(Unlinked(directory, name), directory, inode)
        self._free(inode)

    def fsync_directory(self, path: str) -> None:
        """Commits the journal whatever it holds, as ext4 does for all but files."""
        directory = self._directory(path)
        self._sync(directory, {directory})

    def exists(self, path: str) -> bool:
        inode = self._find(path)
        if inode is not None:
            self._look_at(inode)
        return inode is not None

    def names(self, directory: str) -> list[str]:
        """Sorted. Raises where there is no such directory."""
        return sorted(self.journal.running.directories[self._directory(directory)])

    def is_directory(self, path: str) -> bool:
        return self._find(path) in self.journal.running.directories

    def files(self, directory: str = "") -> dict[str, bytes]:
        """The content of every file below, by its path from there."""
        start = f"{directory}/" if directory else ""
        return {
            path.removeprefix(start): bytes(self.cached[inode].data)
            for path, inode in self.journal.running.tree().items()
            if path.startswith(start) and inode in self.cached
        }

    # The power

    def power_cut(self, mode: PowerCutMode, rng: Random) -> None:
        """Forget what the mode says, and be mounted again; nothing is open then."""
        if mode is PowerCutMode.TORN:
            self._write_back_some(rng)
        commits = self._choose_commits(mode, rng)
        self._write_back_ordered(self.journal.pending[:commits])
        found = self.journal.after_cut(commits)
        for _, metadata in sorted(found.files.items()):
            metadata.size = metadata.least = rng.choice((metadata.least, metadata.size))
        self.journal.mount(found)
        self._open.clear()
        self._unread = set(self.journal.running.files)
        self.cached = {
            inode: CachedFile(bytearray(on_disk(self.journal.running, inode)))
            for inode in self.journal.running.files
        }

    def close_all(self) -> None:
        """The process is gone, and with it every descriptor."""
        for descriptor in sorted(self._open):
            self.close(descriptor)

    def _choose_commits(self, mode: PowerCutMode, rng: Random) -> int:
        """How many of the pending events the journal holds."""
        if mode is PowerCutMode.LOSE_ALL:
            return 0
        everything = len(self.journal.pending)
        if mode is PowerCutMode.LOSE_DATA or rng.random() < 0.5:
            return everything
        return rng.randint(0, everything)

    def _write_back_some(self, rng: Random) -> None:
        for inode, file in sorted(self.cached.items()):
            for page in sorted(file.dirty):
                if rng.random() < TORN_SHARE:
                    self._write_back(inode, page)

    def _write_back_ordered(self, events: list[Event]) -> None:
        for inode, page in ordered_pages(events):
            file = self.cached.get(inode)
            placed = inode in self.journal.running.files and (
                page in self.journal.running.files[inode].blocks
            )
            if file is not None and page in file.dirty and placed:
                self._write_back(inode, page)

    # Steps

    def _step(self, step: Step) -> None:
        self.before(step)
        if self.trouble.read_only:
            raise OSError(EROFS, strerror(EROFS))
        left = self.trouble.failing.get(step)
        if left == 0:
            del self.trouble.failing[step]
            raise OSError(EIO, strerror(EIO))
        if left is not None:
            self.trouble.failing[step] = left - 1

    def _make(self, directory: Inode, name: str, step: Step) -> Inode:
        self._step(step)
        self._last_inode += 1
        inode = Inode(self._last_inode)
        if step is Step.CREATE:
            self.cached[inode] = CachedFile()
        made = Made(directory, name, inode, step is Step.MKDIR)
        self.journal.record(made, directory, data=inode)
        return inode

    def _write_in_page(self, inode: Inode, position: int, data: bytes, *, goes_on: bool) -> None:
        self._step(Step.WRITE)
        file = self.cached[inode]
        metadata = self.journal.running.files[inode]
        page, end = position // PAGE, position + len(data)
        if page * PAGE >= len(file.data):
            self._check_room()
        file.data[position:end] = data
        file.dirty.add(page)
        self.journal.touched.add(inode)  # the time of its last change
        if end > metadata.size and page in metadata.blocks:
            # One large folio for this page and the next: then it counts with the next one only.
            least = metadata.least if goes_on else end
            self.journal.record(Grown(inode, end, least), data=inode)

    def _check_room(self) -> None:
        capacity = self.trouble.capacity
        if capacity is None:
            return
        used = sum(-(-len(file.data) // PAGE) for file in self.cached.values())
        if used >= capacity:
            raise OSError(ENOSPC, strerror(ENOSPC))

    def _sync(self, inode: Inode, touched: set[Inode]) -> None:
        self.waited_ns += self.trouble.sync_delay_ns
        self.troubled_syncs += self.trouble.sync_delay_ns > 0 or self.trouble.lying
        if self.trouble.lying:
            return
        file = self.cached.get(inode)
        try:
            self._step(Step.SYNC)
        except OSError:
            if file is not None:
                file.dirty.clear()  # as Linux does: the next sync will not find them
            raise
        if file is not None:
            for page in sorted(file.dirty):
                self._write_back(inode, page)
        if inode in touched:
            self._step(Step.COMMIT)
            self._write_back_ordered(self.journal.pending)
            self.journal.commit()
            self.waited_ns += self.sync_cost_ns()

    def _write_back(self, inode: Inode, page: int) -> None:
        file = self.cached[inode]
        metadata = self.journal.running.files[inode]
        block = metadata.blocks.get(page)
        if block is None:
            block = Block()
            self.journal.record(Placed(inode, page, block), data=inode)
            end = min((page + 1) * PAGE, len(file.data))
            if end > metadata.size:
                self.journal.record(Grown(inode, end, end), data=inode)
        block.content = file.page(page)
        file.dirty.discard(page)

    def _free(self, inode: Inode) -> None:
        """Forget a file that has neither a name nor a descriptor."""
        running = self.journal.running
        if inode in self._open.values():
            return
        if any(inode in names.values() for names in running.directories.values()):
            return
        self.journal.record(Freed(inode))
        del self.cached[inode]

    # Paths

    def _find(self, path: str) -> Inode | None:
        inode: Inode | None = ROOT
        for part in path.split("/") if path else ():
            if inode is None:
                return None
            inode = self.journal.running.directories.get(inode, {}).get(part)
        return inode

    def _directory(self, path: str) -> Inode:
        inode = self._find(path)
        if inode is None:
            raise _error(ENOENT, path)
        if inode not in self.journal.running.directories:
            raise _error(ENOTDIR, path)
        return inode

    def _place(self, path: str) -> tuple[Inode, str]:
        """The directory that holds, or would hold, the last part; and that part."""
        parent, _, name = path.rpartition("/")
        return self._directory(parent), name

    def _file(self, directory: Inode, name: str, path: str) -> Inode:
        inode = self.journal.running.directories[directory].get(name)
        if inode is None:
            raise _error(ENOENT, path)
        if inode not in self.cached:
            raise _error(EISDIR, path)
        self._look_at(inode)
        return inode

    def _look_at(self, inode: Inode) -> None:
        """Read from the disk while a transaction runs, an inode counts as changed in it."""
        if inode in self._unread:
            self._unread.discard(inode)
            if self.journal.touched:
                self.journal.touched.add(inode)
                self.journal.touched_data.add(inode)

    def _inode(self, descriptor: Descriptor) -> Inode:
        if descriptor not in self._open:
            raise OSError(EBADF, strerror(EBADF))
        return self._open[descriptor]


def on_disk(metadata: Metadata, inode: Inode) -> bytes:
    """A file's content as a mount after a crash finds it."""
    file = metadata.files[inode]
    content = bytearray(file.size)
    for page, block in file.blocks.items():
        start = page * PAGE
        written = block.content[: max(file.size - start, 0)]
        content[start : start + len(written)] = written
    return bytes(content)


def _error(code: int, path: str) -> OSError:
    return OSError(code, strerror(code), path)
