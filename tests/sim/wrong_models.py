"""File systems that are wrong in one decision each; a comparison that misses one is worth nothing.

Some are plausible: POSIX would allow them, or another file system does so. This ext4 does not.
"""

from collections.abc import Sequence

from chaos.cluster.sim.disk.filesystem import Descriptor, FileSystem
from chaos.cluster.sim.disk.journal import Inode, JournalEvent, Made, Moved, Unlinked


class RenamesAtOnce(FileSystem):
    """A rename is durable when it returns."""

    def rename(self, old: str, new: str) -> None:
        FileSystem.rename(self, old, new)
        self.journal.commit()


class RenamesLate(FileSystem):
    """An fsync of a file commits no rename: only that of a directory does."""

    def _sync(self, inode: Inode, *, commits: bool) -> None:
        renamed = any(isinstance(event, Moved) for event in self.journal.pending)
        if not renamed or inode in self.metadata.directories:
            FileSystem._sync(self, inode, commits=commits)


class DirectoriesOfTheirOwn(FileSystem):
    """An fsync of a directory commits only if a name in it changed."""

    def fsync_directory(self, path: str) -> None:
        directory = self.metadata.directory(path)
        if any(directory in _directories(event) for event in self.journal.pending):
            FileSystem.fsync_directory(self, path)


class SyncsAlwaysCommit(FileSystem):
    """An fsync of a file commits the journal, also where this file did not change."""

    def fdatasync(self, descriptor: Descriptor) -> None:
        self._sync(self._inode(descriptor), commits=bool(self.journal.pending))


class SizesWaitForData(FileSystem):
    """No NUL tails: what was appended within a block counts when its bytes are written."""

    def _write_in_page(self, inode: Inode, position: int, data: bytes, *, goes_on: bool) -> None:
        pending = len(self.journal.pending)
        FileSystem._write_in_page(self, inode, position, data, goes_on=goes_on)
        del self.journal.pending[pending:]


class DataComesAlong(FileSystem):
    """As with nodelalloc: a commit takes along all that was written before."""

    def _write_back_ordered(self, events: Sequence[JournalEvent]) -> None:
        for inode, file in sorted(self.cached.items()):
            for page in sorted(file.dirty) if events else ():
                self._write_back(inode, page)


class TruncatesOutOfOrder(FileSystem):
    """A truncated block is written like any other."""

    def _write_back_ordered(self, events: Sequence[JournalEvent]) -> None:
        """Nothing is in order."""


class TruncatesOnlyWhatIsThere(FileSystem):
    """A truncation gives no size to the disk beyond the one that was written back."""

    def truncate(self, descriptor: Descriptor, size: int) -> None:
        pending, inode = len(self.journal.pending), self._inode(descriptor)
        on_disk = self.journal.running.files[inode].size
        FileSystem.truncate(self, descriptor, size)
        if size > on_disk:
            del self.journal.pending[pending:]


class MountsForgetNothing(FileSystem):
    """A file that was not looked at since the mount is unchanged, whatever else is going on."""

    def _look_at(self, inode: Inode) -> Inode:
        return inode


def _directories(event: JournalEvent) -> tuple[Inode, ...]:
    match event:
        case Made(directory) | Unlinked(directory):
            return (directory,)
        case Moved(source, _, target):
            return (source, target)
    return ()


WRONG: tuple[type[FileSystem], ...] = (
    RenamesAtOnce,
    RenamesLate,
    DirectoriesOfTheirOwn,
    SyncsAlwaysCommit,
    SizesWaitForData,
    DataComesAlong,
    TruncatesOutOfOrder,
    TruncatesOnlyWhatIsThere,
    MountsForgetNothing,
)
