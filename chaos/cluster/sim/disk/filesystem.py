"""A file system in memory that loses data as ext4 does when the power fails.

It is ext4 with delayed allocation, ordered data and the options of the nodes' disks
(noauto_da_alloc, a commit every 300 s, that is: none by itself). A file's content is in its page
cache. A page that is written back goes to its block, and is given one first if it has none. Names,
sizes and the places of pages are metadata and go through the `journal`. fsync writes a file's dirty
pages back, then commits the journal, whole, if it holds anything of this inode.

Learnt from the real one (Linux 6.18; `tests.sim.fidelity` runs both and compares):

* fsync of any directory commits the whole journal, whether or not anything changed in it; fsync of
  a file only if the file changed. So one directory fsync covers every earlier rename anywhere.
* A file that is looked at for the first time since the mount, while a transaction runs, counts as
  changed in it: its fdatasync commits what others did.
* Appending within the last block makes the file longer on the disk at once, in the journal; the
  bytes come with the write-back. If another file is synced in between, NULs are left. Where the
  same write goes on in the next page, it may be longer by that or not: large folios.
* Truncating gives the size to the disk, whatever was written back: a file never synced that is cut
  to 5000 bytes, or to the very size that it has, is 5000 NULs after the next commit.
* Truncating into the middle of a block puts that block in order: it is written before the commit,
  and takes along what was appended to it since.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from errno import EBADF, EEXIST, ENOSPC
from os import strerror
from random import Random
from typing import NewType

from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.disk.journal import (
    PAGE,
    ROOT,
    Block,
    Cut,
    DiskStep,
    Freed,
    Grown,
    Inode,
    Journal,
    JournalEvent,
    Made,
    Metadata,
    Moved,
    Placed,
    Trouble,
    Unlinked,
    error,
    ordered_pages,
)

Descriptor = NewType("Descriptor", int)

TORN_SHARE = 0.7  # of the dirty pages, which survive a torn cut


@dataclass(slots=True)
class CachedFile:
    """A file as processes see it. `dirty`: pages that the disk does not have as they are here."""

    data: bytearray = field(default_factory=bytearray)
    dirty: set[int] = field(default_factory=set)

    def page(self, page: int) -> bytes:
        return bytes(self.data[page * PAGE : (page + 1) * PAGE])


def _nothing(_: DiskStep) -> None:
    """No process waits for this step."""


@dataclass(slots=True)
class FileSystem:
    """Paths have `/` between parts; the root is "". Methods raise OSError as system calls do.

    `before` is called ahead of each step; whatever it raises leaves the step undone.
    """

    before: Callable[[DiskStep], None] = _nothing
    trouble: Trouble = field(default_factory=Trouble)
    troubled_syncs: int = 0  # that were slow or not done
    steps: int = 0  # that were begun: while none is, nothing becomes durable or ceases to be
    journal: Journal = field(default_factory=Journal)
    cached: dict[Inode, CachedFile] = field(default_factory=dict)
    _open: dict[Descriptor, Inode] = field(default_factory=dict)
    _nameless: set[Inode] = field(default_factory=set)  # and open
    _unread: set[Inode] = field(default_factory=set)  # not read since the mount
    _last_descriptor: int = 2
    _last_inode: int = ROOT

    @property
    def metadata(self) -> Metadata:
        return self.journal.running

    # Files

    def open(self, path: str, *, create: bool = False, truncate: bool = False) -> Descriptor:
        directory, name = self.metadata.place(path)
        new = create and name not in self.metadata.directories[directory]
        if new:
            inode = self._make(directory, name, DiskStep.CREATE)
            self.cached[inode] = CachedFile()
        else:
            inode = self._look_at(self.metadata.file(path))
        self._last_descriptor += 1
        descriptor = Descriptor(self._last_descriptor)
        self._open[descriptor] = inode
        if truncate and not new:
            self.truncate(descriptor, 0)
        return descriptor

    def close(self, descriptor: Descriptor) -> None:
        inode = self._inode(descriptor)
        del self._open[descriptor]
        if inode in self._nameless:
            self._nameless.discard(inode)
            self._free(inode)

    def close_all(self) -> None:
        """The process is gone, and with it every descriptor."""
        for descriptor in sorted(self._open):
            self.close(descriptor)

    def size(self, descriptor: Descriptor) -> int:
        return len(self.cached[self._inode(descriptor)].data)

    def read(self, descriptor: Descriptor, position: int, length: int) -> bytes:
        return bytes(self.cached[self._inode(descriptor)].data[position : position + length])

    def write(self, descriptor: Descriptor, position: int, data: bytes) -> None:
        """Over what is there, or at the end; what lies in one page at a time."""
        inode = self._inode(descriptor)
        assert position <= len(self.cached[inode].data)
        end = position + len(data)
        while position < end:
            until = min(end, (position // PAGE + 1) * PAGE)
            piece = data[len(data) - (end - position) : len(data) - (end - until)]
            self._write_in_page(inode, position, piece, goes_on=until < end)
            position = until

    def truncate(self, descriptor: Descriptor, size: int) -> None:
        """To no more bytes than there are."""
        inode = self._inode(descriptor)
        self._step(DiskStep.TRUNCATE)
        file, metadata = self.cached[inode], self.metadata.files[inode]
        assert size <= len(file.data)
        del file.data[size:]
        file.dirty = {page for page in file.dirty if page * PAGE < size}
        data = inode if size != metadata.size else None
        self.journal.record(Cut(inode, size), inode, data=data)
        if size % PAGE and size // PAGE in metadata.blocks:
            file.dirty.add(size // PAGE)  # its end is zeros now

    def fsync(self, descriptor: Descriptor) -> None:
        inode = self._inode(descriptor)
        self._sync(inode, commits=inode in self.journal.touched)

    def fdatasync(self, descriptor: Descriptor) -> None:
        """Commits the journal only for a size or the place of a page."""
        inode = self._inode(descriptor)
        self._sync(inode, commits=inode in self.journal.touched_data)

    # Names

    def sync(self) -> None:
        """All that was written so far, as `sync -f` does."""
        for inode in list(self.cached):
            self._sync(inode, commits=True)

    def mkdir(self, path: str) -> None:
        directory, name = self.metadata.place(path)
        if name in self.metadata.directories[directory]:
            raise error(EEXIST, path)
        self._make(directory, name, DiskStep.MKDIR)

    def rename(self, old: str, new: str) -> None:
        """Of a file, over another or none; atomic."""
        inode = self._look_at(self.metadata.file(old))
        target, new_name = self.metadata.place(new)
        replaced = None
        if new_name in self.metadata.directories[target]:
            replaced = self._look_at(self.metadata.file(new))
        if replaced == inode:
            return
        self._step(DiskStep.RENAME)
        source, old_name = self.metadata.place(old)
        self.journal.record(Moved(source, old_name, target, new_name), inode)
        if replaced is not None:
            self._lose_name(replaced)

    def unlink(self, path: str) -> None:
        inode = self._look_at(self.metadata.file(path))
        self._step(DiskStep.UNLINK)
        self.journal.record(Unlinked(*self.metadata.place(path)))
        self._lose_name(inode)

    def fsync_directory(self, path: str) -> None:
        """Commits the journal, whatever it holds."""
        self._sync(self.metadata.directory(path), commits=bool(self.journal.pending))

    def exists(self, path: str) -> bool:
        inode = self.metadata.find(path)
        return inode is not None and self._look_at(inode) == inode

    def is_directory(self, path: str) -> bool:
        return self.metadata.find(path) in self.metadata.directories

    def names(self, directory: str) -> list[str]:
        """Sorted. Raises where there is no such directory."""
        return sorted(self.metadata.directories[self.metadata.directory(directory)])

    def files(self, directory: str = "") -> dict[str, bytes]:
        """The content of every file below, by its path from there, sorted."""
        start = f"{directory}/" if directory else ""
        return {
            path.removeprefix(start): bytes(self.cached[inode].data)
            for path, inode in self.metadata.tree().items()
            if path.startswith(start) and inode in self.cached
        }

    # The disk below

    def power_cut(self, mode: PowerCutMode, rng: Random) -> None:
        """Forget what the mode says, and be mounted again, with nothing open.

        `remains` decides which states that may leave.
        """
        if mode is PowerCutMode.TORN:
            self._write_back_some(rng)
        commits = self._draw_commits(mode, rng)
        self._write_back_ordered(self.journal.pending[:commits])
        found = self.journal.after_cut(commits)
        for _, file in sorted(found.files.items()):
            file.size = file.least = rng.choice((file.least, file.size))
        self.journal.mount(found)
        self.cached = {it: CachedFile(bytearray(found.content(it))) for it in found.files}
        self._unread = set(found.files)
        self._open.clear()
        self._nameless.clear()

    def rot(self, path: str, rng: Random) -> int | None:
        """Flip a bit on the disk, of a page that is there as it is in memory, and read it again.

        The byte's position; None where the file has no such page.
        """
        inode = self.metadata.file(path)
        file, blocks = self.cached[inode], self.metadata.files[inode].blocks
        cold = [page for page in sorted(blocks) if page not in file.dirty]
        if not cold:
            return None
        page = rng.choice(cold)
        content = bytearray(blocks[page].content)
        position, bit = rng.randrange(len(content)), rng.randrange(8)
        content[position] ^= 1 << bit
        blocks[page].content = bytes(content)
        file.data[page * PAGE + position] ^= 1 << bit
        return page * PAGE + position

    def is_durable(self, path: str) -> bool:
        """Whether a file would be the same after any power cut."""
        inode = self.metadata.file(path)
        if self.cached[inode].dirty or inode in self.journal.touched_data:
            return False
        return self.journal.committed.find(path) == inode

    def used_pages(self) -> int:
        """Taken or promised."""
        return sum(-(-len(file.data) // PAGE) for file in self.cached.values())

    def _draw_commits(self, mode: PowerCutMode, rng: Random) -> int:
        """How many of the pending events the journal holds."""
        everything = len(self.journal.pending)
        if mode is PowerCutMode.LOSE_ALL:
            return 0
        if mode is PowerCutMode.LOSE_DATA or rng.random() < 0.5:
            return everything
        return rng.randint(0, everything)

    def _write_back_some(self, rng: Random) -> None:
        for inode, file in sorted(self.cached.items()):
            for page in sorted(file.dirty):
                if rng.random() < TORN_SHARE:
                    self._write_back(inode, page)

    def _write_back_ordered(self, events: Sequence[JournalEvent]) -> None:
        for inode, page in ordered_pages(events):
            file = self.cached.get(inode)
            if file and page in file.dirty and page in self.metadata.files[inode].blocks:
                self._write_back(inode, page)

    def _write_back(self, inode: Inode, page: int) -> None:
        file, metadata = self.cached[inode], self.metadata.files[inode]
        block = metadata.blocks.get(page)
        if block is None:
            block = Block()
            end = min((page + 1) * PAGE, len(file.data))
            self.journal.record(Placed(inode, page, block, end), data=inode)
        block.content = file.page(page)
        file.dirty.discard(page)

    # Steps

    def _step(self, step: DiskStep) -> None:
        self.before(step)
        self.steps += 1
        self.trouble.check(step)

    def _make(self, directory: Inode, name: str, step: DiskStep) -> Inode:
        self._step(step)
        self._last_inode += 1
        inode = Inode(self._last_inode)
        is_directory = step is DiskStep.MKDIR
        self.journal.record(Made(directory, name, inode, is_directory), data=inode)
        return inode

    def _write_in_page(self, inode: Inode, position: int, data: bytes, *, goes_on: bool) -> None:
        self._step(DiskStep.WRITE)
        file, metadata = self.cached[inode], self.metadata.files[inode]
        page, end = position // PAGE, position + len(data)
        if page * PAGE >= len(file.data):
            self._check_room()
        file.data[position:end] = data
        file.dirty.add(page)
        self.journal.touched.add(inode)  # the time of its last change
        if end > metadata.size and page in metadata.blocks:
            # In one large folio with the next page it counts with that one only.
            least = metadata.least if goes_on else end
            self.journal.record(Grown(inode, end, least), data=inode)

    def _check_room(self) -> None:
        if self.trouble.capacity is not None and self.used_pages() >= self.trouble.capacity:
            raise OSError(ENOSPC, strerror(ENOSPC))

    def _sync(self, inode: Inode, *, commits: bool) -> None:
        self.troubled_syncs += self.trouble.lying or self.trouble.sync_delay_ns > 0
        if self.trouble.lying:
            return
        file = self.cached.get(inode) or CachedFile()  # a directory has no pages here
        try:
            self._step(DiskStep.SYNC)
        except OSError:
            file.dirty.clear()  # as Linux does: the next sync finds nothing to do, and succeeds
            raise
        pages = sorted(file.dirty)
        before = len(self.journal.pending)
        for page in pages:
            self._write_back(inode, page)
        if commits or len(self.journal.pending) > before:
            self._step(DiskStep.COMMIT)
            self._write_back_ordered(self.journal.pending)
            self.journal.commit()

    def _lose_name(self, inode: Inode) -> None:
        self.journal.touched.add(inode)
        if inode in self._open.values():
            self._nameless.add(inode)
        else:
            self._free(inode)

    def _free(self, inode: Inode) -> None:
        self.journal.record(Freed(inode))
        del self.cached[inode]

    def _look_at(self, inode: Inode) -> Inode:
        """Read from the disk while a transaction runs, an inode counts as changed in it."""
        if inode in self._unread:
            self._unread.discard(inode)
            if self.journal.touched:
                self.journal.touched.add(inode)
                self.journal.touched_data.add(inode)
        return inode

    def _inode(self, descriptor: Descriptor) -> Inode:
        if descriptor not in self._open:
            raise OSError(EBADF, strerror(EBADF))
        return self._open[descriptor]
