"""Which states a power cut may leave: the other side of `FileSystem.power_cut`, decided.

A state is possible when some number of committed events gives exactly its names, and each of its
files is possible on its own: given the events, what is lost of one file says nothing of another.
Within a file the pages are independent as well, once its size is fixed, because only the size says
which page was the last to be written back. So the whole set is searched, events by events, size by
size and page by page, in time linear in what is there, although it has 2 ** pages members.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chaos.cluster.interface import PowerCutMode
from chaos.cluster.sim.disk.filesystem import CachedFile, FileSystem
from chaos.cluster.sim.disk.journal import PAGE, FileMetadata, Inode, Metadata, ordered_pages

State = Mapping[str, bytes | None]  # what each path holds; None: it is a directory


def may_have_left(filesystem: FileSystem, mode: PowerCutMode, state: State) -> str | None:
    """Why a power cut at this moment cannot have left `state`; None if it can."""
    everything = len(filesystem.journal.pending)
    commits = {
        PowerCutMode.LOSE_ALL: range(1),
        PowerCutMode.LOSE_DATA: range(everything, everything + 1),
        PowerCutMode.TORN: range(everything, -1, -1),
    }
    reasons = [_compare(filesystem, mode, count, state) for count in commits[mode]]
    return None if None in reasons else reasons[0]


def _compare(filesystem: FileSystem, mode: PowerCutMode, commits: int, state: State) -> str | None:
    journal = filesystem.journal
    found = journal.after_cut(commits)
    tree = found.tree()
    if (names := _kinds(found, tree)) != {path: state[path] is None for path in sorted(state)}:
        return f"the names are {sorted(state)}, not {sorted(names)}"
    ordered = ordered_pages(journal.pending[:commits])
    for path, content in state.items():
        if content is not None:
            inode = tree[path]
            file = PossibleFile(
                found=found.files[inode],
                running=journal.running.files.get(inode, FileMetadata()),
                cached=filesystem.cached.get(inode, CachedFile()),
                ordered={page for owner, page in ordered if owner == inode},
                torn=mode is PowerCutMode.TORN,
                all_committed=commits == len(journal.pending),
            )
            if (reason := file.why_not(content)) is not None:
                return f"{path}: {reason}"
    return None


def _kinds(metadata: Metadata, tree: Mapping[str, Inode]) -> dict[str, bool]:
    return {path: inode in metadata.directories for path, inode in tree.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleFile:
    """What may be left of one file with metadata `found` after the cut."""

    found: FileMetadata
    running: FileMetadata
    cached: CachedFile
    ordered: set[int]  # pages that must be written before what is committed
    torn: bool  # any dirty page may have been written back just before the cut
    all_committed: bool  # also the places and sizes that come of that

    def why_not(self, content: bytes) -> str | None:
        size = len(content)
        sizes = {self.found.least, self.found.size, *map(self._end, self._growing())}
        if size not in sizes:
            return f"the size is {size}, not one of {sorted(sizes)}"
        for page in range(-(-size // PAGE)):
            start = page * PAGE
            length = min(PAGE, size - start)
            options = (it[:length].ljust(length, b"\0") for it in self._options(page, size))
            if content[start : start + length] not in options:
                return f"page {page} of {size} bytes is neither lost nor written"
        return None

    def _growing(self) -> Iterator[int]:
        """The pages that make the file longer when they are written back."""
        if self.torn and self.all_committed:
            for page in sorted(self.cached.dirty - self.running.blocks.keys()):
                if self._end(page) > self.found.size:
                    yield page

    def _end(self, page: int) -> int:
        return min((page + 1) * PAGE, len(self.cached.data))

    def _options(self, page: int, size: int) -> Iterator[bytes]:
        """What the page may hold in a file that was left with `size`."""
        block = self.found.blocks.get(page)
        dirty = page in self.cached.dirty
        if block is not None:
            written = dirty and self.running.blocks.get(page) is block
            must = written and page in self.ordered
            may = written and self.torn
        else:
            written = dirty and page not in self.running.blocks
            may = written and self.torn and self.all_committed and self._end(page) <= size
            must = may and self._end(page) == size > self.found.size
        if not must:
            yield b"" if block is None else block.content
        if must or may:
            yield self.cached.page(page)
