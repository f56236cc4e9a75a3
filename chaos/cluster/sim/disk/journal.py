"""The metadata of a simulated file system, and the journal that makes it durable; steps and
failures of disks.

Names, sizes and the places of pages change by events. An event changes the running metadata at
once and waits in `pending`; a commit applies what waits to the committed metadata, all of it and in
order, as ext4 commits whole transactions. So a power cut finds some prefix of the events applied.

Data is not journalled: a page is written to its block whenever it is written back, whether or not
the event that gave it the block is committed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from errno import EIO, EISDIR, ENOENT, ENOTDIR, EROFS
from os import strerror
from typing import NewType, Self, assert_never

# The steps of a disk, and its failures.


class DiskStep(Enum):
    """What changes a file system; a process may die before each."""

    CREATE = auto()
    MKDIR = auto()
    WRITE = auto()  # of what lies in one page
    TRUNCATE = auto()
    RENAME = auto()
    UNLINK = auto()
    SYNC = auto()  # its pages are written back
    COMMIT = auto()  # of the journal: the second half of a sync that has something to commit


@dataclass(slots=True)
class Trouble:
    """Nothing is wrong at first."""

    sync_delay_ns: int = 0  # extra time of each sync; the process waits, not this code
    lying: bool = False  # syncs are acknowledged and not done
    read_only: bool = False  # EROFS
    capacity: int | None = None  # pages that fit; ENOSPC beyond
    # How many more of these steps succeed before one fails with EIO.
    failing: dict[DiskStep, int] = field(default_factory=dict)

    def check(self, step: DiskStep) -> None:
        """Raise what this step raises now."""
        if self.read_only:
            raise OSError(EROFS, strerror(EROFS))
        if not self.failing or step not in self.failing:
            return
        self.failing[step] -= 1
        if self.failing[step] < 0:
            del self.failing[step]
            self.read_only = step is DiskStep.COMMIT  # errors=remount-ro: the journal is aborted
            raise OSError(EIO, strerror(EIO))


Inode = NewType("Inode", int)

PAGE = 4096
ROOT = Inode(2)
_NOWHERE = Inode(0)
_EMPTY: dict[str, Inode] = {}


@dataclass(slots=True, eq=False)
class Block:
    """A page's place on the disk and what was last written there; zeros follow."""

    content: bytes = b""


@dataclass(slots=True)
class FileMetadata:
    """What the disk knows of a file. A page without a block reads as zeros."""

    size: int = 0
    least: int = 0  # what the size may be instead; the same where there is no doubt
    blocks: dict[int, Block] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Made:
    """A file or directory, new and empty, and its name."""

    directory: Inode
    name: str
    inode: Inode
    is_directory: bool


@dataclass(frozen=True, slots=True)
class Moved:
    """A rename; whatever had the new name before has none now."""

    source: Inode
    old_name: str
    target: Inode
    new_name: str


@dataclass(frozen=True, slots=True)
class Unlinked:
    directory: Inode
    name: str


@dataclass(frozen=True, slots=True)
class Grown:
    """The file ends at `size`, or else at `least`."""

    inode: Inode
    size: int
    least: int


@dataclass(frozen=True, slots=True)
class Placed:
    """A page was given a block, and the file is at least as long as what was written there."""

    inode: Inode
    page: int
    block: Block
    end: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A truncation. Its last, partial page is in order: written before this is committed."""

    inode: Inode
    size: int


@dataclass(frozen=True, slots=True)
class Freed:
    """A file without a name that no process has open any more."""

    inode: Inode


JournalEvent = Grown | Placed | Made | Moved | Unlinked | Cut | Freed
_NAMING = (Made, Moved, Unlinked)


@dataclass(slots=True)
class Metadata:
    """All names, sizes and places of one moment."""

    files: dict[Inode, FileMetadata] = field(default_factory=dict)
    directories: dict[Inode, dict[str, Inode]] = field(default_factory=lambda: {ROOT: {}})
    # By paths that were looked up since a name changed.
    _found: dict[str, Inode | None] = field(default_factory=dict, compare=False)

    def apply(self, event: JournalEvent) -> None:
        if isinstance(event, Grown):  # as most are
            file = self.files[event.inode]
            file.size, file.least = event.size, event.least
            return
        if isinstance(event, _NAMING):
            self._found.clear()
        match event:
            case Placed(inode, page, block, end):
                file = self.files[inode]
                file.blocks[page] = block
                if end > file.size:
                    file.size = file.least = end
            case Made(directory, name, inode, is_directory):
                self.directories[directory][name] = inode
                if is_directory:
                    self.directories[inode] = {}
                else:
                    self.files[inode] = FileMetadata()
            case Moved(source, old_name, target, new_name):
                self.directories[target][new_name] = self.directories[source].pop(old_name)
            case Unlinked(directory, name):
                del self.directories[directory][name]
            case Cut(inode, size):
                self._cut(self.files[inode], size)
            case Freed(inode):
                del self.files[inode]
            case _:
                assert_never(event)

    def copy(self) -> Self:
        """Another of the same names, sizes and places; the blocks themselves are shared."""
        return type(self)(
            files={
                inode: FileMetadata(file.size, file.least, dict(file.blocks))
                for inode, file in self.files.items()
            },
            directories={inode: dict(names) for inode, names in self.directories.items()},
        )

    def sweep(self) -> None:
        """What a mount does after a crash: files that have no name are gone."""
        named = {inode for names in self.directories.values() for inode in names.values()}
        self.files = {inode: file for inode, file in self.files.items() if inode in named}

    def find(self, path: str) -> Inode | None:
        if path not in self._found:
            self._found[path] = self._look_up(path)
        return self._found[path]

    def _look_up(self, path: str) -> Inode | None:
        if not path:
            return ROOT
        directory, directories = self.directories[ROOT], self.directories
        *above, name = path.split("/")
        for part in above:
            directory = directories.get(directory.get(part, _NOWHERE), _EMPTY)
        return directory.get(name)

    def directory(self, path: str) -> Inode:
        inode = self.find(path)
        if inode is None:
            raise error(ENOENT, path)
        if inode not in self.directories:
            raise error(ENOTDIR, path)
        return inode

    def file(self, path: str) -> Inode:
        inode = self.find(path)
        if inode is None:
            raise error(ENOENT, path)
        if inode not in self.files:
            raise error(EISDIR, path)
        return inode

    def place(self, path: str) -> tuple[Inode, str]:
        """The directory that holds, or would hold, the last part; and that part."""
        parent, _, name = path.rpartition("/")
        return self.directory(parent), name

    def content(self, inode: Inode) -> bytes:
        """Of a file, as read from the disk."""
        file = self.files[inode]
        content = bytearray(file.size)
        for page, block in file.blocks.items():
            start = page * PAGE
            written = block.content[: max(file.size - start, 0)]
            content[start : start + len(written)] = written
        return bytes(content)

    def tree(self) -> dict[str, Inode]:
        """Every path but the root's, sorted."""
        found: dict[str, Inode] = {}
        waiting = [("", ROOT)]
        while waiting:
            prefix, directory = waiting.pop()
            for name, inode in self.directories[directory].items():
                found[prefix + name] = inode
                if inode in self.directories:
                    waiting.append((f"{prefix}{name}/", inode))
        return dict(sorted(found.items()))

    @staticmethod
    def _cut(file: FileMetadata, size: int) -> None:
        file.size = file.least = size
        first_gone = -(-size // PAGE)
        for page in [page for page in file.blocks if page >= first_gone]:
            del file.blocks[page]


@dataclass(slots=True)
class Journal:
    """`touched`: inodes for which fsync has to commit `pending`; `touched_data`: also fdatasync."""

    committed: Metadata = field(default_factory=Metadata)
    running: Metadata = field(default_factory=Metadata)
    pending: list[JournalEvent] = field(default_factory=list)
    touched: set[Inode] = field(default_factory=set)
    touched_data: set[Inode] = field(default_factory=set)

    def record(self, event: JournalEvent, *touched: Inode, data: Inode | None = None) -> None:
        self.running.apply(event)
        self.pending.append(event)
        self.touched.update(touched)
        if data is not None:
            self.touched.add(data)
            self.touched_data.add(data)

    def commit(self) -> None:
        for event in self.pending:
            self.committed.apply(event)
        self._begin()

    def after_cut(self, commits: int) -> Metadata:
        """What a mount finds if all but the first `commits` pending events are lost."""
        found = self.committed.copy()
        for event in self.pending[:commits]:
            found.apply(event)
        found.sweep()
        return found

    def mount(self, found: Metadata) -> None:
        self.committed = found
        self.running = found.copy()
        self._begin()

    def _begin(self) -> None:
        self.pending.clear()
        self.touched.clear()
        self.touched_data.clear()


def error(code: int, path: str) -> OSError:
    return OSError(code, strerror(code), path)


def ordered_pages(events: Sequence[JournalEvent]) -> list[tuple[Inode, int]]:
    """The pages that are written before these events are committed, as far as they are dirty."""
    return [
        (event.inode, event.size // PAGE)
        for event in events
        if isinstance(event, Cut) and event.size % PAGE
    ]
